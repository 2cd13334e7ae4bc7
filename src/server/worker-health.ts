/**
 * A worker's side of the health of upstreams: which circuits are not closed, as the authority last said, and what was
 * seen here. A plain answer is counted and travels with the others a few times a second; what may change a circuit is
 * told at once, after all that came before it.
 */
import type { Circuit } from '../health/circuit.ts'
import type { AnsweredCount, CircuitNews, Circuits, FaultReport } from '../health/observation.ts'
import type { HealthPort } from '../relay/health-port.ts'
import type { Order, RareAsk } from './messages.ts'

/** What it needs of the line to the authority. */
export interface Line {
  tell(ask: RareAsk): void
  order(order: Order): Promise<unknown>
}

const tellEveryMs = 250

export class WorkerHealth implements HealthPort {
  readonly #line: Line
  readonly #circuits = new Map<string, Circuit>()
  #counts = new Map<string, { answered: number; latencyMs: number }>()
  #timer: NodeJS.Timeout | null = null

  constructor(line: Line) {
    this.#line = line
  }

  get circuits(): ReadonlyMap<string, Circuit> {
    return this.#circuits
  }

  /** Takes over what the authority says. */
  hear(news: readonly CircuitNews[]): void {
    for (const { key, circuit } of news) {
      if (circuit.state === 'closed') this.#circuits.delete(key)
      else this.#circuits.set(key, circuit)
    }
  }

  answered(circuits: Circuits, startedAt: number, latencyMs: number): void {
    const known = this.#counts.get(circuits.place)
    if (known) {
      known.answered += 1
      known.latencyMs += latencyMs
    } else this.#counts.set(circuits.place, { answered: 1, latencyMs })
    this.#timer ??= setTimeout(() => this.#tellCounts(), tellEveryMs)
    if (this.#circuits.size > 0 && this.#isAnyOpen(circuits)) {
      this.#tellCounts()
      this.#line.tell({ kind: 'answered', report: { circuits, startedAt } })
    }
  }

  failed(report: FaultReport): void {
    this.#tellCounts()
    this.#line.tell({ kind: 'fault', report })
  }

  async mayRetry(): Promise<boolean> {
    return (await this.#line.order({ do: 'retry' })) === true
  }

  async mayProbe(keys: readonly string[]): Promise<boolean> {
    return (await this.#line.order({ do: 'probe', keys })) === true
  }

  #isAnyOpen({ place, credential, credentialForModel }: Circuits): boolean {
    const known = this.#circuits
    return known.has(place) || known.has(credential) || known.has(credentialForModel)
  }

  #tellCounts(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#counts.size === 0) return
    const counts: AnsweredCount[] = Array.from(this.#counts, ([place, count]) => ({ place, ...count }))
    this.#counts = new Map()
    this.#line.tell({ kind: 'answers', counts })
  }
}
