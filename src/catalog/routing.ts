/**
 * How a model selects an upstream: the preference within a priority, whether a conversation stays with its
 * upstream, and which other models may answer instead.
 */
import { invalidField } from '../errors.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'

export const preferences = ['weight', 'cheapest', 'fastest'] as const
export type Preference = (typeof preferences)[number]

export interface Routing {
  /** The preference among upstreams of the same priority. */
  readonly prefer: Preference
  /** A conversation stays with its upstream while that is healthy. */
  readonly affinity: boolean
  /**
   * Models that may answer if none of the model's own upstreams does, in this order and never at a higher
   * price.
   */
  readonly fallbacks: readonly string[]
}

export const defaultRouting: Routing = { prefer: 'weight', affinity: false, fallbacks: [] }

const maxFallbacks = 5

export function parseRouting(json: string): Routing {
  return { ...defaultRouting, ...(JSON.parse(json) as Partial<Routing>) }
}

/** Throws 400 naming `fallbacks[i]` for an unknown model, a duplicate or the model itself. */
export async function checkFallbacks(db: Db, modelId: string, fallbacks: readonly string[]): Promise<void> {
  if (fallbacks.length > maxFallbacks)
    throw invalidField('fallbacks', `must have at most ${maxFallbacks} entries`)
  if (fallbacks.length === 0) return
  const liveModels = sql.selectFrom('models').select('id').where('deleted_at', 'is', null)
  const known = new Set((await db.all(liveModels.where('id', 'in', fallbacks))).map(({ id }) => id))
  for (const [index, id] of fallbacks.entries()) {
    const at = `fallbacks[${index}]`
    if (id === modelId) throw invalidField(at, 'is the model itself')
    if (!known.has(id)) throw invalidField(at, 'was not found')
    if (fallbacks.indexOf(id) !== index) throw invalidField(at, 'is a duplicate')
  }
}
