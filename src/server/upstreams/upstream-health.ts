/**
 * The health of upstreams as a node knows it: all circuits and the budget for further attempts, on the authority's
 * thread. What workers saw comes in, what they have to know goes out; another node's findings come and go the same way
 * (cluster/shared-circuits.ts).
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { Catalog } from '../../catalog/catalog.ts'
import { HealthBoard } from '../../health/board.ts'
import type { Circuits } from '../../health/observation.ts'
import { RetryBudget } from '../../health/retry-budget.ts'
import type { CallHealth } from '../../http/house.ts'
import type { Log } from '../../lib/log.ts'
import { circuitsWith } from '../../relay/place.ts'
import type { RareAsk } from '../messages.ts'

const sweepEveryMs = 60_000
const stateNumbers = { closed: 0, 'half-open': 1, open: 2 } as const

export class NodeHealth {
  readonly board: HealthBoard
  readonly budget = new RetryBudget()
  readonly #catalog: Catalog
  readonly #now: () => number
  readonly #startedAt: number
  readonly #sweeping: NodeJS.Timeout

  constructor(catalog: Catalog, now: () => number) {
    this.#catalog = catalog
    this.#now = now
    this.#startedAt = now()
    this.board = new HealthBoard({ now, chance: Math.random })
    this.#sweeping = setInterval(() => this.board.sweep(), sweepEveryMs)
    this.#sweeping.unref()
  }

  /** A request was admitted. */
  admitted(): void {
    this.budget.request(this.#now())
  }

  take(ask: Extract<RareAsk, { kind: 'answers' | 'answered' | 'fault' }>): void {
    if (ask.kind === 'answers') this.board.count(ask.counts)
    else if (ask.kind === 'answered') this.board.answered(ask.report)
    else this.board.failed(ask.report)
  }

  mayRetry(): boolean {
    return this.budget.take(this.#now())
  }

  of(circuits: Circuits): CallHealth {
    return {
      circuits: this.board.statesOf(circuits),
      lately: this.board.lately(circuits.place),
      knownSince: this.#startedAt,
    }
  }

  /** Where upstreams are checked when they were idle for so long. */
  checkedPlaces(): { readonly place: string; readonly idleMs: number }[] {
    const routes = this.#catalog.models().flatMap((model) => model.routes)
    return routes.flatMap((route) => {
      const { healthCheckMs: idleMs, credentials } = route.upstream
      const [credential] = credentials
      return idleMs === null || !credential ? [] : [{ place: circuitsWith(route, credential).place, idleMs }]
    })
  }

  /** Tells the log of each change, in the operator's names. */
  logTo(log: Log): void {
    this.board.listen(({ key, circuit }, before) => {
      if (circuit.state === before.state) return
      const about = { ...this.#named(key), why: circuit.why || before.why }
      if (circuit.state === 'open') {
        log.warn({ ...about, until: new Date(circuit.until).toISOString() }, 'an upstream rests')
      } else if (circuit.state === 'closed') log.info(about, 'an upstream is back')
    })
  }

  close(): void {
    clearInterval(this.#sweeping)
  }

  #named(key: string): { upstream?: string; credential?: string; model?: string } {
    const [name = '', model] = key.split(' ')
    for (const upstream of this.#catalog.upstreams()) {
      if (upstream.circuit === name) return { upstream: upstream.name, model }
      const credential = upstream.credentials.find(({ circuit }) => circuit === name)
      if (credential) return { upstream: upstream.name, credential: credential.id, model }
    }
    return { model }
  }

  /** Adds what an operator watches. */
  addMetrics(registry: Registry): void {
    const registers = [registry]
    const counter = (name: string, help: string, value: number): void =>
      new Counter({ name, help, registers }).inc(value)
    const attempts = new Counter({
      name: 'sluice_attempts_total',
      help: 'Attempts at upstreams that ended complete, or failed by the upstream’s fault',
      labelNames: ['outcome'] as const,
      registers,
    })
    attempts.inc({ outcome: 'answered' }, this.board.totals.answered)
    attempts.inc({ outcome: 'failed' }, this.board.totals.failed)
    counter('sluice_retries_total', 'Further attempts that the budget allowed', this.budget.granted)
    counter('sluice_retries_denied_total', 'Further attempts that the budget denied', this.budget.denied)
    const states = new Gauge({
      name: 'sluice_upstream_state',
      help: '0 closed (in use), 1 half-open (probed), 2 open (resting)',
      labelNames: ['upstream', 'model', 'credential'] as const,
      registers,
    })
    for (const model of this.#catalog.models()) {
      for (const route of model.routes) {
        const { upstream, upstreamModel } = route
        for (const credential of upstream.credentials) {
          const circuits = this.board.statesOf(circuitsWith(route, credential))
          const worst = Math.max(...Object.values(circuits).map(({ state }) => stateNumbers[state]))
          states.set({ upstream: upstream.name, model: upstreamModel, credential: credential.id }, worst)
        }
      }
    }
  }
}
