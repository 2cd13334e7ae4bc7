/**
 * The ledger's state: what every account and key has, has spent and has set aside, and every open hold.
 * It lives in the authority's memory; the journal makes it durable, the tables are its projection.
 * Only `apply.ts` changes it.
 */
import type { Claim } from './events.ts'
import type { Price } from './price.ts'

/** A day or month that is over while holds that count against it are still open. */
export interface PastPeriod {
  readonly unit: 'day' | 'month'
  readonly end: number
  spent: bigint
  held: bigint
}

/**
 * Money of an account (`a:<id>`), or the spending of one key (`k:<id>`, whose balance stays 0).
 * All amounts are nanos. `day` and `month` are the open periods in the account's time zone, named by
 * their end; what was held in an earlier period counts against that one's cap to its end.
 */
export interface Owner {
  balance: bigint
  held: bigint
  dayEnd: number
  daySpent: bigint
  dayHeld: bigint
  dayRequests: number
  monthEnd: number
  monthSpent: bigint
  monthHeld: bigint
  totalSpent: bigint
  /** Has caused an overrun: held at twice the input estimate from then on. */
  overran: boolean
  /** Rarely any. Not kept on disk: after a start no hold is open. */
  past: readonly PastPeriod[]
}

/** Money set aside for one request. Ends once: settled or released. */
export interface Hold {
  readonly id: string
  readonly at: number
  readonly account: string
  readonly key: string
  readonly model: string
  readonly price: Price
  readonly factorPpm: number
  readonly inputTokens: number
  /** The periods whose caps this hold counts against. */
  readonly dayEnd: number
  readonly monthEnd: number
  /** The `Idempotency-Key` that nobody else may use until this hold has ended. */
  readonly claim?: Claim | undefined
  amount: bigint
  /** Output tokens that `amount` pays. */
  outputTokens: number
  /** The last durable watermark: what a crash is settled at. `null`: nothing came yet. */
  mark: { inputTokens: number; outputTokens: number } | null
}

/** So many ended holds are remembered at least, so that a message that comes twice finds its hold ended. */
const endedRemembered = 4096

/** The ids of holds that have ended lately. */
export class EndedHolds {
  #newer = new Set<string>()
  #older = new Set<string>()

  add(id: string): void {
    if (this.#newer.size === endedRemembered) {
      this.#older = this.#newer
      this.#newer = new Set()
    }
    this.#newer.add(id)
  }

  has(id: string): boolean {
    return this.#newer.has(id) || this.#older.has(id)
  }
}

export interface LedgerState {
  readonly owners: Map<string, Owner>
  readonly holds: Map<string, Hold>
  /** The open holds that have claimed an `Idempotency-Key`, by `claimName`. */
  readonly claims: Map<string, Hold>
  readonly ended: EndedHolds
  /** Credits by their reference, so that the same one is never entered twice. */
  readonly credits: Map<string, bigint>
  /** What was delivered and could not be charged, in nanos. */
  overrun: bigint
}

export function emptyState(): LedgerState {
  return {
    owners: new Map(),
    holds: new Map(),
    claims: new Map(),
    ended: new EndedHolds(),
    credits: new Map(),
    overrun: 0n,
  }
}

export const accountOwner = (accountId: string): string => `a:${accountId}`
export const keyOwner = (keyId: string): string => `k:${keyId}`
/** The requests of an account for one model, where they are counted: `m:<account>:<model>`, without money. */
export const modelOwner = (accountId: string, model: string): string => `m:${accountId}:${model}`
/** An account's keys are its own: another account's of the same name is another one. */
export const claimName = (accountId: string, claim: Claim): string => `${accountId} ${claim.key}`

const noPast: readonly PastPeriod[] = []

export function emptyOwner(): Owner {
  return {
    balance: 0n,
    held: 0n,
    dayEnd: 0,
    daySpent: 0n,
    dayHeld: 0n,
    dayRequests: 0,
    monthEnd: 0,
    monthSpent: 0n,
    monthHeld: 0n,
    totalSpent: 0n,
    overran: false,
    past: noPast,
  }
}

/** What was spent and held in a period, as far as it is known: the open one, or one that open holds still count in. */
export function periodOf(
  owner: Owner,
  unit: PastPeriod['unit'],
  end: number,
): { readonly spent: bigint; readonly held: bigint } | undefined {
  if (unit === 'day' && owner.dayEnd === end) return { spent: owner.daySpent, held: owner.dayHeld }
  if (unit === 'month' && owner.monthEnd === end) return { spent: owner.monthSpent, held: owner.monthHeld }
  return owner.past.find((period) => period.unit === unit && period.end === end)
}

/** The owner as it is, or an empty one that is not yet part of the state. */
export function ownerOf(state: LedgerState, id: string): Owner {
  return state.owners.get(id) ?? emptyOwner()
}
