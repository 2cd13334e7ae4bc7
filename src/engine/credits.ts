/**
 * Credits and their take-backs: each credit has an id and is entered once, even if it is requested again while the first
 * is in flight, or years later, at whichever node.
 */
import { apiError } from '../errors.ts'
import type { CreditRequest, CreditReceipt } from '../ledger/credits/credit-request.ts'
import type { CreditResult, TrialEndResult } from '../ledger/transaction.ts'
import type { TrialEnd } from '../ledger/end-trial.ts'
import type { CreditOperation } from '../ledger/operations.ts'
import { formatAmount } from '../lib/money.ts'
import type { SpendNotifications } from './spend-notifications.ts'

/** Promises resolve when the result is durable, and reject with `service_unavailable`. */
export interface CreditStore {
  credit(credit: CreditOperation): Promise<CreditResult>
  endTrial(end: TrialEnd): Promise<TrialEndResult>
}

export class Credits {
  readonly #store: CreditStore
  readonly #spendNotifications: SpendNotifications
  readonly #now: () => number

  constructor(store: CreditStore, spendNotifications: SpendNotifications, now: () => number) {
    this.#store = store
    this.#spendNotifications = spendNotifications
    this.#now = now
  }

  /** Enters money once per `idempotency_key`; resolves when it is durable. */
  enter(order: CreditRequest): Promise<CreditReceipt> {
    return this.enterWithId(`credit:${order.account}:${order.idempotencyKey}`, order)
  }

  /** Enters money once under its id in the ledger; resolves when it is durable. */
  async enterWithId(id: string, order: Omit<CreditRequest, 'idempotencyKey'>): Promise<CreditReceipt> {
    const { account, amount, source, reason } = order
    const result = await this.#store.credit({ id, at: this.#now(), account, amount, source, reason })
    if (result.kind === 'too-much') {
      const message = `At most ${formatAmount(result.free)} can be taken back.`
      throw apiError('conflict', { param: 'amount', message })
    }
    if (result.kind === 'too-large') {
      const message = 'The balance would exceed the maximum.'
      throw apiError('invalid_request', { param: 'amount', message })
    }
    if (result.kind === 'known' && result.amount !== amount) {
      const message = 'This idempotency_key was already used with a different amount.'
      throw apiError('conflict', { param: 'idempotency_key', message })
    }
    const isNew = result.kind === 'entered'
    if (isNew && source !== 'refund') this.#spendNotifications.onCredited(account, id, amount)
    return { id, amount, balance: result.balance, isNew }
  }

  /** Takes back the remainder of a trial credit; resolves when it is durable. */
  endTrial(end: Omit<TrialEnd, 'at'>): Promise<TrialEndResult> {
    return this.#store.endTrial({ ...end, at: this.#now() })
  }
}
