/**
 * The route plan of a model: which upstreams a request would try now, in which order, and why. It runs the relay's own
 * UpstreamSelector without a call. Where weights decide at random, the plan shows the share of each route.
 */
import type { LiveRoute, PricedModel } from '../../catalog/catalog.ts'
import type { Circuit } from '../../health/circuit.ts'
import type { FailureScope, CircuitKeys } from '../../health/call-reports.ts'
import { rankingPrice } from './load-balancing.ts'
import { hasReadiness, maxAttempts, UpstreamSelector } from './upstream-selector.ts'
import { routeStats } from './route-stats.ts'

export interface PlannedRoute {
  readonly route: LiveRoute
  /** The model that would serve: the requested one, or a fallback. */
  readonly model: PricedModel
  /** From 1; `null`: not tried, since there are at most three attempts. */
  readonly order: number | null
  /** Share of the requests that reach its priority; `null` while its circuit is open. */
  readonly share: number | null
  readonly why: string
}

/** The part of CallHealth that a plan needs. */
export interface KnownCallHealth {
  readonly circuits: Readonly<Record<FailureScope, Circuit>>
  readonly recent: { readonly latencyMs: number | null }
}

/** Every call that these models allow. */
export function possibleCalls(models: readonly PricedModel[]): { route: LiveRoute; circuits: CircuitKeys }[] {
  return models.flatMap(({ routes }) =>
    routes.flatMap((route) => routeStats(route).circuits.map((circuits) => ({ route, circuits }))),
  )
}

/** Those circuits that are not closed. */
function openCircuits(known: ReadonlyMap<CircuitKeys, KnownCallHealth>): Map<string, Circuit> {
  const open = new Map<string, Circuit>()
  for (const [circuits, { circuits: states }] of known) {
    for (const scope of ['route', 'credential', 'credentialForModel'] as const) {
      if (states[scope].state !== 'closed') open.set(circuits[scope], states[scope])
    }
  }
  return open
}

/** `known`: the health of every call in `possibleCalls(models)`. */
export function planRoutes(
  models: readonly PricedModel[],
  known: ReadonlyMap<CircuitKeys, KnownCallHealth>,
  now: number,
): PlannedRoute[] {
  const health = { circuits: openCircuits(known) }
  const latencyOf = (route: LiveRoute): number | null => {
    const [circuits] = routeStats(route).circuits
    return circuits ? (known.get(circuits)?.recent.latencyMs ?? null) : null
  }
  const options = { health, conversation: null, holder: null, now: () => now, random: () => 0, latencyOf }
  const selector = new UpstreamSelector(models, options)
  const steps: PlannedRoute[] = []
  for (let next = selector.next(true); next; next = selector.next(true)) {
    const { route, model } = next
    const isUsable = hasReadiness(route, options, 'ready', 'probe-due')
    const share = isUsable ? trafficShare(route, model, (each) => hasReadiness(each, options, 'ready')) : null
    const why = isUsable
      ? explainChoice(next, latencyOf(route), share)
      : explainCooldown(route, health.circuits)
    const order = steps.length < maxAttempts ? steps.length + 1 : null
    steps.push({ route, model, order, share, why })
    selector.markTried(next)
  }
  return steps
}

function trafficShare(
  route: LiveRoute,
  { routes, prefer }: PricedModel,
  ready: (route: LiveRoute) => boolean,
): number | null {
  if (prefer !== 'weight') return null
  const equals = routes.filter((each) => each.priority === route.priority && ready(each))
  const total = equals.reduce((sum, { weight }) => sum + weight, 0)
  if (!equals.includes(route)) return null
  return total === 0 ? Number(equals[0] === route) : route.weight / total
}

function formatPercent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function explainChoice(
  { route, model, probes }: { route: LiveRoute; model: PricedModel; probes: readonly string[] },
  latencyMs: number | null,
  share: number | null,
): string {
  const parts = [`Priority ${route.priority}.`]
  if (probes.length > 0) parts.push('Circuit half-open: the next request probes it.')
  else if (model.prefer === 'cheapest') {
    parts.push(rankingPrice(route) ? 'Ranked by cost.' : 'Its cost is unknown, so it ranks last.')
  } else if (model.prefer === 'fastest') {
    parts.push(
      latencyMs === null ? 'Its latency is not known yet.' : `Recent latency: ${Math.round(latencyMs)} ms.`,
    )
  } else if (share !== null && share < 1)
    parts.push(`Gets ${formatPercent(share)} of requests (weight ${route.weight}).`)
  if (model.affinity) parts.push('Session affinity is on: a conversation stays with its upstream.')
  return parts.join(' ')
}

function explainCooldown(route: LiveRoute, open: ReadonlyMap<string, Circuit>): string {
  const circuits = routeStats(route).circuits.flatMap((keys) =>
    [keys.route, keys.credential, keys.credentialForModel].flatMap((key) => open.get(key) ?? []),
  )
  const [worst] = circuits.toSorted((left, right) => right.until - left.until)
  if (!worst) return 'Circuit open.'
  const until = new Date(worst.until).toISOString()
  const state =
    worst.state === 'half-open' ? 'Circuit half-open, being probed' : `Circuit open until ${until}`
  return `${state}: ${worst.why} Tried only if no other route is left.`
}
