/**
 * What was seen of the routes: whether an upstream obeys the maximum of output tokens that requests to one of its models
 * ask for. An upstream that once exceeded it stays `exceeded`, until an operator resets it or changes the upstream's
 * provider or address.
 */
import type { Change } from '../db/change.ts'
import type { Db, Query } from '../db/db.ts'
import { sql, type RouteMaximumsTable } from '../db/schema/schema.ts'

/** Records what was seen; returns the models whose routes it changes. */
export async function recordRouteMaximum(db: Db, seen: RouteMaximumsTable): Promise<Change[]> {
  const { upstream_id: upstream, upstream_model: model, state, at } = seen
  const insert = sql.insertInto('route_maximums').values(seen)
  await db.write(
    state === 'obeyed'
      ? insert.onConflict((conflict) => conflict.doNothing())
      : insert.onConflict((conflict) =>
          conflict
            .columns(['upstream_id', 'upstream_model'])
            .doUpdateSet({ state, at })
            .where('route_maximums.state', '<>', state),
        ),
  )
  const rows = await db.all(
    sql
      .selectFrom('routes')
      .select('model_id')
      .distinct()
      .where('upstream_id', '=', upstream)
      .where('upstream_model', '=', model),
  )
  return rows.map(({ model_id: id }) => ({ kind: 'model', id }))
}

/** Forgets what was seen of an upstream's routes. */
export function forgetRouteMaximums(upstreamId: string): Query {
  return sql.deleteFrom('route_maximums').where('upstream_id', '=', upstreamId)
}
