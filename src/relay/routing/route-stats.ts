/** What one worker knows of a route: the circuits of its calls, and its latency. */
import type { LiveCredential, LiveRoute } from '../../catalog/catalog.ts'
import { circuitKeysOf, type CircuitKeys } from '../../health/call-reports.ts'
import { hashText } from './load-balancing.ts'

export interface RouteStats {
  /** In the order of the upstream's credentials. */
  readonly circuits: readonly CircuitKeys[]
  /** For session affinity. */
  readonly hash: number
  /** Smoothed milliseconds until a stream's first content, or a buffered response; `null`: unknown. */
  streamingMs: number | null
  nonStreamingMs: number | null
  /** The time of the last response, in milliseconds since the epoch. */
  lastResponseAt: number
}

/** The weight of a new latency in the moving average. */
const smoothingFactor = 0.2
/** An older latency is ignored: another route may be the fastest by now. */
const latencyTtlMs = 60_000

const statsByRoute = new WeakMap<LiveRoute, RouteStats>()

export function routeStats(route: LiveRoute): RouteStats {
  const known = statsByRoute.get(route)
  if (known) return known
  const { upstream, upstreamModel } = route
  const stats: RouteStats = {
    circuits: upstream.credentials.map(({ circuit }) =>
      circuitKeysOf(upstream.circuit, circuit, upstreamModel),
    ),
    hash: hashText(`${upstream.id} ${upstreamModel}`),
    streamingMs: null,
    nonStreamingMs: null,
    lastResponseAt: 0,
  }
  statsByRoute.set(route, stats)
  return stats
}

/** The circuits of a call on this route with one of its upstream's credentials. */
export function circuitKeysFor(route: LiveRoute, credential: LiveCredential): CircuitKeys {
  const circuits = routeStats(route).circuits[route.upstream.credentials.indexOf(credential)]
  if (!circuits) throw new Error('The credential does not belong to this upstream.')
  return circuits
}

function smooth(before: number | null, latencyMs: number): number {
  return before === null ? latencyMs : before + smoothingFactor * (latencyMs - before)
}

/** Records the latency of a complete response. */
export function recordLatency(stats: RouteStats, stream: boolean, latencyMs: number, now: number): void {
  if (stream) stats.streamingMs = smooth(stats.streamingMs, latencyMs)
  else stats.nonStreamingMs = smooth(stats.nonStreamingMs, latencyMs)
  stats.lastResponseAt = now
}

/** The typical latency; `null` if it is unknown or too old. */
export function typicalLatencyMs(stats: RouteStats, stream: boolean, now: number): number | null {
  if (now - stats.lastResponseAt > latencyTtlMs) return null
  return stream ? stats.streamingMs : stats.nonStreamingMs
}
