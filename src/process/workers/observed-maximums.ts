/**
 * What workers report of the maximum of output tokens: takes effect on this node at once, and is stored for all nodes. Notifies
 * operators of a route that exceeded it.
 */
import type { Catalog } from '../../catalog/catalog.ts'
import { recordRouteMaximum, type ObservedMaximum } from '../../catalog/route-maximums.ts'
import type { Change } from '../../db/change.ts'
import type { Db } from '../../db/db.ts'
import { operatorAudience } from '../../notifications/notification-kinds.ts'
import { raiseNotification } from '../../notifications/notifications.ts'

export interface ObservedMaximumsDeps {
  readonly db: Db
  readonly catalog: Pick<Catalog, 'applyRouteMaximum' | 'upstream'>
  readonly log: { warn(fields: object, message: string): void }
  readonly publishChanges: (changes: readonly Change[]) => Promise<void>
  /** Whether all running nodes know the notification. */
  readonly canNotify: () => Promise<boolean>
}

/** A route that this node was the first to record as exceeding the maximum. */
export interface ExceededRoute {
  readonly upstream: string
  readonly model: string
}

export class ObservedMaximums {
  readonly #deps: ObservedMaximumsDeps
  /** What is being stored: many responses may show the same before the workers know that it is known. */
  readonly #pending = new Set<string>()
  readonly exceeded: ExceededRoute[] = []

  constructor(deps: ObservedMaximumsDeps) {
    this.#deps = deps
  }

  /** Resolves when it is stored. After a failed write, the next response repeats it. */
  async observe(seen: ObservedMaximum): Promise<void> {
    const { catalog, log } = this.#deps
    const { upstream_id: upstream, upstream_model: model, field, state } = seen
    const key = JSON.stringify([upstream, model, field, state])
    catalog.applyRouteMaximum(seen)
    if (this.#pending.has(key)) return
    this.#pending.add(key)
    try {
      await this.#store(seen)
    } catch (error) {
      log.warn({ err: error, upstream, model, state }, 'maximum not stored')
    } finally {
      this.#pending.delete(key)
    }
  }

  async #store(seen: ObservedMaximum): Promise<void> {
    const { db, catalog, log, publishChanges } = this.#deps
    const { isNew, changes } = await recordRouteMaximum(db, seen)
    await publishChanges(changes)
    // Under another name than its own, the upstream is not sent a maximum any more.
    if (!isNew || seen.state !== 'exceeded' || seen.field !== null) return
    const { upstream_id: id, upstream_model: model } = seen
    const upstream = catalog.upstream(id)?.name ?? id
    this.exceeded.push({ upstream, model })
    log.warn({ upstream, model }, 'the upstream exceeds the maximum of output tokens')
    await this.#notify(seen, upstream)
  }

  async #notify({ upstream_id: id, upstream_model: model, at }: ObservedMaximum, upstream: string) {
    if (!(await this.#deps.canNotify())) return
    await raiseNotification(this.#deps.db, {
      audience: operatorAudience,
      kind: 'maximum_exceeded',
      severity: 'warning',
      subject: `route:${id} ${model}`,
      // A route that was reset is notified again.
      period: String(at),
      code: 'maximum_exceeded',
      params: { upstream, model },
    })
  }
}
