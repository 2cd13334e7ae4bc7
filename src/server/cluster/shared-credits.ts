/** Credits on a cluster node: each is entered once under its id, however often and at whichever nodes it is requested. */
import { apiError } from '../../errors.ts'
import type { CreditRequest, CreditReceipt } from '../../ledger/credits/credit-request.ts'
import type { TrialEnd } from '../../ledger/end-trial.ts'
import { formatAmount } from '../../lib/money.ts'
import type { SpendNotifications } from '../ledger/spend-notifications.ts'
import type { SharedLedger } from './ledger/shared-ledger.ts'
import type { CreditResult } from './ledger/queued-operations.ts'

export class SharedCredits {
  readonly #ledger: SharedLedger
  readonly #spendNotifications: SpendNotifications
  readonly #now: () => number

  constructor(ledger: SharedLedger, spendNotifications: SpendNotifications, now: () => number) {
    this.#ledger = ledger
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
    const { promise, resolve } = Promise.withResolvers<CreditResult | null>()
    const credit = { id, at: this.#now(), account, amount, source, reason }
    this.#ledger.enqueue({ kind: 'credit', credit, reply: resolve, isAbandoned: false })
    const result = await promise
    if (result === null) throw apiError('service_unavailable', { retryAfterMs: 1000 })
    if (result.kind === 'too-much') {
      const message = `At most ${formatAmount(result.free)} can be taken back.`
      throw apiError('conflict', { param: 'amount', message })
    }
    if (result.kind === 'too-large')
      throw apiError('invalid_request', {
        param: 'amount',
        message: 'The balance would exceed the maximum.',
      })
    if (result.kind === 'known' && result.amount !== amount) {
      const message = 'This idempotency_key was already used with a different amount.'
      throw apiError('conflict', { param: 'idempotency_key', message })
    }
    const isNew = result.kind === 'entered'
    if (isNew) this.#spendNotifications.onCredited(account, id, amount)
    return { id, amount, balance: result.balance, isNew }
  }

  /** Takes back the remainder of a trial credit. `isDone`: nothing remains. Resolves when it is durable. */
  async endTrial(end: Omit<TrialEnd, 'at'>): Promise<{ taken: bigint; isDone: boolean }> {
    const { promise, resolve } = Promise.withResolvers<{ taken: bigint; isDone: boolean } | null>()
    this.#ledger.enqueue({
      kind: 'trial',
      end: { ...end, at: this.#now() },
      reply: resolve,
      isAbandoned: false,
    })
    const result = await promise
    if (result === null) throw apiError('service_unavailable')
    return result
  }
}
