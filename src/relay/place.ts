/** Where a route leads, as its health is kept: the circuits that a call on it goes through, and how quick it has been. */
import type { LiveCredential, LiveRoute } from '../catalog/catalog.ts'
import { circuitsOf, type Circuits } from '../health/observation.ts'
import { hashOf } from './affinity.ts'

/** What one worker has seen of a route. */
export interface Place {
  /** In the order of the upstream's credentials. */
  readonly circuits: readonly Circuits[]
  /** For conversations that stay. */
  readonly hash: number
  /** Smoothed milliseconds until a stream's first content, or a whole answer; `null`: not heard of lately. */
  streamMs: number | null
  wholeMs: number | null
  /** When an answer last came; milliseconds since the epoch. */
  heardAt: number
}

/** A new latency counts for this share of the smoothed one. */
const smoothing = 0.2
/** A latency this old is not believed any more: something else may be the quickest now. */
const believedMs = 60_000

const places = new WeakMap<LiveRoute, Place>()

export function placeOf(route: LiveRoute): Place {
  const known = places.get(route)
  if (known) return known
  const { upstream, upstreamModel } = route
  const place: Place = {
    circuits: upstream.credentials.map(({ circuit }) => circuitsOf(upstream.circuit, circuit, upstreamModel)),
    hash: hashOf(`${upstream.id} ${upstreamModel}`),
    streamMs: null,
    wholeMs: null,
    heardAt: 0,
  }
  places.set(route, place)
  return place
}

/** The circuits of a call on this route with one of its upstream's credentials. */
export function circuitsWith(route: LiveRoute, credential: LiveCredential): Circuits {
  const circuits = placeOf(route).circuits[route.upstream.credentials.indexOf(credential)]
  if (!circuits) throw new Error('The credential is none of this upstream.')
  return circuits
}

function smoothed(before: number | null, latencyMs: number): number {
  return before === null ? latencyMs : before + smoothing * (latencyMs - before)
}

/** Notes a complete answer. */
export function noteLatency(place: Place, stream: boolean, latencyMs: number, now: number): void {
  if (stream) place.streamMs = smoothed(place.streamMs, latencyMs)
  else place.wholeMs = smoothed(place.wholeMs, latencyMs)
  place.heardAt = now
}

/** How quick it usually is; `null` when that is not known, or was long ago. */
export function usualMs(place: Place, stream: boolean, now: number): number | null {
  if (now - place.heardAt > believedMs) return null
  return stream ? place.streamMs : place.wholeMs
}
