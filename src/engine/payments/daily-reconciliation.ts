/**
 * Compares each day with each provider's list, once the list is ready. A day whose comparison failed, or that was missed, is
 * tried again for a week.
 */
import { dateOf, dayEndOf, startOfDate } from '../../ledger/periods.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification, type NotificationInput } from '../../notifications/notifications.ts'
import type { Bills, PaymentMethod } from '../../payments/payment-method.ts'
import { hasOrderBefore } from '../../payments/payment-orders.ts'
import { doneRunsSince } from '../../payments/payment-runs.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { reconcile } from './reconcile.ts'

const hour = 3_600_000
const dayMs = 24 * hour
/** Chinese providers have the list of a day by 10:30 on the next one. */
const readyAfterMs = 10.5 * hour
const daysTried = 7
/** Yesterday's list may be late. */
const retryAfterMs = hour
const retryOlderAfterMs = 6 * hour
const by = 'schedule'

const dayBefore = (day: string, count = 1): string =>
  new Date(Date.parse(day) - count * dayMs).toISOString().slice(0, 10)

export class DailyReconciliation {
  readonly #deps: PaymentDeps
  /** By method and day: when it may be tried again. */
  readonly #pausedUntil = new Map<string, number>()

  constructor(deps: PaymentDeps) {
    this.#deps = deps
  }

  /** Compares at most one day of each method; cheap if nothing is due. */
  async run(): Promise<void> {
    const { methods, now, log } = this.#deps
    for (const [key, until] of this.#pausedUntil) if (until <= now()) this.#pausedUntil.delete(key)
    for (const method of methods.values()) {
      try {
        await this.#runMethod(method)
      } catch (error) {
        log.warn({ err: error, method: method.name }, 'payments could not be compared')
      }
    }
  }

  async #runMethod({ name, bills }: PaymentMethod): Promise<void> {
    if (bills === null) return
    const at = this.#deps.now()
    const readyAt = bills.includesToday ? at : at - readyAfterMs
    const newest = dayBefore(dateOf(bills.timezone, readyAt))
    const due = await this.#dueSpan(name, bills, newest)
    if (due === undefined) return
    const { from, day } = due
    const pauseMs = day === newest ? retryAfterMs : retryOlderAfterMs
    this.#pausedUntil.set(keyOf(name, day), at + pauseMs)
    try {
      const run = await reconcile(this.#deps, { method: name, from, to: day, by })
      if (run.problem !== null) await this.#reportFailure(name, day, run.problem)
      if (run.differences > 0) await this.#notify(differing(name, day, run.differences))
    } catch (error) {
      await this.#reportFailure(name, day, errorMessage(error))
    }
  }

  /**
   * The newest day that was not compared since its end; from the day before, if that one was. So each day is compared twice:
   * lists grow, and a payment around midnight may be in that of either day.
   */
  async #dueSpan(method: PaymentMethod['name'], bills: Bills, newest: string) {
    const { db } = this.#deps
    const runs = await doneRunsSince(db, method, dayBefore(newest, daysTried - 1))
    const endOf = (day: string): number => dayEndOf(bills.timezone, startOfDate(bills.timezone, day))
    const wasCompared = (day: string): boolean =>
      runs.some(({ fromDay, toDay, startedAt }) => fromDay <= day && day <= toDay && startedAt >= endOf(day))
    for (let back = 0; back < daysTried; back += 1) {
      const day = dayBefore(newest, back)
      if (wasCompared(day) || this.#pausedUntil.has(keyOf(method, day))) continue
      // Nothing here was paid before the first order: what the provider lists is of others.
      if (back > 0 && !(await hasOrderBefore(db, method, endOf(day)))) return undefined
      const before = dayBefore(day)
      return { day, from: wasCompared(before) ? before : day }
    }
    return undefined
  }

  async #reportFailure(method: PaymentMethod['name'], day: string, problem: string): Promise<void> {
    this.#deps.log.warn({ method, day, problem }, 'payments could not be compared')
    await this.#notify(failed(method, day, problem))
  }

  async #notify(input: Pick<NotificationInput, 'subject' | 'period' | 'code' | 'params'>): Promise<void> {
    const audience = operatorAudience
    await raiseNotification(this.#deps.db, { audience, kind: 'payment', severity: 'warning', ...input })
  }
}

const keyOf = (method: string, day: string): string => `${method} ${day}`

/** Once per method and day, however often it is tried. */
const failed = (method: string, day: string, problem: string) =>
  ({
    subject: `reconciliation-failed:${method}`,
    period: day,
    code: 'payments_not_compared',
    params: { method, day, problem },
  }) as const

const differing = (method: string, day: string, count: number) =>
  ({
    subject: `reconciliation:${method}`,
    period: day,
    code: 'payments_differ',
    params: { method, day, count: String(count) },
  }) as const
