/**
 * A worker's view of upstream health: the circuits that are not closed, as the main thread last sent them, and the results
 * of this worker's calls. Successes are counted and sent a few times a second; a result that may change a circuit is sent
 * at once, after all earlier ones.
 */
import type { Circuit } from '../../health/circuit.ts'
import type { SuccessCount, CircuitChange, CircuitKeys, FailureReport } from '../../health/call-reports.ts'
import type { HealthClient } from '../../relay/routing/health-client.ts'
import type { HealthService } from '../../relay/upstreams/upstream-health.ts'
import type { MainChannel } from './remote-ledger.ts'

const sendCountsEveryMs = 250

export class WorkerHealth implements HealthClient {
  readonly #channel: MainChannel
  readonly #service: HealthService
  readonly #circuits = new Map<string, Circuit>()
  #counts = new Map<string, { answered: number; latencyMs: number }>()
  #timer: NodeJS.Timeout | null = null

  constructor(channel: MainChannel) {
    this.#channel = channel
    this.#service = channel.proxy('health')
  }

  get circuits(): ReadonlyMap<string, Circuit> {
    return this.#circuits
  }

  /** Applies the changes that the main thread sends. */
  onCircuitChanges(changes: readonly CircuitChange[]): void {
    for (const { key, circuit } of changes) {
      if (circuit.state === 'closed') this.#circuits.delete(key)
      else this.#circuits.set(key, circuit)
    }
  }

  reportSuccess(circuits: CircuitKeys, startedAt: number, latencyMs: number): void {
    const known = this.#counts.get(circuits.route)
    if (known) {
      known.answered += 1
      known.latencyMs += latencyMs
    } else this.#counts.set(circuits.route, { answered: 1, latencyMs })
    this.#timer ??= setTimeout(() => this.#sendCounts(), sendCountsEveryMs)
    if (this.#circuits.size > 0 && this.#isAnyOpen(circuits)) {
      this.#sendCounts()
      this.#channel.send('health', 'recordSuccess', { circuits, startedAt })
    }
  }

  reportFailure(report: FailureReport): void {
    this.#sendCounts()
    this.#channel.send('health', 'recordFailure', report)
  }

  acquireRetry(): Promise<boolean> {
    return this.#service.mayRetry()
  }

  acquireProbe(keys: readonly string[]): Promise<boolean> {
    return this.#service.acquireProbe(keys)
  }

  #isAnyOpen({ route, credential, credentialForModel }: CircuitKeys): boolean {
    const known = this.#circuits
    return known.has(route) || known.has(credential) || known.has(credentialForModel)
  }

  #sendCounts(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#counts.size === 0) return
    const counts: SuccessCount[] = Array.from(this.#counts, ([route, count]) => ({ route, ...count }))
    this.#counts = new Map()
    this.#channel.send('health', 'recordSuccesses', counts)
  }
}
