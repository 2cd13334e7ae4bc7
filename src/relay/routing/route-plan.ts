/**
 * What would be asked for a model now, in which order, and why: the relay's own choice, played through without a call.
 * Where a draw by weight decides, the heavier one is shown first, with the share that each has.
 */
import type { LiveRoute, PricedModel } from '../../catalog/catalog.ts'
import type { Circuit } from '../../health/circuit.ts'
import type { Blame, Circuits } from '../../health/observation.ts'
import { Choice, standingOf } from '../choice.ts'
import { circuitsWith } from '../place.ts'

export interface Step {
  readonly route: LiveRoute
  /** The model that would answer: the one asked for, or one in its place. */
  readonly model: PricedModel
  /** The first would be asked first; `null`: it would not be, three attempts are the most. */
  readonly order: number | null
  /** Of the requests that get to its priority; `null` while it rests. */
  readonly share: number | null
  readonly why: string
}

/** What is known of a call, as far as a plan needs it. */
export interface Known {
  readonly circuits: Readonly<Record<Blame, Circuit>>
  readonly lately: { readonly latencyMs: number | null }
}

const mostAttempts = 3

/** Every call that can be made for these models. */
export function callsOf(models: readonly PricedModel[]): { route: LiveRoute; circuits: Circuits }[] {
  return models.flatMap(({ routes }) =>
    routes.flatMap((route) =>
      route.upstream.credentials.map((credential) => ({ route, circuits: circuitsWith(route, credential) })),
    ),
  )
}

/** The circuits of a view that are not closed. */
function openIn(known: ReadonlyMap<Circuits, Known>): Map<string, Circuit> {
  const open = new Map<string, Circuit>()
  for (const [circuits, { circuits: states }] of known) {
    for (const blame of ['place', 'credential', 'credentialForModel'] as const) {
      if (states[blame].state !== 'closed') open.set(circuits[blame], states[blame])
    }
  }
  return open
}

/** `known`: of every call in `callsOf(models)`. */
export function planOf(
  models: readonly PricedModel[],
  known: ReadonlyMap<Circuits, Known>,
  now: number,
): Step[] {
  const health = { circuits: openIn(known) }
  const latencyOf = (route: LiveRoute): number | null => {
    const [circuits] = route.upstream.credentials.map((credential) => circuitsWith(route, credential))
    return circuits ? (known.get(circuits)?.lately.latencyMs ?? null) : null
  }
  const terms = { health, conversation: null, now: () => now, chance: () => 0, latencyOf }
  const choice = new Choice(models, terms)
  const steps: Step[] = []
  for (let next = choice.next(true); next; next = choice.next(true)) {
    const { route, model } = next
    const isUsable = route.upstream.credentials.some(
      (credential) => standingOf(circuitsWith(route, credential), terms) !== 'resting',
    )
    const share = isUsable ? shareOf(route, model, (each) => isReady(each, terms)) : null
    const why = isUsable ? reasonOf(next, latencyOf(route), share) : restOf(route, health.circuits)
    const order = steps.length < mostAttempts ? steps.length + 1 : null
    steps.push({ route, model, order, share, why })
    choice.tried(next)
  }
  return steps
}

type Terms = Parameters<typeof standingOf>[1]

function isReady(route: LiveRoute, terms: Terms): boolean {
  return route.upstream.credentials.some(
    (credential) => standingOf(circuitsWith(route, credential), terms) === 'ready',
  )
}

function shareOf(
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

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function reasonOf(
  { route, model, probes }: { route: LiveRoute; model: PricedModel; probes: readonly string[] },
  latencyMs: number | null,
  share: number | null,
): string {
  const parts = [`Priority ${route.priority}.`]
  if (probes.length > 0) parts.push('It has rested: the next request is its probe.')
  else if (model.prefer === 'cheapest') {
    parts.push(
      route.upstream.price
        ? 'Ranked by what it costs us.'
        : 'What it costs us is not known, so it comes last.',
    )
  } else if (model.prefer === 'fastest') {
    parts.push(
      latencyMs === null ? 'How fast it is is not known yet.' : `It took ${Math.round(latencyMs)} ms lately.`,
    )
  } else if (share !== null && share < 1)
    parts.push(`${percent(share)} of the requests, by its weight of ${route.weight}.`)
  if (model.affinity) parts.push('A conversation stays where it began.')
  return parts.join(' ')
}

function restOf(route: LiveRoute, open: ReadonlyMap<string, Circuit>): string {
  const circuits = route.upstream.credentials.flatMap((credential) => {
    const { place, credential: own, credentialForModel } = circuitsWith(route, credential)
    return [place, own, credentialForModel].flatMap((key) => open.get(key) ?? [])
  })
  const [worst] = circuits.toSorted((left, right) => right.until - left.until)
  if (!worst) return 'It rests.'
  const until = new Date(worst.until).toISOString()
  const probing = worst.state === 'half-open' ? 'It is being probed' : `It rests until ${until}`
  return `${probing}: ${worst.why} Asked only when no other is left.`
}
