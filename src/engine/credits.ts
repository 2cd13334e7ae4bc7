/**
 * Credits and their take-backs: each credit has an id and is entered once, even if it is requested again while the first
 * is in flight, or years later, at whichever node.
 */
import { apiError, ApiError } from '../errors.ts'
import type { CreditKind } from '../ledger/events.ts'
import type { TrialEndResult } from '../ledger/transaction.ts'
import type { TakeBackOperation, TakeBackResult } from '../ledger/take-back.ts'
import type { TrialEnd } from '../ledger/end-trial.ts'
import { formatAmount } from '../lib/money.ts'
import type { LedgerStore } from './ledger-store.ts'
import type { SpendNotifications } from './spend-notifications.ts'

export interface CreditRequest {
  readonly account: string
  /** Nanos. A negative amount debits the account. */
  readonly amount: bigint
  readonly reason: string
  readonly source: CreditKind
  readonly idempotencyKey: string
}

export interface TakeBackRequest extends Omit<TakeBackOperation, 'at' | 'reason'> {
  /** Text of the entries. Default: that it is a refund, with its id. */
  readonly reason?: string
}

export interface CreditReceipt {
  readonly id: string
  readonly amount: bigint
  readonly balance: bigint
  /** False if the same idempotency key was used before. */
  readonly isNew: boolean
}

type CreditStore = Pick<LedgerStore, 'enterCredit' | 'keepsOverruns'>

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
    const credit = { id, at: this.#now(), account, amount, source, reason }
    const keepsOverrun = amount > 0n && (await this.#store.keepsOverruns())
    const operation = { kind: 'credit', credit, keepsOverrun } as const
    const result = requireStored(await this.#store.enterCredit(operation))
    if (result.kind === 'too-much') {
      const message = `At most ${formatAmount(result.free)} can be taken back.`
      throw apiError('conflict', { param: 'amount', message })
    }
    if (result.kind === 'too-large') throw balanceFull('amount')
    if (result.kind === 'known' && result.amount !== amount) {
      const message = 'This idempotency_key was already used with a different amount.'
      throw apiError('conflict', { param: 'idempotency_key', message })
    }
    const isNew = result.kind === 'entered'
    if (isNew) this.#spendNotifications.onCredited(account, { id, amount, source })
    return { id, amount, balance: result.balance, isNew }
  }

  /** Takes back the remainder of a trial credit; resolves when it is durable. */
  async endTrial(end: Omit<TrialEnd, 'at'>): Promise<TrialEndResult> {
    const at = this.#now()
    return requireStored(await this.#store.enterCredit({ kind: 'trial', end: { ...end, at } }))
  }

  /**
   * Takes back what a payment and its bonus brought, once under its id; resolves when it is durable. A repetition answers
   * what was taken then.
   */
  async takeBack(request: TakeBackRequest): Promise<TakeBackResult> {
    const { reason = `Refund ${request.id}`, ...fields } = request
    const takeBack = { ...fields, reason, at: this.#now() }
    return requireStored(await this.#store.enterCredit({ kind: 'takeBack', takeBack }))
  }
}

/** 400: the balance has no room for this much more. */
export function balanceFull(param: string): ApiError {
  return apiError('invalid_request', { param, message: 'The balance would exceed the maximum.' })
}

/** Whether a credit was not entered because the balance has no room for it; it can be entered once there is. */
export const isBalanceFull = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'invalid_request'

function requireStored<Result>(result: Result | null): Result {
  if (result === null) throw apiError('service_unavailable', { retryAfterMs: 1000 })
  return result
}
