/**
 * How a model chooses among its upstreams: what is preferred within one priority, whether a conversation stays where
 * it is, and which other models may answer in its place.
 */
import { refuse, type Refusal } from '../errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

export const preferences = ['weight', 'cheapest', 'fastest'] as const
export type Preference = (typeof preferences)[number]

export interface Routing {
  /** Among upstreams of one priority. */
  readonly prefer: Preference
  /** A conversation stays with its upstream while that is healthy. */
  readonly affinity: boolean
  /** Models that may answer when none of its own upstreams does, in this order, and never at a higher price. */
  readonly fallbacks: readonly string[]
}

export const plainRouting: Routing = { prefer: 'weight', affinity: false, fallbacks: [] }

const fallbacksMax = 5

export function parsedRouting(json: string): Routing {
  return { ...plainRouting, ...(JSON.parse(json) as Partial<Routing>) }
}

function invalid(at: string, words: string): Refusal {
  return refuse('invalid_request', { param: at, message: `${at} ${words}.` })
}

/** Refuses with 400 naming `fallbacks[i]` for a model that does not exist, is there twice, or is the model itself. */
export async function checkFallbacks(db: Db, modelId: string, fallbacks: readonly string[]): Promise<void> {
  if (fallbacks.length > fallbacksMax) throw invalid('fallbacks', `may have at most ${fallbacksMax} entries`)
  if (fallbacks.length === 0) return
  const living = sql.selectFrom('models').select('id').where('deleted_at', 'is', null)
  const known = new Set((await db.all(living.where('id', 'in', fallbacks))).map(({ id }) => id))
  for (const [index, id] of fallbacks.entries()) {
    const at = `fallbacks[${index}]`
    if (id === modelId) throw invalid(at, 'is the model itself')
    if (!known.has(id)) throw invalid(at, 'names no model')
    if (fallbacks.indexOf(id) !== index) throw invalid(at, 'is there twice')
  }
}
