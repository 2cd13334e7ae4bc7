/** `/upstreams/health`: how upstreams are, by model, in states and in words. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { LiveRoute, PricedModel } from '../../catalog/catalog.ts'
import type { Circuit } from '../../health/circuit.ts'
import type { Circuits } from '../../health/observation.ts'
import { circuitsWith } from '../../relay/place.ts'
import { callsOf } from '../../relay/routing/route-plan.ts'
import type { CallHealth, House } from '../house.ts'
import type { Desk } from './desk.ts'
import { listAnswer, time, timeOf } from './schemas.ts'
import { shortListFields, shownOf } from './short-lists.ts'

export const stateName = z.enum(['closed', 'open', 'half-open']).meta({
  description: 'closed: in use. open: it rests. half-open: one request is finding out whether it is back.',
})
const stateFields = {
  state: stateName,
  since: time.meta({ description: 'Since when it is in use, or not.' }),
  why: z.string().meta({ description: 'Why it is not in use; empty when it is.' }),
  next_probe_at: time.nullable().meta({ description: 'From when on a request may try it again.' }),
}
const credentialOut = z.object({
  id: z.string(),
  label: z.string(),
  last_four: z.string().nullable(),
  ...stateFields,
})
export const healthOut = z
  .object({
    upstream: z.string().meta({ description: 'Its id.' }),
    name: z.string(),
    model: z.string().meta({ description: 'The upstream’s name for it.' }),
    models: z.array(z.string()).meta({ description: 'What callers name.' }),
    ...stateFields,
    requests: z.int().meta({ description: 'Of the last minute, as are the two below.' }),
    error_rate: z.number().meta({ description: 'From 0 to 1. What callers did wrong does not count.' }),
    latency_ms: z
      .number()
      .nullable()
      .meta({ description: 'Until the first content of a stream, or a whole answer.' }),
    credentials: z.array(credentialOut),
  })
  .openapi('UpstreamHealth')

const strength = { closed: 0, 'half-open': 1, open: 2 } as const

function worstOf(circuits: readonly Circuit[]): Circuit | undefined {
  return circuits.toSorted(
    (left, right) => strength[right.state] - strength[left.state] || right.until - left.until,
  )[0]
}

function stateView(circuit: Circuit, knownSince: number) {
  const { state: name, since, openedAt, until, why } = circuit
  return {
    state: name,
    since: timeOf(openedAt || since || knownSince),
    why,
    next_probe_at: name === 'closed' ? null : timeOf(until),
  }
}

interface Place {
  readonly route: LiveRoute
  readonly models: string[]
}

/** Each upstream's model once, however many models of ours lead to it. */
function placesOf(models: readonly PricedModel[]): Place[] {
  const places = new Map<string, Place>()
  for (const { id, routes } of models) {
    for (const route of routes) {
      const key = `${route.upstream.id} ${route.upstreamModel}`
      const known = places.get(key)
      if (known) known.models.push(id)
      else places.set(key, { route, models: [id] })
    }
  }
  return [...places.values()]
}

/** What the upstream's circuit says, or where that is well and all credentials rest, the one that is back first. */
function overallOf(place: Circuit, ofCredentials: readonly Circuit[]): Circuit {
  if (place.state !== 'closed') return place
  const [first, ...rest] = ofCredentials
  if (!first) return place
  return rest.reduce((best, each) => (worstOf([best, each]) === best ? each : best), first)
}

/** How one upstream's model is. `known`: what is known of the calls that lead there. */
export function healthView(
  { route, models }: Place,
  known: ReadonlyMap<Circuits, CallHealth>,
): z.infer<typeof healthOut> {
  const { upstream, upstreamModel } = route
  const calls = upstream.credentials.flatMap((credential) => {
    const health = known.get(circuitsWith(route, credential))
    return health ? [{ credential, health }] : []
  })
  const [first] = calls
  if (!first) throw new Error('An upstream without credentials has no health.')
  const { lately, knownSince } = first.health
  const credentials = calls.map(({ credential, health: { circuits } }) => ({
    credential,
    circuit: worstOf([circuits.credential, circuits.credentialForModel]) ?? circuits.credential,
  }))
  const overall = overallOf(
    first.health.circuits.place,
    credentials.map(({ circuit }) => circuit),
  )
  return {
    upstream: upstream.id,
    name: upstream.name,
    model: upstreamModel,
    models,
    ...stateView(overall, knownSince),
    requests: lately.answered + lately.failed,
    error_rate: lately.errorRate ?? 0,
    latency_ms: lately.latencyMs === null ? null : Math.round(lately.latencyMs),
    credentials: credentials.map(({ credential: { id, label, lastFour }, circuit }) => ({
      id,
      label,
      last_four: lastFour,
      ...stateView(circuit, knownSince),
    })),
  }
}

/** What is known of every call that can be made for these models. */
export async function knownOf(
  house: House,
  models: readonly PricedModel[],
): Promise<Map<Circuits, CallHealth>> {
  const calls = callsOf(models).map(({ circuits }) => circuits)
  const answers = await house.health(calls)
  return new Map(
    calls.flatMap((circuits, index) => {
      const answer = answers[index]
      return answer ? [[circuits, answer] as const] : []
    }),
  )
}

const health = createRoute({
  method: 'get',
  path: '/upstreams/health',
  summary: 'How each upstream is, by model: in use or not, since when, and why',
  request: { query: z.strictObject(shortListFields) },
  responses: listAnswer(healthOut, 'Every upstream that a model is routed to.'),
})
export function upstreamHealthRoutes(desk: Desk): OpenAPIHono {
  const { catalog } = desk.house
  const app = new OpenAPIHono()
  app.openapi(health, async (c) => {
    const models = catalog.models()
    const known = await knownOf(desk.house, models)
    const data = placesOf(models).map((place) => healthView(place, known))
    return c.json(
      shownOf(data, c.req.valid('query'), ({ upstream, model }) => `${upstream} ${model}`),
      200,
    )
  })
  return app
}
