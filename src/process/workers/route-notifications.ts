/**
 * Notifies operators of what the responses of a route show: another model than it asks for, once per route and day; and
 * finish reasons that its provider does not document, once per route and reason.
 */
import type { Db } from '../../db/db.ts'
import type { Log } from '../../lib/log.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification, type NotificationInput } from '../../notifications/notifications.ts'
import type { ModelMismatch, UnknownFinish } from '../../relay/routing/served-response.ts'

/** An upstream that makes up a reason for each response must not fill the database. */
const maxReasonsPerDay = 20

export interface RouteNotificationDeps {
  readonly db: Pick<Db, 'write'>
  readonly log: Pick<Log, 'warn'>
  /** The name of an upstream, by its id. */
  readonly upstreamName: (id: string) => string | undefined
  /** Whether all running nodes know the notification. */
  readonly canNotify: () => Promise<boolean>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

type RouteNotification = Pick<NotificationInput, 'subject' | 'period' | 'params'> & {
  readonly kind: 'model_mismatch' | 'unknown_finish'
}

export class RouteNotifications {
  readonly #deps: RouteNotificationDeps
  /** The UTC date. */
  #day = ''
  /** What was reported on this day. */
  readonly #reported = new Set<string>()
  /** How many reasons of each route were reported on this day. */
  readonly #reasons = new Map<string, number>()

  constructor(deps: RouteNotificationDeps) {
    this.#deps = deps
  }

  /** Resolves when the notification is stored; the store ignores those that another thread has raised. */
  reportMismatch({ model, upstream, asked, served }: ModelMismatch): Promise<void> {
    this.#startDay()
    return this.#raise({
      kind: 'model_mismatch',
      subject: `route:${model} ${upstream} ${asked}`,
      period: this.#day,
      params: { model, upstream: this.#nameOf(upstream), asked, served },
    })
  }

  /** As `reportMismatch`. */
  async reportUnknownFinish({ model, upstream, asked, reason }: UnknownFinish): Promise<void> {
    this.#startDay()
    const route = `route:${model} ${upstream} ${asked}`
    const subject = `${route} ${reason}`
    const count = this.#reasons.get(route) ?? 0
    if (this.#reported.has(`unknown_finish ${subject}`) || count >= maxReasonsPerDay) return
    this.#reasons.set(route, count + 1)
    const params = { model, upstream: this.#nameOf(upstream), reason }
    await this.#raise({ kind: 'unknown_finish', subject, period: 'once', params })
  }

  #nameOf(upstream: string): string {
    return this.#deps.upstreamName(upstream) ?? upstream
  }

  #startDay(): void {
    const day = new Date(this.#deps.now()).toISOString().slice(0, 10)
    if (day === this.#day) return
    this.#day = day
    this.#reported.clear()
    this.#reasons.clear()
  }

  async #raise(notification: RouteNotification): Promise<void> {
    const { db, log, canNotify } = this.#deps
    const { kind, subject } = notification
    const reported = `${kind} ${subject}`
    if (this.#reported.has(reported)) return
    this.#reported.add(reported)
    try {
      if (!(await canNotify())) return
      const audience = operatorAudience
      await raiseNotification(db, { audience, severity: 'warning', code: kind, ...notification })
    } catch (error) {
      // The next response of the route tries again.
      this.#reported.delete(reported)
      log.warn({ err: error, kind, ...notification.params }, 'route notification not stored')
    }
  }
}
