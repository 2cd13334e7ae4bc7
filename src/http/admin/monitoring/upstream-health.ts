/** `/upstreams/health`: the circuit state of upstreams, by model, with the reason. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import type { LiveRoute, PricedModel } from '../../../catalog/catalog.ts'
import type { Circuit } from '../../../health/circuit.ts'
import type { CircuitKeys } from '../../../health/call-reports.ts'
import { circuitKeysFor } from '../../../relay/routing/route-stats.ts'
import { possibleCalls } from '../../../relay/routing/route-plan.ts'
import type { AppContext } from '../../app-context.ts'
import type { CallHealth } from '../../../health/circuit-breakers.ts'
import { time } from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'

export const circuitStateSchema = z.enum(['closed', 'open', 'half-open']).meta({
  description:
    'closed: in use. open: out of rotation. half-open: a probe request checks whether it has recovered.',
})
const stateFields = {
  state: circuitStateSchema,
  since: time.meta({ description: 'When the state last changed.' }),
  why: z.string().meta({ description: 'Why it is out of rotation; empty if it is in use.' }),
  next_probe_at: time.nullable().meta({ description: 'When a request may probe it next.' }),
}
const credentialHealthSchema = z.object({
  id: z.string(),
  label: z.string(),
  last_four: z.string().nullable(),
  ...stateFields,
})
export const upstreamHealthSchema = z
  .object({
    upstream: z.string().meta({ description: 'The id of the upstream.' }),
    name: z.string(),
    model: z.string().meta({ description: 'The name of the model at the upstream.' }),
    models: z.array(z.string()).meta({ description: 'The models that callers request.' }),
    ...stateFields,
    requests: z.int().meta({ description: 'Over the last minute, like `error_rate` and `latency_ms`.' }),
    error_rate: z.number().meta({ description: 'From 0 to 1, without errors of callers.' }),
    latency_ms: z
      .number()
      .nullable()
      .meta({ description: 'Time to the first content of a stream, or to a complete response.' }),
    credentials: z.array(credentialHealthSchema),
  })
  .openapi('UpstreamHealth')

const severity = { closed: 0, 'half-open': 1, open: 2 } as const

function findWorst(circuits: readonly Circuit[]): Circuit | undefined {
  return circuits.toSorted(
    (left, right) => severity[right.state] - severity[left.state] || right.until - left.until,
  )[0]
}

function serializeState(circuit: Circuit, knownSince: number) {
  const { state: name, since, openedAt, until, why } = circuit
  return {
    state: name,
    since: formatTime(openedAt || since || knownSince),
    why,
    next_probe_at: name === 'closed' ? null : formatTime(until),
  }
}

interface UpstreamModel {
  readonly route: LiveRoute
  readonly models: string[]
}

/** Lists each upstream's model once, even if several models are routed to it. */
function listUpstreamModels(models: readonly PricedModel[]): UpstreamModel[] {
  const upstreamModels = new Map<string, UpstreamModel>()
  for (const { id, routes } of models) {
    for (const route of routes) {
      const key = `${route.upstream.id} ${route.upstreamModel}`
      const existing = upstreamModels.get(key)
      if (existing) existing.models.push(id)
      else upstreamModels.set(key, { route, models: [id] })
    }
  }
  return [...upstreamModels.values()]
}

/** The circuit of the route; if it is closed, that of the credential that is in use or will be probed first. */
function findOverallCircuit(route: Circuit, credentialCircuits: readonly Circuit[]): Circuit {
  if (route.state !== 'closed') return route
  const [first, ...rest] = credentialCircuits
  if (!first) return route
  return rest.reduce((best, circuit) => (findWorst([best, circuit]) === best ? circuit : best), first)
}

/** Serializes the health of one upstream's model from the health of the calls that use it. */
export function serializeHealth(
  { route, models }: UpstreamModel,
  healthByCall: ReadonlyMap<CircuitKeys, CallHealth>,
): z.infer<typeof upstreamHealthSchema> {
  const { upstream, upstreamModel } = route
  const calls = upstream.credentials.flatMap((credential) => {
    const health = healthByCall.get(circuitKeysFor(route, credential))
    return health ? [{ credential, health }] : []
  })
  const [first] = calls
  if (!first) throw new Error('An upstream without credentials has no health.')
  const { recent, knownSince } = first.health
  const credentials = calls.map(({ credential, health: { circuits } }) => ({
    credential,
    circuit: findWorst([circuits.credential, circuits.credentialForModel]) ?? circuits.credential,
  }))
  const overall = findOverallCircuit(
    first.health.circuits.route,
    credentials.map(({ circuit }) => circuit),
  )
  return {
    upstream: upstream.id,
    name: upstream.name,
    model: upstreamModel,
    models,
    ...serializeState(overall, knownSince),
    requests: recent.answered + recent.failed,
    error_rate: recent.errorRate ?? 0,
    latency_ms: recent.latencyMs === null ? null : Math.round(recent.latencyMs),
    credentials: credentials.map(({ credential: { id, label, lastFour }, circuit }) => ({
      id,
      label,
      last_four: lastFour,
      ...serializeState(circuit, knownSince),
    })),
  }
}

/** Reads the health of every call that can be made for these models. */
export async function readCallHealth(
  ctx: AppContext,
  models: readonly PricedModel[],
): Promise<Map<CircuitKeys, CallHealth>> {
  const calls = possibleCalls(models).map(({ circuits }) => circuits)
  const results = await ctx.callHealth(calls)
  return new Map(
    calls.flatMap((circuits, index) => {
      const result = results[index]
      return result ? [[circuits, result] as const] : []
    }),
  )
}

/** The health of each upstream's models, in the order of the catalog. */
export async function listUpstreamHealth(ctx: AppContext): Promise<z.infer<typeof upstreamHealthSchema>[]> {
  const models = ctx.catalog.models()
  const healthByCall = await readCallHealth(ctx, models)
  return listUpstreamModels(models).map((upstreamModel) => serializeHealth(upstreamModel, healthByCall))
}

export const upstreamHealthEndpoints = [
  admin.list('/upstreams/health', {
    summary: 'List the health of each upstream, by model: state, since when, and why',
    item: upstreamHealthSchema,
    returns: 'All upstreams that models are routed to.',
    idOf: ({ upstream, model }) => `${upstream} ${model}`,
    handle: ({ ctx }) => listUpstreamHealth(ctx),
  }),
]
