/** Asks providers about orders that are due. Lost notices are found here. */
import type { PaymentService } from '../engine/payments/payment-service.ts'
import type { Log } from '../lib/log.ts'
import { PeriodicJob } from './periodic-job.ts'

const everyMs = 1000

export class PaymentChecks extends PeriodicJob {
  readonly #payments: Pick<PaymentService, 'checkDueOrders'>
  readonly #log: Log

  constructor(payments: Pick<PaymentService, 'checkDueOrders'>, log: Log) {
    super(everyMs)
    this.#payments = payments
    this.#log = log
  }

  protected run(): Promise<void> {
    return this.#payments.checkDueOrders()
  }

  protected onError(error: unknown): void {
    this.#log.warn({ err: error }, 'payment checks failed')
  }
}
