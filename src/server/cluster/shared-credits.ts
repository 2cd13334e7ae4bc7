/** Money that comes in on a node of a cluster: entered once under its name, whichever nodes are asked, and how often. */
import { refuse } from '../../errors.ts'
import type { CreditOrder, CreditReceipt } from '../../http/house.ts'
import type { TrialEnd } from '../../ledger/end-trial.ts'
import { decimalOf } from '../../lib/money.ts'
import type { SpendNotices } from '../ledger/spend-notifications.ts'
import type { SharedLedger } from './shared-ledger.ts'
import type { Credited } from './work.ts'

export class SharedCredits {
  readonly #ledger: SharedLedger
  readonly #spending: SpendNotices
  readonly #now: () => number

  constructor(ledger: SharedLedger, spending: SpendNotices, now: () => number) {
    this.#ledger = ledger
    this.#spending = spending
    this.#now = now
  }

  /** Enters money once by the key of whoever credits; resolves when it is durable. */
  enter(order: CreditOrder): Promise<CreditReceipt> {
    return this.enterAs(`credit:${order.account}:${order.idempotencyKey}`, order)
  }

  /** Enters money once under its id in the ledger; resolves when it is durable. */
  async enterAs(id: string, order: Omit<CreditOrder, 'idempotencyKey'>): Promise<CreditReceipt> {
    const { account, amount, source, reason } = order
    const { promise, resolve } = Promise.withResolvers<Credited | null>()
    const operation = { id, at: this.#now(), account, amount, source, reason }
    this.#ledger.add({ kind: 'credit', operation, answer: resolve, isGivenUp: false })
    const answer = await promise
    if (answer === null) throw refuse('service_unavailable', { retryAfterMs: 1000 })
    if (answer.kind === 'too-much') {
      const message = `No more than ${decimalOf(answer.free)} can be taken back.`
      throw refuse('conflict', { param: 'amount', message })
    }
    if (answer.kind === 'too-large')
      throw refuse('invalid_request', { param: 'amount', message: 'A balance may not be so large.' })
    if (answer.kind === 'known' && answer.amount !== amount) {
      const message = 'This idempotency_key was used for another amount.'
      throw refuse('conflict', { param: 'idempotency_key', message })
    }
    const isNew = answer.kind === 'entered'
    if (isNew) this.#spending.credited(account, id, amount)
    return { id, amount, balance: answer.balance, isNew }
  }

  /** Takes back what is left of a trial credit; `isDone`: there will be no more. Resolves when it is durable. */
  async endTrial(end: Omit<TrialEnd, 'at'>): Promise<{ taken: bigint; isDone: boolean }> {
    const { promise, resolve } = Promise.withResolvers<{ taken: bigint; isDone: boolean } | null>()
    this.#ledger.add({ kind: 'trial', end: { ...end, at: this.#now() }, answer: resolve, isGivenUp: false })
    const answer = await promise
    if (answer === null) throw refuse('service_unavailable')
    return answer
  }
}
