/** What one worker counts, in the field's words, for `/metrics`. */
import { Counter, Histogram, Registry } from '@prometheus-io/client'
import type { RequestLine } from '../../relay/relay-request.ts'

const durationSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

export class WorkerMetrics {
  readonly registry = new Registry()
  readonly #requests = new Counter({
    name: 'sluice_requests_total',
    help: 'Requests that reached a hold, by how they ended',
    labelNames: ['outcome', 'stream'] as const,
    registers: [this.registry],
  })
  readonly #refusals = new Counter({
    name: 'sluice_refusals_total',
    help: 'Requests that were refused, by the error code',
    labelNames: ['code'] as const,
    registers: [this.registry],
  })
  readonly #tokens = new Counter({
    name: 'sluice_tokens_total',
    help: 'Tokens charged',
    labelNames: ['direction'] as const,
    registers: [this.registry],
  })
  readonly #duration = new Histogram({
    name: 'sluice_request_duration_seconds',
    help: 'From arrival to the settled end',
    buckets: durationSeconds,
    registers: [this.registry],
  })
  readonly #firstToken = new Histogram({
    name: 'sluice_first_token_seconds',
    help: 'From arrival to the first content of a stream',
    buckets: durationSeconds,
    registers: [this.registry],
  })

  count({ outcome, usage }: RequestLine): void {
    this.#requests.inc({ outcome: outcome.outcome, stream: outcome.stream ? '1' : '0' })
    this.#duration.observe(outcome.durationMs / 1000)
    if (outcome.firstTokenMs !== null) this.#firstToken.observe(outcome.firstTokenMs / 1000)
    if (!usage) return
    this.#tokens.inc({ direction: 'input' }, usage.input)
    this.#tokens.inc({ direction: 'output' }, usage.output)
  }

  countRefusal(code: string): void {
    this.#refusals.inc({ code })
  }
}
