/**
 * Selects the upstream for the next attempt. Among upstreams whose circuits are closed, priority decides, then what the
 * model prefers (load-balancing.ts). An upstream whose circuit is open is selected only if no other is left: the one
 * that is likely to recover first.
 */
import type { LiveCredential, LiveRoute, PricedModel } from '../../catalog/catalog.ts'
import { isProbeDue } from '../../health/circuit.ts'
import type { CircuitKeys } from '../../health/call-reports.ts'
import { holderOf } from './affinity.ts'
import { hashText, pickByWeight, typicalCost, withLowestScore } from './load-balancing.ts'
import type { HealthClient } from './health-client.ts'
import { circuitKeysFor, routeStats } from './route-stats.ts'

/** The maximum of attempts per request. */
export const maxAttempts = 3

/** A call that could be made. */
export interface Candidate {
  readonly route: LiveRoute
  /** The model that the route belongs to: the requested one, or a fallback. */
  readonly model: PricedModel
  readonly credential: LiveCredential
  readonly circuits: CircuitKeys
  /** Circuits that this call must probe: `acquireProbe` must succeed before the call. */
  readonly probes: readonly string[]
  /** Another upstream is ready to take over if this one takes too long. */
  readonly hasAlternatives: boolean
}

export interface UpstreamSelectorOptions {
  readonly health: Pick<HealthClient, 'circuits'>
  /** The typical latency of a route in milliseconds; `null`: unknown. */
  readonly latencyOf: (route: LiveRoute) => number | null
  /** The hash of the conversation for session affinity; `null`: each request is balanced on its own. */
  readonly conversation: number | null
  /** Names the credential that is tried first (affinity.ts); `null`: none. */
  readonly holder: string | null
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** From 0 to less than 1. */
  readonly random: () => number
}

/** Of a call, over all of its circuits. `ready`: all closed. `probe-due`: may be probed. `unavailable`: one is open. */
export type Readiness = 'ready' | 'probe-due' | 'unavailable'

/** While the latency of some routes is unknown, this share of requests goes to them. */
const explorationShare = 0.5

export function readinessOf(
  circuits: CircuitKeys,
  options: Pick<UpstreamSelectorOptions, 'health' | 'now'>,
): Readiness {
  const known = options.health.circuits
  if (known.size === 0) return 'ready'
  let readiness: Readiness = 'ready'
  for (const key of [circuits.route, circuits.credential, circuits.credentialForModel]) {
    const circuit = known.get(key)
    if (!circuit) continue
    if (!isProbeDue(circuit, options.now())) return 'unavailable'
    readiness = 'probe-due'
  }
  return readiness
}

/** Whether any call on the route has one of these. */
export function hasReadiness(
  route: LiveRoute,
  options: Pick<UpstreamSelectorOptions, 'health' | 'now'>,
  ...accepted: readonly Readiness[]
): boolean {
  return routeStats(route).circuits.some((circuits) => accepted.includes(readinessOf(circuits, options)))
}

/** When the last of a call's circuits may be probed; 0 if all are closed. */
export function openUntil(
  circuits: CircuitKeys,
  { circuits: known }: Pick<HealthClient, 'circuits'>,
): number {
  const keys = [circuits.route, circuits.credential, circuits.credentialForModel]
  return Math.max(0, ...keys.map((key) => known.get(key)?.until ?? 0))
}

/** Health checks probe the upstreams that have them, so that no caller has to wait for a probe. */
function readinessForCaller(
  route: LiveRoute,
  credential: LiveCredential,
  options: UpstreamSelectorOptions,
): Readiness {
  const readiness = readinessOf(circuitKeysFor(route, credential), options)
  return readiness === 'probe-due' && route.upstream.healthCheckMs !== null ? 'unavailable' : readiness
}

/** The candidates of models with a single route and credential, created once. */
const singleCandidates = new WeakMap<PricedModel, Candidate>()

/** The candidate if there is nothing to select, or `null`. */
export function singleCandidate(model: PricedModel): Candidate | null {
  const known = singleCandidates.get(model)
  if (known) return known
  const [route] = model.routes
  const credential = route?.upstream.credentials[0]
  if (!credential || model.routes.length > 1 || route.upstream.credentials.length > 1) return null
  const circuits = circuitKeysFor(route, credential)
  const candidate: Candidate = { route, model, credential, circuits, probes: [], hasAlternatives: false }
  singleCandidates.set(model, candidate)
  return candidate
}

export class UpstreamSelector {
  readonly #options: UpstreamSelectorOptions
  /** The requested model, then its fallbacks. */
  readonly #models: readonly PricedModel[]
  readonly #triedUpstreams = new Set<string>()
  /** Calls that were tried, or whose probe was not acquired. */
  readonly #excluded = new Set<CircuitKeys>()

  constructor(models: readonly PricedModel[], options: UpstreamSelectorOptions) {
    this.#models = models
    this.#options = options
  }

  /** The next candidate. `allowUnavailable`: also one with an open circuit, if there is no other. */
  next(allowUnavailable: boolean): Candidate | null {
    for (const model of this.#models) {
      const candidate = this.#held(model) ?? this.#firstUsable(model)
      if (candidate) return candidate
    }
    return allowUnavailable ? this.#soonestToRecover() : null
  }

  /** The same upstream with another credential, after this one was rejected; `null` if none is usable. */
  withNextCredential({ route, model }: Candidate): Candidate | null {
    const credential = this.#pickCredential(route)
    return credential ? this.#toCandidate(route, model, credential) : null
  }

  /** The candidate was tried: its upstream is not selected again, except with another credential. */
  markTried(candidate: Candidate): void {
    this.#triedUpstreams.add(candidate.route.upstream.id)
    this.skip(candidate)
  }

  /** The candidate's probe was not acquired. */
  skip({ circuits }: Candidate): void {
    this.#excluded.add(circuits)
  }

  /** The call of the holder, if it is usable. */
  #held(model: PricedModel): Candidate | null {
    const { holder } = this.#options
    if (holder === null) return null
    for (const route of model.routes) {
      const { upstream } = route
      const credential = upstream.credentials.find((one) => holderOf(upstream, one) === holder)
      if (!credential || this.#triedUpstreams.has(upstream.id)) continue
      const isExcluded = this.#excluded.has(circuitKeysFor(route, credential))
      if (!isExcluded && readinessForCaller(route, credential, this.#options) !== 'unavailable')
        return this.#toCandidate(route, model, credential)
    }
    return null
  }

  /** Routes are sorted by priority: the first priority with a usable route decides. */
  #firstUsable(model: PricedModel): Candidate | null {
    const { routes } = model
    for (let from = 0, to = 0; from < routes.length; from = to) {
      const priority = routes[from]?.priority
      const group: LiveRoute[] = []
      for (to = from; to < routes.length && routes[to]?.priority === priority; to += 1) {
        const route = routes[to]
        if (route && !this.#triedUpstreams.has(route.upstream.id) && this.#pickCredential(route))
          group.push(route)
      }
      const route = this.#pickPreferred(model, group)
      const credential = route && this.#pickCredential(route)
      if (credential) return this.#toCandidate(route, model, credential)
    }
    return null
  }

  #toCandidate(route: LiveRoute, model: PricedModel, credential: LiveCredential): Candidate {
    const circuits = circuitKeysFor(route, credential)
    const { health } = this.#options
    const keys = [circuits.route, circuits.credential, circuits.credentialForModel]
    const probes = health.circuits.size === 0 ? [] : keys.filter((key) => health.circuits.has(key))
    return {
      route,
      model,
      credential,
      circuits,
      probes,
      hasAlternatives: probes.length > 0 && this.#hasReadyAlternative(route),
    }
  }

  /** Is another upstream ready, without a probe? */
  #hasReadyAlternative(excludedRoute: LiveRoute): boolean {
    return this.#models.some(({ routes }) =>
      routes.some(
        (route) =>
          route.upstream !== excludedRoute.upstream &&
          !this.#triedUpstreams.has(route.upstream.id) &&
          hasReadiness(route, this.#options, 'ready'),
      ),
    )
  }

  #pickPreferred({ prefer }: PricedModel, group: readonly LiveRoute[]): LiveRoute | null {
    if (group.length <= 1) return group[0] ?? null
    if (prefer === 'cheapest') return this.#pickByWeight(withLowestScore(group, typicalCost))
    if (prefer === 'fastest') return this.#pickByWeight(this.#fastest(group))
    return this.#pickByWeight(group)
  }

  #fastest(group: readonly LiveRoute[]): LiveRoute[] {
    const { latencyOf, random } = this.#options
    const unknown = group.filter((route) => latencyOf(route) === null)
    if (unknown.length === group.length) return unknown
    if (unknown.length > 0 && random() < explorationShare) return unknown
    return withLowestScore(group, (route) => latencyOf(route) ?? Infinity)
  }

  #pickByWeight(group: readonly LiveRoute[]): LiveRoute | null {
    return pickByWeight(group, this.#options, (route) => routeStats(route).hash)
  }

  /** A credential of the upstream that is usable on this route. */
  #pickCredential(route: LiveRoute): LiveCredential | null {
    const { credentials } = route.upstream
    const [only] = credentials
    if (this.#excluded.size === 0 && credentials.length === 1 && only) {
      return readinessForCaller(route, only, this.#options) === 'unavailable' ? null : only
    }
    const left = credentials.filter((one) => !this.#excluded.has(circuitKeysFor(route, one)))
    const ready = left.filter((one) => readinessForCaller(route, one, this.#options) === 'ready')
    const due = left.filter((one) => readinessForCaller(route, one, this.#options) === 'probe-due')
    // A credential due for a probe goes first: some request must probe it. All but one are denied and take another.
    const [probe] = due
    if (probe) return probe
    return pickByWeight(ready, this.#options, ({ circuit }) => hashText(circuit))
  }

  #soonestToRecover(): Candidate | null {
    let best: Candidate | null = null
    let bestUntil = Infinity
    for (const model of this.#models) {
      for (const route of model.routes) {
        if (this.#triedUpstreams.has(route.upstream.id)) continue
        for (const credential of route.upstream.credentials) {
          const circuits = circuitKeysFor(route, credential)
          const until = openUntil(circuits, this.#options.health)
          if (until >= bestUntil) continue
          bestUntil = until
          best = { route, model, credential, circuits, probes: [], hasAlternatives: false }
        }
      }
    }
    return best
  }
}
