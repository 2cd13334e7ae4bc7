/** Routes: which upstream serves a model, and under which name. */

import { refuse } from '../errors.ts'
import type { Db, Query } from '../db/db.ts'
import { sql, type RoutesTable } from '../db/schema/schema.ts'

export interface Route {
  readonly upstreamId: string
  /** The upstream's name for the model. */
  readonly upstreamModel: string
  /** null is the upstream's own. Lower is tried first. */
  readonly priority: number | null
  readonly weight: number | null
}

export interface RouteInput {
  /** An upstream's id or name. */
  readonly upstream: string
  /** The upstream's name for the model. */
  readonly model: string
  readonly priority?: number | null
  readonly weight?: number | null
}

const routesMax = 50
const modelMax = 256

function check(route: RouteInput, at: string): void {
  const wrong = (param: string, words: string) =>
    refuse('invalid_request', { param, message: `${param} ${words}.` })
  if (route.model === '' || route.model.length > modelMax) {
    throw wrong(`${at}.model`, `has to be the upstream's name for the model`)
  }
  for (const name of ['priority', 'weight'] as const) {
    const value = route[name] ?? 0
    if (!Number.isSafeInteger(value) || (name === 'weight' && value < 0)) {
      throw wrong(`${at}.${name}`, 'has to be a whole number')
    }
  }
}

/** Finds the upstreams that routes name. Refuses with 400 naming `routes[i].upstream` for an unknown one. */
export async function resolvedRoutes(db: Db, inputs: readonly RouteInput[]): Promise<Route[]> {
  if (inputs.length > routesMax) {
    throw refuse('invalid_request', {
      param: 'routes',
      message: `routes may have at most ${routesMax} entries.`,
    })
  }
  const upstreams = await db.all(sql.selectFrom('upstreams').select(['id', 'name']))
  const idByName = new Map(upstreams.map(({ id, name }) => [name, id]))
  for (const { id } of upstreams) idByName.set(id, id)
  const seen = new Set<string>()
  return inputs.map((input, index) => {
    const at = `routes[${index}]`
    check(input, at)
    const upstreamId = idByName.get(input.upstream)
    if (upstreamId === undefined) {
      const message = `${at}.upstream names no upstream.`
      throw refuse('invalid_request', { param: `${at}.upstream`, message })
    }
    const identity = `${upstreamId} ${input.model}`
    if (seen.has(identity)) throw refuse('invalid_request', { param: at, message: `${at} is there twice.` })
    seen.add(identity)
    return {
      upstreamId,
      upstreamModel: input.model,
      priority: input.priority ?? null,
      weight: input.weight ?? null,
    }
  })
}

/** The statements that put a model's routes in place of the ones it had. */
export function routesWritten(modelId: string, routes: readonly Route[]): Query[] {
  const remove = sql.deleteFrom('routes').where('model_id', '=', modelId)
  if (routes.length === 0) return [remove]
  const rows = routes.map((route) => ({
    model_id: modelId,
    upstream_id: route.upstreamId,
    upstream_model: route.upstreamModel,
    priority: route.priority,
    weight: route.weight,
  }))
  return [remove, sql.insertInto('routes').values(rows)]
}

export function routeOf(row: RoutesTable): Route {
  return {
    upstreamId: row.upstream_id,
    upstreamModel: row.upstream_model,
    priority: row.priority,
    weight: row.weight,
  }
}
