/**
 * When accounts are recharged automatically: at the charge that takes an account below its threshold, on the node that
 * settled it, and once a minute for all accounts, by the leader. HTTP handlers of every thread call the rest.
 */
import {
  accountsToSweep,
  automaticRechargeOf,
  dueRecharges,
  thresholdsChangedSince,
  type AutomaticRecharge,
} from '../../payments/automatic-recharges.ts'
import { NoResponseError, type MethodName } from '../../payments/payment-method.ts'
import { followOrder, rechargeIfLow } from './automatic-recharge.ts'
import type { PaymentDeps } from './payment-deps.ts'
import {
  recordConsent,
  removeReplacedCards,
  removeSavedCard,
  withdrawConsent,
  type ConsentInput,
} from './recharge-consent.ts'

export interface AutomaticRechargeServices {
  /** The consent of the account's own person, now. Throws 400 naming the field, 404 if no method can charge saved cards. */
  consent(input: ConsentInput): Promise<void>
  switchOff(account: string, by: string): Promise<void>
  /** Also switches it off. Throws 404 without a card, 503 if the provider cannot be asked. */
  removeCard(account: string, by: string): Promise<void>
}

/** What other nodes have changed is known so much later; until then, the leader's round finds what is missed. */
const reloadAfterMs = 10_000
/** What other nodes write is dated by their clocks, and visible some time later. */
const reloadOverlapMs = 60_000
/** Of a method, in one round. */
const maxSwept = 100
const maxAccountsPerQuery = 500

export class AutomaticRechargeService implements AutomaticRechargeServices {
  readonly #deps: PaymentDeps
  /** By account, of those that are on. */
  readonly #thresholds = new Map<string, bigint>()
  /** The accounts that were looked at since they were loaded. */
  readonly #lookedAt = new Set<string>()
  #loadedAt = 0
  #isStale = true
  #loading: Promise<void> | null = null
  /** The account with which the last round ended. */
  readonly #lastSwept = new Map<MethodName, string>()
  /** By account; whether the provider has responded. */
  readonly #running = new Map<string, Promise<boolean>>()
  #isStopped = false

  constructor(deps: PaymentDeps) {
    this.#deps = deps
  }

  /** Whether a method can charge saved cards. */
  get isOffered(): boolean {
    return [...this.#deps.methods.values()].some(({ savedCards }) => savedCards !== undefined)
  }

  async consent(input: ConsentInput): Promise<void> {
    await recordConsent(this.#deps, input)
    this.#isStale = true
  }

  async switchOff(account: string, by: string): Promise<void> {
    await withdrawConsent(this.#deps, account, by)
  }

  async removeCard(account: string, by: string): Promise<void> {
    await removeSavedCard(this.#deps, account, by)
  }

  /** An account was charged. `availableNanos`: its balance less what is held. Returns at once. */
  onCharged(account: string, availableNanos: bigint): void {
    if (this.#isStopped) return
    if (!this.#isStale && this.#loadedAt > this.#deps.now() - reloadAfterMs)
      this.#look(account, availableNanos)
    else void (this.#loading ??= this.#load()).then(() => this.#look(account, availableNanos))
  }

  async #load(): Promise<void> {
    const { db, now, log } = this.#deps
    const at = now()
    this.#isStale = false
    try {
      const changed = await thresholdsChangedSince(db, this.#loadedAt - reloadOverlapMs)
      for (const { account_id: account, state, threshold_nanos: threshold } of changed) {
        if (state === 'on' && threshold !== null) this.#thresholds.set(account, threshold)
        else this.#thresholds.delete(account)
      }
      this.#lookedAt.clear()
      this.#loadedAt = at
    } catch (error) {
      this.#isStale = true
      log.warn({ err: error }, 'automatic recharges could not be loaded')
    }
    this.#loading = null
  }

  #look(account: string, availableNanos: bigint): void {
    const threshold = this.#thresholds.get(account)
    if (threshold === undefined || availableNanos >= threshold || this.#lookedAt.has(account)) return
    this.#lookedAt.add(account)
    void this.#once(account, () => this.#rechargeIfDue(account))
  }

  async #rechargeIfDue(account: string): Promise<void> {
    const [recharge] = await dueRecharges(this.#deps.db, this.#deps.now(), [account])
    if (recharge !== undefined) await rechargeIfLow(this.#deps, recharge)
  }

  /**
   * One round: follows what is in flight, recharges what is low, and removes replaced cards. It goes on where the last one
   * has ended, so that every account has its turn however many there are. The leader's jobs call it.
   */
  async sweep(): Promise<void> {
    const lowUnderHolds = Map.groupBy(await this.#lowUnderHolds(), ({ method }) => method)
    for (const { name, savedCards } of this.#deps.methods.values())
      if (savedCards !== undefined) await this.#sweepMethod(name, lowUnderHolds.get(name) ?? [])
    await removeReplacedCards(this.#deps, () => this.#isStopped)
  }

  /** Those below their threshold because of what is held, which no row of SQLite says. */
  async #lowUnderHolds(): Promise<AutomaticRecharge[]> {
    const { db, now } = this.#deps
    const available = await this.#deps.availableUnderHolds()
    const accounts = [...available.keys()]
    const low: AutomaticRecharge[] = []
    for (let from = 0; from < accounts.length; from += maxAccountsPerQuery) {
      const page = accounts.slice(from, from + maxAccountsPerQuery)
      for (const recharge of await dueRecharges(db, now(), page))
        if ((available.get(recharge.accountId) ?? 0n) < (recharge.thresholdNanos ?? 0n)) low.push(recharge)
    }
    return low
  }

  /** Ends with the first account for which the provider does not respond: it would not for the others. */
  async #sweepMethod(method: MethodName, lowUnderHolds: readonly AutomaticRecharge[]): Promise<void> {
    const { db, now } = this.#deps
    const after = this.#lastSwept.get(method) ?? ''
    const page = { method, after, now: now(), limit: maxSwept }
    const held = lowUnderHolds.map(({ accountId }) => accountId)
    const accounts = new Set([...(await accountsToSweep(db, page)), ...held])
    const turnOf = (account: string): number => (account > after ? 0 : 1)
    const inTurn = [...accounts].toSorted(
      (one, other) => turnOf(one) - turnOf(other) || (one < other ? -1 : 1),
    )
    for (const account of inTurn.slice(0, maxSwept)) {
      if (this.#isStopped) return
      this.#lastSwept.set(method, account)
      if (!(await this.#once(account, () => this.#followOrRecharge(account)))) return
    }
  }

  async #followOrRecharge(account: string): Promise<void> {
    const recharge = await automaticRechargeOf(this.#deps.db, account)
    if (recharge === undefined || recharge.orderId === null) await this.#rechargeIfDue(account)
    else await followOrder(this.#deps, recharge)
  }

  /**
   * One attempt at a time per account; what makes an order the only one is in the store. Never rejects. Resolves with
   * whether the provider has responded, if it was asked.
   */
  #once(account: string, attempt: () => Promise<void>): Promise<boolean> {
    const running = this.#running.get(account)
    if (running !== undefined) return running
    const { log } = this.#deps
    const own = attempt()
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof NoResponseError) return false
          log.warn({ err: error, account }, 'automatic recharge failed')
          return true
        },
      )
      .finally(() => this.#running.delete(account))
    this.#running.set(account, own)
    return own
  }

  /** Begins nothing any more, and waits for what is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running.values())
  }
}
