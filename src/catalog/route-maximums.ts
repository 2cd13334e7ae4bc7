/**
 * What was seen of the routes: whether an upstream obeys the maximum of output tokens that requests to one of its models
 * ask for. An upstream that once exceeded it stays `exceeded`, until an operator resets it or changes the upstream's
 * provider or address.
 */
import { auditStatement } from '../db/audit.ts'
import type { Change, Changed } from '../db/change.ts'
import { writeIfFound, type Db } from '../db/db.ts'
import { sql, type RouteMaximumsTable, type RoutesTable } from '../db/schema/schema.ts'

export const maximumStates = ['unseen', 'obeyed', 'exceeded'] as const

/**
 * Whether an upstream obeys the maximum of output tokens that a request asks for: `unseen` until one response has ended at
 * it; `exceeded` once a response was longer (admin API, "A maximum that the upstream ignores").
 */
export type MaximumState = (typeof maximumStates)[number]

type RouteId = Pick<RoutesTable, 'upstream_id' | 'upstream_model'>

export function isSameRoute(one: RouteId, other: RouteId): boolean {
  return one.upstream_id === other.upstream_id && one.upstream_model === other.upstream_model
}

export function maximumOfRoute(route: RouteId, seen: readonly RouteMaximumsTable[]): MaximumState {
  return seen.find((one) => isSameRoute(one, route))?.state ?? 'unseen'
}

/** Records what was seen; `isNew`: the route was in another state. `changes`: the models whose routes it concerns. */
export async function recordRouteMaximum(
  db: Db,
  seen: RouteMaximumsTable,
): Promise<{ readonly isNew: boolean; readonly changes: Change[] }> {
  const { state, at } = seen
  const insert = sql.insertInto('route_maximums').values(seen)
  const isNew = await writeIfFound(
    db,
    state === 'obeyed'
      ? insert.onConflict((conflict) => conflict.doNothing())
      : insert.onConflict((conflict) =>
          conflict
            .columns(['upstream_id', 'upstream_model'])
            .doUpdateSet({ state, at })
            .where('route_maximums.state', '<>', state),
        ),
  )
  return { isNew, changes: await routedModels(db, seen) }
}

/** The models with a route to an upstream, or to one of its models, as changes to publish. */
export async function routedModels(
  db: Db,
  { upstream_id: upstream, upstream_model: model }: Pick<RouteId, 'upstream_id'> & Partial<RouteId>,
): Promise<Change[]> {
  const routed = sql.selectFrom('routes').select('model_id').distinct().where('upstream_id', '=', upstream)
  const rows = await db.all(model === undefined ? routed : routed.where('upstream_model', '=', model))
  return rows.map(({ model_id: id }) => ({ kind: 'model', id }))
}

/** Forgets what was seen of an upstream's routes. */
export function forgetRouteMaximums(upstreamId: string) {
  return sql.deleteFrom('route_maximums').where('upstream_id', '=', upstreamId)
}

/** Forgets what was seen of one route, so that it is `unseen` again. Does nothing if it is. */
export async function resetRouteMaximum(
  db: Db,
  route: RouteId,
  by: string,
): Promise<Changed<{ readonly maximum: MaximumState }>> {
  const { upstream_id: upstream, upstream_model: model } = route
  const isReset = await writeIfFound(
    db,
    forgetRouteMaximums(upstream).where('upstream_model', '=', model),
    auditStatement(by, 'upstream.reset_maximum', upstream, { model }),
  )
  return { value: { maximum: 'unseen' }, changes: isReset ? await routedModels(db, route) : [] }
}
