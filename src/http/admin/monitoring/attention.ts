/** What needs an operator's attention: incidents, open circuits, backups, unserved models, limit requests. */
import { z } from '@hono/zod-openapi'
import { countOpenLimitRequests } from '../../../accounts/limit-requests.ts'
import { sql } from '../../../db/schema/schema.ts'
import { listOpenIncidents, openIncident, serializeOpenIncident } from '../../api/open-incidents.ts'
import { time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import type { AppContext } from '../../app-context.ts'
import { listUpstreamHealth, upstreamHealthSchema } from './upstream-health.ts'

export const attentionFields = {
  open_incidents: z.array(openIncident),
  /** Models of upstreams that are out of rotation, or being probed. */
  open_circuits: z.array(
    upstreamHealthSchema.pick({ upstream: true, name: true, model: true, state: true, since: true }),
  ),
  /** The newest backup, if it failed or is damaged. */
  failed_backup: z.object({ made_at: time, state: z.enum(['failed', 'damaged']) }).nullable(),
  /** Listed models without a price, a route or an enabled upstream. */
  unserved: z.array(z.object({ model: z.string(), missing: z.enum(['price', 'route', 'upstream']) })),
  /** Upstreams with prices that serve several models, and the models whose routes to them have no cost. */
  unknown_costs: z.array(z.object({ upstream: z.string(), name: z.string(), models: z.array(z.string()) })),
  open_limit_requests: z.int(),
}
type Attention = z.infer<z.ZodObject<typeof attentionFields>>

/** Finds models that callers can request but no upstream can serve. */
async function listUnservedModels({ db, catalog }: AppContext): Promise<Attention['unserved']> {
  const rows = await db.all(
    sql
      .selectFrom('models')
      .select('id')
      .where('deleted_at', 'is', null)
      .where('listed', '=', 1)
      .orderBy('id'),
  )
  const routed = new Set(
    (await db.all(sql.selectFrom('routes').select('model_id').distinct())).map((row) => row.model_id),
  )
  return rows.flatMap(({ id }): Attention['unserved'] => {
    const model = catalog.model(id)
    if (model === undefined) return [{ model: id, missing: 'price' }]
    if (!routed.has(id)) return [{ model: id, missing: 'route' }]
    return model.routes.length === 0 ? [{ model: id, missing: 'upstream' }] : []
  })
}

async function listOpenCircuits(ctx: AppContext): Promise<Attention['open_circuits']> {
  return (await listUpstreamHealth(ctx))
    .filter(({ state }) => state !== 'closed')
    .map(({ upstream, name, model, state, since }) => ({ upstream, name, model, state, since }))
}

/** Ignores backups that are being made or checked. */
async function findFailedBackup(ctx: AppContext): Promise<Attention['failed_backup']> {
  const finished = (await ctx.backups.list()).filter(({ step }) => step === null)
  const newest = finished.toSorted((left, right) => right.madeAt - left.madeAt)[0]
  if (newest?.state !== 'failed' && newest?.state !== 'damaged') return null
  return { made_at: formatTime(newest.madeAt), state: newest.state }
}

export async function readAttention(ctx: AppContext): Promise<Attention> {
  const [incidents, circuits, backup, unserved, limitRequests] = await Promise.all([
    listOpenIncidents(ctx),
    listOpenCircuits(ctx),
    findFailedBackup(ctx),
    listUnservedModels(ctx),
    countOpenLimitRequests(ctx.db),
  ])
  return {
    open_incidents: incidents.map(serializeOpenIncident),
    open_circuits: circuits,
    failed_backup: backup,
    unserved,
    unknown_costs: ctx.catalog
      .unknownCosts()
      .map(({ upstream: { id, name }, models: without }) => ({ upstream: id, name, models: [...without] })),
    open_limit_requests: limitRequests,
  }
}
