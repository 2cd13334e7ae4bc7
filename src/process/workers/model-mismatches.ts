/** Notifies operators of upstreams that respond with another model than their routes ask for: once per route and day. */
import type { Db } from '../../db/db.ts'
import type { Log } from '../../lib/log.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification } from '../../notifications/notifications.ts'
import type { ModelMismatch } from '../../relay/routing/served-response.ts'

export interface ModelMismatchDeps {
  readonly db: Pick<Db, 'write'>
  readonly log: Pick<Log, 'warn'>
  /** The name of an upstream, by its id. */
  readonly upstreamName: (id: string) => string | undefined
  /** Whether all running nodes know the notification. */
  readonly canNotify: () => Promise<boolean>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export class ModelMismatches {
  readonly #deps: ModelMismatchDeps
  /** The UTC date. */
  #day = ''
  /** The routes that were reported on this day. */
  readonly #reported = new Set<string>()

  constructor(deps: ModelMismatchDeps) {
    this.#deps = deps
  }

  /** Resolves when the notification is stored; the store ignores those that another thread has raised. */
  async report(mismatch: ModelMismatch): Promise<void> {
    const { db, log, upstreamName, canNotify, now } = this.#deps
    const { model, upstream, asked, served } = mismatch
    const day = new Date(now()).toISOString().slice(0, 10)
    if (day !== this.#day) this.#reported.clear()
    this.#day = day
    const subject = `route:${model} ${upstream} ${asked}`
    if (this.#reported.has(subject)) return
    this.#reported.add(subject)
    try {
      if (!(await canNotify())) return
      await raiseNotification(db, {
        audience: operatorAudience,
        kind: 'model_mismatch',
        severity: 'warning',
        subject,
        period: day,
        code: 'model_mismatch',
        params: { model, upstream: upstreamName(upstream) ?? upstream, asked, served },
      })
    } catch (error) {
      // The next response of the route tries again.
      this.#reported.delete(subject)
      log.warn({ err: error, ...mismatch }, 'model mismatch not stored')
    }
  }
}
