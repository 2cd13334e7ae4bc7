/**
 * Which upstream is asked next: of those that are not known to be down, by priority, and within it by what the model
 * prefers; of those that are, the one that is likely to be back first, and only when no other is left.
 */
import type { LiveCredential, LiveRoute, PricedModel } from '../catalog/catalog.ts'
import { isDue } from '../health/circuit.ts'
import type { Circuits } from '../health/observation.ts'
import { costOf, type Usage } from '../ledger/price.ts'
import { hashOf, rendezvous } from './affinity.ts'
import type { HealthPort } from './health-port.ts'
import { circuitsWith, placeOf } from './place.ts'

/** One call that could be made. */
export interface Candidate {
  readonly route: LiveRoute
  /** Whose route it is: the model that was asked for, or one in its place. */
  readonly model: PricedModel
  readonly credential: LiveCredential
  readonly circuits: Circuits
  /** Circuits that have to let it be their probe before it may be asked. */
  readonly probes: readonly string[]
  /** Another is ready to take over should this one take too long. */
  readonly hasOthers: boolean
}

export interface ChoiceTerms {
  readonly health: Pick<HealthPort, 'circuits'>
  /** Smoothed milliseconds that a route takes; `null`: not known, or long ago. */
  readonly latencyOf: (route: LiveRoute) => number | null
  /** Stays the same for a conversation; `null` where every request is drawn anew. */
  readonly conversation: number | null
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** From 0 to below 1. */
  readonly chance: () => number
}

/** `ready`: nothing is known against it. `due`: it may be probed. */
export type Standing = 'ready' | 'due' | 'resting'

/** While the latency of some is not known, this share of the requests is spent on finding out. */
const explored = 0.5

export function standingOf(circuits: Circuits, terms: Pick<ChoiceTerms, 'health' | 'now'>): Standing {
  const known = terms.health.circuits
  if (known.size === 0) return 'ready'
  let standing: Standing = 'ready'
  for (const key of [circuits.place, circuits.credential, circuits.credentialForModel]) {
    const circuit = known.get(key)
    if (!circuit) continue
    if (!isDue(circuit, terms.now())) return 'resting'
    standing = 'due'
  }
  return standing
}

/** When all of a call's circuits have rested; 0 when none rests. */
export function restsUntil(circuits: Circuits, { circuits: known }: Pick<HealthPort, 'circuits'>): number {
  const keys = [circuits.place, circuits.credential, circuits.credentialForModel]
  return Math.max(0, ...keys.map((key) => known.get(key)?.until ?? 0))
}

/** What providers are compared by. */
const usualUsage: Usage = { input: 3000, cachedInput: 0, cacheWrite: 0, output: 1000, reasoning: 0 }

/** Nanos of a usual request; where it is not known what an upstream costs us, it is the dearest. */
function costOfUsual({ upstream }: LiveRoute): number {
  return upstream.price === null ? Infinity : Number(costOf(upstream.price, usualUsage, 1_000_000))
}

/** Those of the lowest score, all of them where they are equal. */
function lowestOf(group: readonly LiveRoute[], scoreOf: (route: LiveRoute) => number): LiveRoute[] {
  const scores = group.map(scoreOf)
  const lowest = Math.min(...scores)
  return group.filter((_route, index) => scores[index] === lowest)
}

/** By weight: the one that the conversation always has, or a draw. One without weight only when all are. */
function drawn<Item extends { readonly weight: number }>(
  group: readonly Item[],
  { conversation, chance }: Pick<ChoiceTerms, 'conversation' | 'chance'>,
  hash: (item: Item) => number,
): Item | null {
  const [first = null] = group
  if (group.length <= 1) return first
  if (conversation !== null) {
    const scores = group.map((item) => rendezvous(conversation, hash(item), item.weight))
    return group[scores.indexOf(Math.max(...scores))] ?? first
  }
  const total = group.reduce((sum, { weight }) => sum + weight, 0)
  let point = chance() * total
  return group.find(({ weight }) => (point -= weight) < 0) ?? first
}

/** An upstream that is checked is probed by its checks, and no caller has to wait for that. */
function standingFor(route: LiveRoute, credential: LiveCredential, terms: ChoiceTerms): Standing {
  const standing = standingOf(circuitsWith(route, credential), terms)
  return standing === 'due' && route.upstream.healthCheckMs !== null ? 'resting' : standing
}

export class Choice {
  readonly #terms: ChoiceTerms
  /** The model asked for, then those that may answer in its place. */
  readonly #models: readonly PricedModel[]
  readonly #triedUpstreams = new Set<string>()
  /** Credentials tried, or not to be had as a probe, by route. */
  readonly #spent = new Map<LiveRoute, Set<LiveCredential>>()

  constructor(models: readonly PricedModel[], terms: ChoiceTerms) {
    this.#models = models
    this.#terms = terms
  }

  /** The next one to ask. `lastResort`: one that rests as well, when there is no other. */
  next(lastResort: boolean): Candidate | null {
    for (const model of this.#models) {
      const found = this.#usable(model)
      if (found) return found
    }
    return lastResort ? this.#leastBad() : null
  }

  /** The same upstream with another of its credentials, after this one was refused; `null` when none is usable. */
  withOtherCredential({ route, model }: Candidate): Candidate | null {
    const credential = this.#credentialOf(route)
    return credential ? this.#candidate(route, model, credential) : null
  }

  /** It was asked: its upstream is not asked again, but perhaps with another credential. */
  tried({ route, credential }: Candidate): void {
    this.#triedUpstreams.add(route.upstream.id)
    this.#spend(route, credential)
  }

  /** It could not become the probe. */
  passOver({ route, credential }: Candidate): void {
    this.#spend(route, credential)
  }

  #spend(route: LiveRoute, credential: LiveCredential): void {
    const spent = this.#spent.get(route)
    if (spent) spent.add(credential)
    else this.#spent.set(route, new Set([credential]))
  }

  /** Routes are sorted by priority: the first group with any that is usable decides. */
  #usable(model: PricedModel): Candidate | null {
    const { routes } = model
    for (let from = 0, to = 0; from < routes.length; from = to) {
      const priority = routes[from]?.priority
      const group: LiveRoute[] = []
      for (to = from; to < routes.length && routes[to]?.priority === priority; to += 1) {
        const route = routes[to]
        if (route && !this.#triedUpstreams.has(route.upstream.id) && this.#credentialOf(route))
          group.push(route)
      }
      const route = this.#preferred(model, group)
      const credential = route && this.#credentialOf(route)
      if (credential) return this.#candidate(route, model, credential)
    }
    return null
  }

  #candidate(route: LiveRoute, model: PricedModel, credential: LiveCredential): Candidate {
    const circuits = circuitsWith(route, credential)
    const { health } = this.#terms
    const keys = [circuits.place, circuits.credential, circuits.credentialForModel]
    const probes = health.circuits.size === 0 ? [] : keys.filter((key) => health.circuits.has(key))
    return {
      route,
      model,
      credential,
      circuits,
      probes,
      hasOthers: probes.length > 0 && this.#hasReady(route),
    }
  }

  /** Is another upstream ready, without being probed? */
  #hasReady(but: LiveRoute): boolean {
    return this.#models.some(({ routes }) =>
      routes.some(
        (route) =>
          route.upstream !== but.upstream &&
          !this.#triedUpstreams.has(route.upstream.id) &&
          route.upstream.credentials.some(
            (credential) => standingOf(circuitsWith(route, credential), this.#terms) === 'ready',
          ),
      ),
    )
  }

  #preferred({ prefer }: PricedModel, group: readonly LiveRoute[]): LiveRoute | null {
    if (group.length <= 1) return group[0] ?? null
    if (prefer === 'cheapest') return this.#drawn(lowestOf(group, costOfUsual))
    if (prefer === 'fastest') return this.#drawn(this.#fastest(group))
    return this.#drawn(group)
  }

  #fastest(group: readonly LiveRoute[]): LiveRoute[] {
    const { latencyOf, chance } = this.#terms
    const unknown = group.filter((route) => latencyOf(route) === null)
    if (unknown.length === group.length) return unknown
    if (unknown.length > 0 && chance() < explored) return unknown
    return lowestOf(group, (route) => latencyOf(route) ?? Infinity)
  }

  #drawn(group: readonly LiveRoute[]): LiveRoute | null {
    return drawn(group, this.#terms, (route) => placeOf(route).hash)
  }

  /** One of the upstream's credentials that is usable on this route. */
  #credentialOf(route: LiveRoute): LiveCredential | null {
    const { credentials } = route.upstream
    const spent = this.#spent.get(route)
    const [only] = credentials
    if (!spent && credentials.length === 1 && only) {
      return standingFor(route, only, this.#terms) === 'resting' ? null : only
    }
    const left = credentials.filter((credential) => !spent?.has(credential))
    const ready = left.filter((one) => standingFor(route, one, this.#terms) === 'ready')
    const due = left.filter((one) => standingFor(route, one, this.#terms) === 'due')
    // One that is due goes first, for somebody has to be its probe; most are told no and take another.
    const [probe] = due
    if (probe) return probe
    return drawn(ready, this.#terms, ({ circuit }) => hashOf(circuit))
  }

  #leastBad(): Candidate | null {
    let best: Candidate | null = null
    let bestUntil = Infinity
    for (const model of this.#models) {
      for (const route of model.routes) {
        if (this.#triedUpstreams.has(route.upstream.id)) continue
        for (const credential of route.upstream.credentials) {
          const circuits = circuitsWith(route, credential)
          const until = restsUntil(circuits, this.#terms.health)
          if (until >= bestUntil) continue
          bestUntil = until
          best = { route, model, credential, circuits, probes: [], hasOthers: false }
        }
      }
    }
    return best
  }
}
