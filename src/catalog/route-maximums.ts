/**
 * What was seen of the routes: whether an upstream obeys the maximum of output tokens that requests to one of its models
 * ask for. It belongs to the name under which the maximum was sent. An upstream that exceeded a maximum under another name
 * than its own is from then on sent it under its own name; one that exceeds it under its own name stays `exceeded`, until
 * an operator resets it or changes the upstream's provider or address.
 */
import { auditStatement } from '../db/audit.ts'
import type { Change, Changed } from '../db/change.ts'
import { writeIfFound, type Db, type Query } from '../db/db.ts'
import { sql, type RouteMaximumFieldsTable, type RoutesTable } from '../db/schema/schema.ts'

export const maximumStates = ['unseen', 'obeyed', 'exceeded'] as const

/**
 * Whether an upstream obeys the maximum of output tokens that a request asks for: `unseen` until one response has ended at
 * it; `exceeded` once a response was longer.
 */
export type MaximumState = (typeof maximumStates)[number]

type RouteId = Pick<RoutesTable, 'upstream_id' | 'upstream_model'>

/** What is stored of a route. `field` null: under the upstream's own name of the maximum. */
export interface SeenMaximum extends Omit<RouteMaximumFieldsTable, 'field'> {
  readonly field: string | null
}

/** What a response has shown. `unseen`: the route is no longer known to obey. */
export interface ObservedMaximum extends Omit<SeenMaximum, 'state'> {
  readonly state: MaximumState
}

/** What is known of a route. */
export interface RouteMaximum {
  /** Under the upstream's own name. */
  readonly own: MaximumState
  /** Under other names; absent: `unseen`. */
  readonly others: Readonly<Record<string, 'obeyed' | 'exceeded'>>
  /** The upstream ignores the maximum under another name: it is always sent under the own one. */
  readonly needsOwnField: boolean
}

export function isSameRoute(one: RouteId, other: RouteId): boolean {
  return one.upstream_id === other.upstream_id && one.upstream_model === other.upstream_model
}

/** @param ownField the upstream's own name of the maximum; `null`: it has only one */
export function maximumOfRoute(
  route: RouteId,
  seen: readonly SeenMaximum[],
  ownField: string | null,
): RouteMaximum {
  const others: Record<string, 'obeyed' | 'exceeded'> = {}
  let own: MaximumState = 'unseen'
  for (const one of seen) {
    if (!isSameRoute(one, route)) continue
    const { field, state } = one
    if (field !== null && field !== ownField) others[field] = state
    else if (own !== 'exceeded') own = state
  }
  return { own, others, needsOwnField: Object.values(others).includes('exceeded') }
}

/** What is known of a route for a maximum that is sent under this name; `null`: under the upstream's own. */
export function maximumUnder(
  { own, others, needsOwnField }: RouteMaximum,
  field: string | null,
  ownField: string | null,
): MaximumState {
  if (field === null || field === ownField || needsOwnField) return own
  return others[field] ?? 'unseen'
}

/** The state that operators see: of the upstream's own name, unless only another one was seen. */
export function shownMaximum({ own, others, needsOwnField }: RouteMaximum): MaximumState {
  return own === 'unseen' && !needsOwnField && Object.keys(others).length > 0 ? 'obeyed' : own
}

/** What is known after an observation. Late ones do not show less than what is known. */
export function withObserved(seen: readonly SeenMaximum[], observed: ObservedMaximum): SeenMaximum[] {
  const { field, state } = observed
  const isSame = (one: SeenMaximum): boolean => isSameRoute(one, observed) && one.field === field
  const known = seen.find(isSame)
  if (known?.state === 'exceeded' || known?.state === state) return [...seen]
  const others = seen.filter((one) => !isSame(one))
  if (state === 'unseen') return others
  const isReplaced = field !== null && state === 'exceeded'
  const kept = isReplaced ? others.filter((one) => !isOwnObeyed(one, observed)) : others
  return [...kept, { ...observed, state }]
}

function isOwnObeyed(one: SeenMaximum, route: RouteId): boolean {
  return isSameRoute(one, route) && one.field === null && one.state === 'obeyed'
}

/** Records an observation; `isNew`: it changed what was stored. `changes`: the models whose routes it concerns. */
export async function recordRouteMaximum(
  db: Db,
  observed: ObservedMaximum,
): Promise<{ readonly isNew: boolean; readonly changes: Change[] }> {
  const { field, ...own } = observed
  const [first, ...rest] = field === null ? ownStatements(own) : fieldStatements({ ...own, field })
  return { isNew: await writeIfFound(db, first, ...rest), changes: await routedModels(db, observed) }
}

type Statements = [first: Query, ...rest: Query[]]

function ownStatements({ state, ...seen }: Omit<ObservedMaximum, 'field'>): Statements {
  const { upstream_id: upstream, upstream_model: model } = seen
  if (state === 'unseen') return [deleteMaximum(upstream, model).where('state', '=', 'obeyed')]
  const insert = sql.insertInto('route_maximums').values({ ...seen, state })
  if (state === 'obeyed') return [insert.onConflict((conflict) => conflict.doNothing())]
  return [
    insert.onConflict((conflict) =>
      conflict
        .columns(['upstream_id', 'upstream_model'])
        .doUpdateSet({ state, at: seen.at })
        .where('route_maximums.state', '<>', state),
    ),
  ]
}

function fieldStatements({ state, ...seen }: ObservedMaximum & { readonly field: string }): Statements {
  const { upstream_id: upstream, upstream_model: model, field } = seen
  if (state === 'unseen') return [deleteObeyedFields(upstream, model).where('field', '=', field)]
  const insert = sql.insertInto('route_maximum_fields').values({ ...seen, state })
  if (state === 'obeyed') return [insert.onConflict((conflict) => conflict.doNothing())]
  const upsert = insert.onConflict((conflict) =>
    conflict
      .columns(['upstream_id', 'upstream_model', 'field'])
      .doUpdateSet({ state, at: seen.at })
      .where('route_maximum_fields.state', '<>', state),
  )
  return [upsert, ...ownStatements({ ...seen, state: 'unseen' })]
}

function deleteMaximum(upstream: string, model: string) {
  return sql
    .deleteFrom('route_maximums')
    .where('upstream_id', '=', upstream)
    .where('upstream_model', '=', model)
}

function deleteObeyedFields(upstream: string, model: string) {
  return sql
    .deleteFrom('route_maximum_fields')
    .where('upstream_id', '=', upstream)
    .where('upstream_model', '=', model)
    .where('state', '=', 'obeyed')
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
export function forgetRouteMaximums(upstreamId: string): Query[] {
  return [
    sql.deleteFrom('route_maximums').where('upstream_id', '=', upstreamId),
    sql.deleteFrom('route_maximum_fields').where('upstream_id', '=', upstreamId),
  ]
}

/**
 * Forgets what was seen of one route, so that it is `unseen` again, but not the names that the upstream ignores. Does
 * nothing if it is.
 */
export async function resetRouteMaximum(
  db: Db,
  route: RouteId,
  by: string,
): Promise<Changed<{ readonly maximum: MaximumState }>> {
  const { upstream_id: upstream, upstream_model: model } = route
  const seen = await loadMaximums(db, [upstream])
  const isKnown = seen.some(
    (one) => isSameRoute(one, route) && (one.field === null || one.state === 'obeyed'),
  )
  if (!isKnown) return { value: { maximum: 'unseen' }, changes: [] }
  await db.write(
    deleteMaximum(upstream, model),
    deleteObeyedFields(upstream, model),
    auditStatement(by, 'upstream.reset_maximum', upstream, { model }),
  )
  return { value: { maximum: 'unseen' }, changes: await routedModels(db, route) }
}

/** What was seen of the routes to these upstreams. */
export async function loadMaximums(db: Db, upstreams: readonly string[]): Promise<SeenMaximum[]> {
  if (upstreams.length === 0) return []
  const own = sql.selectFrom('route_maximums').selectAll().where('upstream_id', 'in', upstreams)
  const fields = sql.selectFrom('route_maximum_fields').selectAll().where('upstream_id', 'in', upstreams)
  const [owns, others] = await Promise.all([db.all(own), db.all(fields)])
  return [...owns.map((one) => ({ ...one, field: null })), ...others]
}
