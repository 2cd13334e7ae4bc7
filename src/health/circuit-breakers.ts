/**
 * The circuit breakers of a node: all circuits and their recent calls. They live on the main thread; workers report
 * what they saw and are notified at once of each circuit that opens, is probed or closes. A circuit without failures is
 * closed and uses no memory.
 */
import { applyEvent, closedCircuit, isProbeDue, type Circuit, type CircuitEvent } from './circuit.ts'
import { upstreamOf } from './call-reports.ts'
import type {
  SuccessCount,
  SuccessReport,
  FailureScope,
  CircuitChange,
  CircuitKeys,
  FailureReport,
} from './call-reports.ts'
import { RecentCalls, type RecentStats } from './recent-calls.ts'

export interface CircuitBreakersDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** From 0 to less than 1. */
  readonly random: () => number
}

/** The health of one upstream call: its three circuits, and the recent outcomes of its upstream's model. */
export interface CallHealth {
  readonly circuits: Readonly<Record<FailureScope, Circuit>>
  readonly recent: RecentStats
  /** When recording started. */
  readonly knownSince: number
}

/** Called for every circuit whose state changes. */
export type CircuitChangeListener = (change: CircuitChange, before: Circuit) => void

/** With fewer calls in the last minute, a failure rate means little. */
const minCallsForRate = 20
const failureRateThreshold = 0.5
/** A circuit without events for this long is removed. */
const forgetAfterMs = 86_400_000

const scopes: readonly FailureScope[] = ['route', 'credential', 'credentialForModel']

export class CircuitBreakers {
  readonly #deps: CircuitBreakersDeps
  readonly #circuits = new Map<string, Circuit>()
  readonly #recent = new Map<string, RecentCalls>()
  /** When other nodes reported a call on a route. */
  readonly #remoteUseAt = new Map<string, number>()
  readonly #listeners: CircuitChangeListener[] = []
  /** Attempts since the start, by the upstream's circuit. */
  readonly #totals = new Map<string, { answered: number; failed: number }>()

  constructor(deps: CircuitBreakersDeps) {
    this.#deps = deps
  }

  /** Adds a listener for every state change, in order. */
  onChange(listener: CircuitChangeListener): void {
    this.#listeners.push(listener)
  }

  /** Records complete responses, counted by a worker. */
  recordSuccesses(counts: readonly SuccessCount[]): void {
    const now = this.#deps.now()
    for (const { route, answered, latencyMs } of counts) {
      this.#totalsOf(route).answered += answered
      this.#recentCallsOf(route).addSuccesses(answered, latencyMs, now)
      const circuit = this.#circuits.get(route)
      if (circuit?.state === 'closed' && circuit.strikes > 0) this.#set(route, { ...circuit, strikes: 0 })
    }
  }

  /** Records a complete response for which a circuit was not closed: all of its circuits work again. */
  recordSuccess({ circuits, startedAt }: SuccessReport): void {
    for (const scope of scopes) this.#apply(circuits[scope], { kind: 'succeeded', startedAt })
  }

  recordFailure(report: FailureReport): void {
    const { circuits, scope, retryAfterMs, startedAt, why } = report
    if (scope !== null) {
      const now = this.#deps.now()
      this.#totalsOf(circuits.route).failed += 1
      const recent = this.#recentCallsOf(circuits.route)
      recent.addFailure(now)
      const { answered, failed, errorRate } = recent.stats(now)
      const isFailureRateHigh =
        scope === 'route' && answered + failed >= minCallsForRate && (errorRate ?? 0) >= failureRateThreshold
      this.#apply(circuits[scope], {
        kind: 'failed',
        isConclusive: scope !== 'route',
        retryAfterMs,
        startedAt,
        why,
        isFailureRateHigh,
      })
    }
    for (const other of scopes) {
      const circuit = this.#circuits.get(circuits[other])
      // Only a call that started after the probe was acquired can be the probe.
      if (other !== scope && circuit?.state === 'half-open' && startedAt >= circuit.since) {
        this.#apply(circuits[other], { kind: 'probe-abandoned' })
      }
    }
  }

  /** Makes the caller the probe of all these circuits; false if another call is, or if they still cool down. */
  acquireProbe(keys: readonly string[]): boolean {
    const now = this.#deps.now()
    for (const key of keys) {
      const circuit = this.#circuits.get(key) ?? closedCircuit
      if (circuit.state !== 'closed' && !isProbeDue(circuit, now)) return false
    }
    for (const key of keys) this.#apply(key, { kind: 'probe-started' })
    return true
  }

  /** Takes over circuits of another node that are newer. */
  merge(changes: readonly CircuitChange[]): void {
    for (const { key, circuit } of changes) {
      if (circuit.since > this.get(key).since) this.#set(key, circuit)
    }
  }

  get(key: string): Circuit {
    return this.#circuits.get(key) ?? closedCircuit
  }

  recentStats(route: string): RecentStats {
    return (this.#recent.get(route) ?? new RecentCalls()).stats(this.#deps.now())
  }

  /** When this node last recorded a call on a route; 0: never, or long ago. */
  lastCallAt(route: string): number {
    return this.#recent.get(route)?.lastCallAt ?? 0
  }

  /** Another node has just recorded a call on a route. */
  recordRemoteUse(route: string): void {
    this.#remoteUseAt.set(route, this.#deps.now())
  }

  /** When any node last recorded a call on a route, as far as this one knows. */
  lastUsedAt(route: string): number {
    return Math.max(this.lastCallAt(route), this.#remoteUseAt.get(route) ?? 0)
  }

  /** The attempts on all routes of an upstream since the start, by the name of its circuit. */
  totals(upstream: string): { readonly answered: number; readonly failed: number } {
    return this.#totals.get(upstream) ?? { answered: 0, failed: 0 }
  }

  /** Every known circuit, including closed ones. */
  all(): CircuitChange[] {
    return Array.from(this.#circuits, ([key, circuit]) => ({ key, circuit })).filter(
      ({ circuit }) => circuit.since > 0,
    )
  }

  /** Every circuit that is not closed. */
  notClosed(): CircuitChange[] {
    return [...this.#circuits].flatMap(([key, circuit]) =>
      circuit.state === 'closed' ? [] : [{ key, circuit }],
    )
  }

  /** The circuits of these keys. */
  circuitsFor(circuits: CircuitKeys): Readonly<Record<FailureScope, Circuit>> {
    return {
      route: this.get(circuits.route),
      credential: this.get(circuits.credential),
      credentialForModel: this.get(circuits.credentialForModel),
    }
  }

  /** Removes circuits without recent events, mostly those of deleted upstreams. */
  sweep(): void {
    const before = this.#deps.now() - forgetAfterMs
    for (const [key, { state, strikes, since, until }] of this.#circuits) {
      if (since >= before || until >= before || strikes > 0) continue
      this.#circuits.delete(key)
      if (state !== 'closed') this.#notify({ key, circuit: closedCircuit }, closedCircuit)
    }
    for (const [key, { lastCallAt }] of this.#recent) if (lastCallAt < before) this.#recent.delete(key)
    for (const [key, at] of this.#remoteUseAt) if (at < before) this.#remoteUseAt.delete(key)
  }

  #totalsOf(route: string): { answered: number; failed: number } {
    const upstream = upstreamOf(route)
    const totals = this.#totals.get(upstream) ?? { answered: 0, failed: 0 }
    this.#totals.set(upstream, totals)
    return totals
  }

  #recentCallsOf(route: string): RecentCalls {
    const known = this.#recent.get(route)
    if (known) return known
    const recent = new RecentCalls()
    this.#recent.set(route, recent)
    return recent
  }

  #apply(key: string, event: CircuitEvent): void {
    const before = this.get(key)
    const moment = { now: this.#deps.now(), random: this.#deps.random() }
    const circuit = applyEvent(before, event, moment)
    if (circuit === before) return
    if (circuit.state === 'closed' && before.state !== 'closed') this.#recent.get(key)?.reset()
    this.#set(key, circuit)
  }

  #set(key: string, circuit: Circuit): void {
    const before = this.get(key)
    this.#circuits.set(key, circuit)
    if (circuit.state === before.state && circuit.until === before.until) return
    this.#notify({ key, circuit }, before)
  }

  #notify(change: CircuitChange, before: Circuit): void {
    for (const listener of this.#listeners) listener(change, before)
  }
}
