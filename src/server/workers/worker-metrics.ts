/** The metrics of one worker, for `/metrics`. */
import { Counter, Histogram, Registry } from '@prometheus-io/client'
import type { RequestLogLine } from '../../relay/relay-request.ts'

const durationSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

export class WorkerMetrics {
  readonly registry = new Registry()
  readonly #requests = new Counter({
    name: 'sluice_requests_total',
    help: 'Requests that had a hold, by outcome',
    labelNames: ['outcome', 'stream'] as const,
    registers: [this.registry],
  })
  readonly #rejections = new Counter({
    name: 'sluice_refusals_total',
    help: 'Rejected requests, by error code',
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
    help: 'From receipt to settlement of a request',
    buckets: durationSeconds,
    registers: [this.registry],
  })
  readonly #firstToken = new Histogram({
    name: 'sluice_first_token_seconds',
    help: 'From receipt of a request to the first content of its stream',
    buckets: durationSeconds,
    registers: [this.registry],
  })

  count({ outcome, usage }: RequestLogLine): void {
    this.#requests.inc({ outcome: outcome.outcome, stream: outcome.stream ? '1' : '0' })
    this.#duration.observe(outcome.durationMs / 1000)
    if (outcome.firstTokenMs !== null) this.#firstToken.observe(outcome.firstTokenMs / 1000)
    if (!usage) return
    this.#tokens.inc({ direction: 'input' }, usage.input)
    this.#tokens.inc({ direction: 'output' }, usage.output)
  }

  countRejected(code: string): void {
    this.#rejections.inc({ code })
  }
}
