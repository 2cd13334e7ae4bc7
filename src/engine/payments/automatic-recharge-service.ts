/**
 * When accounts are recharged automatically: at the charge that takes an account below its threshold, on the node that
 * settled it, and once a minute for all accounts, by the leader. HTTP handlers of every thread call the rest.
 */
import {
  dueRecharges,
  rechargesInFlight,
  type AutomaticRecharge,
} from '../../payments/automatic-recharges.ts'
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

export class AutomaticRechargeService implements AutomaticRechargeServices {
  readonly #deps: PaymentDeps
  /** By account, of those that may make an order. One that was looked at is absent until they are loaded again. */
  #thresholds = new Map<string, bigint>()
  #loadedAt = Number.NEGATIVE_INFINITY
  #loading: Promise<void> | null = null
  readonly #running = new Map<string, Promise<void>>()
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
    this.#loadedAt = Number.NEGATIVE_INFINITY
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
    if (this.#loadedAt > this.#deps.now() - reloadAfterMs) this.#look(account, availableNanos)
    else void (this.#loading ??= this.#load()).then(() => this.#look(account, availableNanos))
  }

  async #load(): Promise<void> {
    const { db, now, log } = this.#deps
    const at = now()
    try {
      const due = await dueRecharges(db, at)
      this.#thresholds = new Map(
        due.map(({ accountId, thresholdNanos }) => [accountId, thresholdNanos ?? 0n]),
      )
      this.#loadedAt = at
    } catch (error) {
      log.warn({ err: error }, 'automatic recharges could not be loaded')
    }
    this.#loading = null
  }

  #look(account: string, availableNanos: bigint): void {
    const threshold = this.#thresholds.get(account)
    if (threshold === undefined || availableNanos >= threshold) return
    this.#thresholds.delete(account)
    void this.#once(account, async () => {
      const [recharge] = await dueRecharges(this.#deps.db, this.#deps.now(), account)
      if (recharge !== undefined) await rechargeIfLow(this.#deps, recharge)
    })
  }

  /**
   * One round over all accounts: follows what is in flight, recharges what is low, and removes replaced cards. The leader's
   * jobs call it.
   */
  async sweep(): Promise<void> {
    const { db, now } = this.#deps
    const inFlight = await rechargesInFlight(db)
    const due = await dueRecharges(db, now())
    await this.#each(inFlight, followOrder)
    await this.#each(due, rechargeIfLow)
    await removeReplacedCards(this.#deps, () => this.#isStopped)
  }

  async #each(
    recharges: readonly AutomaticRecharge[],
    act: (deps: PaymentDeps, recharge: AutomaticRecharge) => Promise<void>,
  ): Promise<void> {
    for (const recharge of recharges) {
      if (this.#isStopped) return
      await this.#once(recharge.accountId, () => act(this.#deps, recharge))
    }
  }

  /** One attempt at a time per account; what makes an order the only one is in the store. Never rejects. */
  #once(account: string, attempt: () => Promise<void>): Promise<void> {
    const running = this.#running.get(account)
    if (running !== undefined) return running
    const { log } = this.#deps
    const own = attempt()
      .catch((error: unknown) => log.warn({ err: error, account }, 'automatic recharge failed'))
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
