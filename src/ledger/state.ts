/**
 * The ledger's state: the balance, spending and held money of every account and key, and every open hold. It
 * lives in the authority's memory; the journal makes it durable, and the tables are its projection. Only
 * `apply.ts` changes it.
 */
import type { Held, IdempotencyClaim } from './events.ts'

/** A day or month that has ended while holds that count against it are still open. */
export interface PastPeriod {
  readonly unit: 'day' | 'month'
  readonly end: number
  spent: bigint
  held: bigint
}

/**
 * The money of an account (`a:<id>`) or the spending of a key (`k:<id>`, whose balance stays 0). All amounts
 * are nanos. `day` and `month` are the open periods in the account's time zone, identified by their end. A
 * hold counts against the caps of the period in which it was made until it ends.
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
  /**
   * The account has caused an overrun since its last positive credit. This restricts nothing; it is kept because earlier
   * releases read it, and the journals that they wrote replay to it.
   */
  overran: boolean
  /** Usually empty. Not stored: no hold is open after a start. */
  past: readonly PastPeriod[]
}

/** Money held for one request, which counts against the caps of its periods. Ends once: settled or released. */
export interface Hold extends Omit<Held, 'kind' | 'amount' | 'outputTokens'> {
  amount: bigint
  /** Output tokens that `amount` pays for. */
  outputTokens: number
  /** The last durable mark, at which a crash is settled. `null`: nothing has arrived yet. */
  mark: { inputTokens: number; outputTokens: number } | null
}

/** At least this many ended holds are remembered, so that a repeated message finds its hold ended. */
const minRememberedHolds = 4096

/** The ids of recently ended holds. */
export class EndedHolds {
  #newer = new Set<string>()
  #older = new Set<string>()

  add(id: string): void {
    if (this.#newer.size === minRememberedHolds) {
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
  /** The open holds that have claimed an `Idempotency-Key`, by `claimId`. */
  readonly claims: Map<string, Hold>
  readonly ended: EndedHolds
  /** Credits by their id, so that each is entered only once. */
  readonly credits: Map<string, bigint>
  /** What was delivered but could not be charged, in nanos. */
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
/**
 * Counts the requests of an account for one model with a daily limit: `m:<account>:<model>`. It has no money.
 */
export const modelOwner = (accountId: string, model: string): string => `m:${accountId}:${model}`
/** Idempotency keys are scoped to an account. */
export const claimId = (accountId: string, claim: IdempotencyClaim): string => `${accountId} ${claim.key}`

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

/**
 * What was spent and held in a period if it is known: the open period, or one that open holds still count in.
 */
export function periodOf(
  owner: Owner,
  unit: PastPeriod['unit'],
  end: number,
): { readonly spent: bigint; readonly held: bigint } | undefined {
  if (unit === 'day' && owner.dayEnd === end) return { spent: owner.daySpent, held: owner.dayHeld }
  if (unit === 'month' && owner.monthEnd === end) return { spent: owner.monthSpent, held: owner.monthHeld }
  return owner.past.find((period) => period.unit === unit && period.end === end)
}

/** The owner, or an empty one that is not part of the state yet. */
export function ownerOf(state: LedgerState, id: string): Owner {
  return state.owners.get(id) ?? emptyOwner()
}
