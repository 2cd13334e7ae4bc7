/** Routes: which upstreams serve a model, and under which name. */

import { invalidField } from '../errors.ts'
import type { Db, Query } from '../db/db.ts'
import { sql, type RoutesTable } from '../db/schema/schema.ts'
import { costsJson, parseCosts, type UpstreamCosts } from './costs.ts'

export interface Route {
  readonly upstreamId: string
  /** The upstream's name for the model. */
  readonly upstreamModel: string
  /** null: the upstream's own. Lower priorities are tried first. */
  readonly priority: number | null
  readonly weight: number | null
  /** Responses carry the upstream's name for the model, not the caller's. */
  readonly exposeModel: boolean
  /** What this model costs us there. null: see `Catalog.costOf`. */
  readonly cost: UpstreamCosts | null
}

export interface RouteInput {
  /** An upstream's id or name. */
  readonly upstream: string
  /** The upstream's name for the model. */
  readonly model: string
  readonly priority?: number | null
  readonly weight?: number | null
  readonly exposeModel?: boolean | undefined
  readonly cost?: UpstreamCosts | null
}

const maxRoutes = 50
const maxModelLength = 256

function checkRoute(route: RouteInput, path: string): void {
  if (route.model === '' || route.model.length > maxModelLength) {
    throw invalidField(`${path}.model`, `must be the upstream's name for the model`)
  }
  for (const name of ['priority', 'weight'] as const) {
    const value = route[name] ?? 0
    if (!Number.isSafeInteger(value) || (name === 'weight' && value < 0)) {
      throw invalidField(`${path}.${name}`, 'must be an integer')
    }
  }
}

/** Looks up the upstreams of routes. Throws 400 naming `routes[i].upstream` for an unknown one. */
export async function resolveRoutes(db: Db, inputs: readonly RouteInput[]): Promise<Route[]> {
  if (inputs.length > maxRoutes) {
    throw invalidField('routes', `must have at most ${maxRoutes} entries`)
  }
  const upstreams = await db.all(sql.selectFrom('upstreams').select(['id', 'name']))
  const idByName = new Map(upstreams.map(({ id, name }) => [name, id]))
  for (const { id } of upstreams) idByName.set(id, id)
  const seen = new Set<string>()
  return inputs.map((input, index) => {
    const path = `routes[${index}]`
    checkRoute(input, path)
    const upstreamId = idByName.get(input.upstream)
    if (upstreamId === undefined) throw invalidField(`${path}.upstream`, 'was not found')
    const identity = `${upstreamId} ${input.model}`
    if (seen.has(identity)) throw invalidField(path, 'is a duplicate')
    seen.add(identity)
    return {
      upstreamId,
      upstreamModel: input.model,
      priority: input.priority ?? null,
      weight: input.weight ?? null,
      exposeModel: input.exposeModel ?? false,
      cost: parseCosts(costsJson(input.cost ?? null, `${path}.cost`)),
    }
  })
}

/** The statements that replace a model's routes. */
export function replaceRoutes(modelId: string, routes: readonly Route[]): Query[] {
  const remove = sql.deleteFrom('routes').where('model_id', '=', modelId)
  if (routes.length === 0) return [remove]
  const rows = routes.map((route) => ({
    model_id: modelId,
    upstream_id: route.upstreamId,
    upstream_model: route.upstreamModel,
    priority: route.priority,
    weight: route.weight,
    expose_model: route.exposeModel ? 1 : 0,
    prices: route.cost === null ? null : JSON.stringify(route.cost),
  }))
  return [remove, sql.insertInto('routes').values(rows)]
}

export function routeOf(row: RoutesTable): Route {
  return {
    upstreamId: row.upstream_id,
    upstreamModel: row.upstream_model,
    priority: row.priority,
    weight: row.weight,
    exposeModel: row.expose_model === 1,
    cost: parseCosts(row.prices),
  }
}
