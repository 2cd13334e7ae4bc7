/** Asks providers about orders and refunds that are due, and compares their lists daily. Lost notices are found here. */
import type { PaymentService } from '../engine/payments/payment-service.ts'
import type { Log } from '../lib/log.ts'
import { PeriodicJob } from './periodic-job.ts'

const everyMs = 1000
const dailyWorkEveryMs = 600_000

export class PaymentChecks extends PeriodicJob {
  readonly #payments: Pick<PaymentService, 'checkDueOrders' | 'runDailyWork'>
  readonly #log: Log
  #nextDailyWorkAt = 0

  constructor(payments: Pick<PaymentService, 'checkDueOrders' | 'runDailyWork'>, log: Log) {
    super(everyMs)
    this.#payments = payments
    this.#log = log
  }

  protected async run(): Promise<void> {
    await this.#payments.checkDueOrders()
    if (performance.now() < this.#nextDailyWorkAt) return
    this.#nextDailyWorkAt = performance.now() + dailyWorkEveryMs
    await this.#payments.runDailyWork()
  }

  protected onError(error: unknown): void {
    this.#log.warn({ err: error }, 'payment checks failed')
  }
}
