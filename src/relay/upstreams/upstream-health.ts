/**
 * The health of upstreams as a node sees it: all circuits and the retry budget, on the main thread. Workers report their
 * results and receive circuit changes; other nodes do so through cluster/circuit-broadcast.ts.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { Catalog } from '../../catalog/catalog.ts'
import { CircuitBreakers } from '../../health/circuit-breakers.ts'
import type { CircuitKeys, FailureReport, SuccessCount, SuccessReport } from '../../health/call-reports.ts'
import { RetryBudget } from '../../health/retry-budget.ts'
import type { CallHealth } from '../../health/circuit-breakers.ts'
import type { Log } from '../../lib/log.ts'
import { circuitKeysFor, routeStats } from '../routing/route-stats.ts'

const sweepEveryMs = 60_000
const stateNumbers = { closed: 0, 'half-open': 1, open: 2 } as const

/** Results of calls to upstreams, and what decides on further ones. */
export interface HealthService {
  recordSuccesses(counts: readonly SuccessCount[]): void
  /** A success that may change a circuit. */
  recordSuccess(report: SuccessReport): void
  recordFailure(report: FailureReport): void
  /** Whether the retry budget allows one more attempt. */
  mayRetry(): Promise<boolean>
  /** Whether this request may probe these circuits. */
  acquireProbe(keys: readonly string[]): Promise<boolean>
}

export class UpstreamHealth {
  readonly breakers: CircuitBreakers
  readonly retryBudget = new RetryBudget()
  readonly #catalog: Catalog
  readonly #now: () => number
  readonly #startedAt: number
  readonly #sweepTimer: NodeJS.Timeout

  constructor(catalog: Catalog, now: () => number) {
    this.#catalog = catalog
    this.#now = now
    this.#startedAt = now()
    this.breakers = new CircuitBreakers({ now, random: Math.random })
    this.#sweepTimer = setInterval(() => this.breakers.sweep(), sweepEveryMs)
    this.#sweepTimer.unref()
  }

  /** A request was admitted. */
  onAdmitted(): void {
    this.retryBudget.recordRequest(this.#now())
  }

  /** For workers. */
  get service(): HealthService {
    const { breakers } = this
    return {
      recordSuccesses: (counts) => breakers.recordSuccesses(counts),
      recordSuccess: (report) => breakers.recordSuccess(report),
      recordFailure: (report) => breakers.recordFailure(report),
      mayRetry: () => Promise.resolve(this.retryBudget.tryTake(this.#now())),
      acquireProbe: (keys) => Promise.resolve(breakers.acquireProbe(keys)),
    }
  }

  callHealth(circuits: CircuitKeys): CallHealth {
    return {
      circuits: this.breakers.circuitsFor(circuits),
      recent: this.breakers.recentStats(circuits.route),
      knownSince: this.#startedAt,
    }
  }

  /** The routes whose upstreams have health checks, and after how long idle they are checked. */
  checkedRoutes(): { readonly route: string; readonly idleMs: number }[] {
    const routes = this.#catalog.models().flatMap((model) => model.routes)
    return routes.flatMap((route) => {
      const { healthCheckMs: idleMs } = route.upstream
      const [circuits] = routeStats(route).circuits
      return idleMs === null || !circuits ? [] : [{ route: circuits.route, idleMs }]
    })
  }

  /** Logs each change of a circuit, with the names that operators use. */
  logChangesTo(log: Log): void {
    this.breakers.onChange(({ key, circuit }, before) => {
      if (circuit.state === before.state) return
      const about = { ...this.#describe(key), why: circuit.why || before.why }
      if (circuit.state === 'open') {
        log.warn({ ...about, until: new Date(circuit.until).toISOString() }, 'circuit opened')
      } else if (circuit.state === 'closed') log.info(about, 'circuit closed')
    })
  }

  close(): void {
    clearInterval(this.#sweepTimer)
  }

  #describe(key: string): { upstream?: string; credential?: string; model?: string } {
    const [name = '', model] = key.split(' ')
    for (const upstream of this.#catalog.upstreams()) {
      if (upstream.circuit === name) return { upstream: upstream.name, model }
      const credential = upstream.credentials.find(({ circuit }) => circuit === name)
      if (credential) return { upstream: upstream.name, credential: credential.id, model }
    }
    return { model }
  }

  /** Adds the metrics of upstream health. */
  addMetrics(registry: Registry): void {
    const registers = [registry]
    const counter = (name: string, help: string, value: number): void =>
      new Counter({ name, help, registers }).inc(value)
    const attempts = new Counter({
      name: 'sluice_attempts_total',
      help: 'Attempts at upstreams, by outcome: answered, or failed because of the upstream',
      labelNames: ['outcome', 'upstream'] as const,
      registers,
    })
    for (const { name: upstream, circuit } of this.#catalog.upstreams()) {
      const { answered, failed } = this.breakers.totals(circuit)
      attempts.inc({ outcome: 'answered', upstream }, answered)
      attempts.inc({ outcome: 'failed', upstream }, failed)
    }
    counter('sluice_retries_total', 'Retries that the retry budget allowed', this.retryBudget.granted)
    counter('sluice_retries_denied_total', 'Retries that the retry budget denied', this.retryBudget.denied)
    const states = new Gauge({
      name: 'sluice_upstream_state',
      help: '0 closed (in use), 1 half-open (probed), 2 open (out of rotation)',
      labelNames: ['upstream', 'model', 'credential'] as const,
      registers,
    })
    for (const model of this.#catalog.models()) {
      for (const route of model.routes) {
        const { upstream, upstreamModel } = route
        for (const credential of upstream.credentials) {
          const circuits = this.breakers.circuitsFor(circuitKeysFor(route, credential))
          const worst = Math.max(...Object.values(circuits).map(({ state }) => stateNumbers[state]))
          states.set({ upstream: upstream.name, model: upstreamModel, credential: credential.id }, worst)
        }
      }
    }
  }
}
