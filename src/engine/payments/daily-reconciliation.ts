/** Compares yesterday with each provider's list, once a day when the lists are ready, and again in an hour if one was not. */
import { dateOf } from '../../ledger/periods.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification } from '../../notifications/notifications.ts'
import type { PaymentMethod } from '../../payments/payment-method.ts'
import { wasCompared } from '../../payments/payment-runs.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { reconcile } from './reconcile.ts'

const hour = 3_600_000
const dayMs = 24 * hour
/** Chinese providers have the list of a day by 10:30 on the next one. */
const readyAfterMs = 10.5 * hour
const by = 'schedule'

export class DailyReconciliation {
  readonly #deps: PaymentDeps
  readonly #failedAt = new Map<string, number>()

  constructor(deps: PaymentDeps) {
    this.#deps = deps
  }

  /** Compares what is due; cheap if nothing is. */
  async run(): Promise<void> {
    for (const method of this.#deps.methods.values()) {
      try {
        await this.#runMethod(method)
      } catch (error) {
        this.#failedAt.set(method.name, this.#deps.now())
        this.#deps.log.warn({ err: error, method: method.name }, 'payments could not be compared')
      }
    }
  }

  async #runMethod(method: PaymentMethod): Promise<void> {
    const { name, bills } = method
    const { db, now } = this.#deps
    if (bills === null) return
    const at = now()
    const yesterday = dateOf(bills.timezone, at - dayMs)
    const isReady = bills.includesToday || dateOf(bills.timezone, at - readyAfterMs) > yesterday
    const hasJustFailed = (this.#failedAt.get(name) ?? -Infinity) > at - hour
    if (!isReady || hasJustFailed || (await wasCompared(db, name, yesterday))) return
    // A list that grows afterwards is compared twice.
    const from = bills.includesToday ? dateOf(bills.timezone, at - 2 * dayMs) : yesterday
    const run = await reconcile(this.#deps, { method: name, from, to: yesterday, by })
    if (run.state === 'failed') {
      this.#failedAt.set(name, at)
      this.#deps.log.warn({ method: name, problem: run.problem }, 'payments could not be compared')
    }
    if (run.differences === 0) return
    await raiseNotification(this.#deps.db, {
      audience: operatorAudience,
      kind: 'payment',
      severity: 'warning',
      subject: `reconciliation:${name}`,
      period: yesterday,
      code: 'payments_differ',
      params: { method: name, day: yesterday, count: String(run.differences) },
    })
  }
}
