/** The metrics of one worker, for `/metrics`. */
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { ApiErrorCode } from '../../errors.ts'
import type { BodyBudget } from '../../http/body.ts'
import type { RequestLogLine } from '../../relay/request-context.ts'
import type { WorkerInit } from '../workers/protocol.ts'
import { registerEventLoopLag } from './event-loop-lag.ts'

const routeLabels = ['model', 'upstream'] as const
const durationSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Why requests of known callers are rejected. Their counters start at 0, so that `rate()` sees the first one. */
const rejectionCodes: readonly ApiErrorCode[] = [
  'account_suspended',
  'address_not_allowed',
  'idempotency_conflict',
  'idempotency_key_reused',
  'insufficient_quota',
  'invalid_json',
  'invalid_request',
  'model_not_allowed',
  'model_not_found',
  'rate_limit_exceeded',
  'request_too_large',
  'server_error',
  'service_unavailable',
  'spend_cap_exceeded',
  'unsupported_media_type',
  'upstream_unavailable',
]

/** The metrics of a model on an upstream. Finding the labels once keeps them off the path of each request. */
interface RouteMetrics {
  readonly upstream: string
  readonly duration: Histogram.Internal<'model' | 'upstream'>
  readonly firstToken: Histogram.Internal<'model' | 'upstream'>
  readonly inputTokens: Counter.Internal
  readonly outputTokens: Counter.Internal
  /** In the platform's currency. */
  readonly charged: readonly Counter.Internal[]
}

export class WorkerMetrics {
  readonly registry = new Registry()
  readonly #currency: string
  readonly #upstreamName: (id: string) => string | undefined
  readonly #routes = new Map<string, RouteMetrics>()
  readonly #requests = this.#counter('sluice_requests_total', 'Requests that had a hold, by outcome', [
    'outcome',
    'stream',
    ...routeLabels,
  ])
  readonly #rejections = this.#counter('sluice_refusals_total', 'Rejected requests, by error code', ['code'])
  readonly #authenticationFailures = this.#counter(
    'sluice_authentication_failures_total',
    'Requests without a valid API key',
    [],
  )
  readonly #rejectedWebhooks = this.#counter(
    'sluice_payment_webhooks_rejected_total',
    'Payment webhooks that were rejected: for their size, after many failed ones, unsigned or forged',
    ['method', 'reason'],
  )
  readonly #tokens = this.#counter('sluice_tokens_total', 'Tokens charged', ['direction', ...routeLabels])
  readonly #charged = this.#counter('sluice_charged_total', 'Money charged for requests', [
    'currency',
    ...routeLabels,
  ])
  /** null: another currency than CNY. */
  readonly #chargedYuan: Counter<(typeof routeLabels)[number]> | null
  readonly #mismatches = this.#counter(
    'sluice_model_mismatches_total',
    'Responses of another model than the route asks for',
    routeLabels,
  )
  readonly #duration = this.#durations(
    'sluice_request_duration_seconds',
    'From receipt to settlement of a request',
  )
  readonly #firstToken = this.#durations(
    'sluice_first_token_seconds',
    'From receipt of a request to the first content of its stream',
  )

  /** `upstreamName`: of an upstream's id; metrics have the names that operators use. */
  constructor(
    { number: worker, currency }: Pick<WorkerInit, 'number' | 'currency'>,
    upstreamName: (id: string) => string | undefined,
  ) {
    this.#currency = currency
    this.#upstreamName = upstreamName
    const yuanHelp = 'Money charged for requests. Use sluice_charged_total: the next release ends this one'
    this.#chargedYuan =
      currency === 'CNY' ? this.#counter('sluice_charged_yuan_total', yuanHelp, routeLabels) : null
    for (const code of rejectionCodes) this.#rejections.inc({ code }, 0)
    registerEventLoopLag(this.registry, `worker-${worker}`)
  }

  count({ outcome, usage, cost, mismatch }: RequestLogLine): void {
    const { model } = outcome
    // A request that ended before it was sent has no upstream.
    const id = outcome.upstream ?? ''
    const route = this.#routes.get(`${model}\n${id}`) ?? this.#createRoute(model, id)
    const { upstream } = route
    this.#requests.inc({ outcome: outcome.outcome, stream: outcome.stream ? '1' : '0', model, upstream })
    if (mismatch) this.#mismatches.inc({ model, upstream })
    route.duration.observe(outcome.durationMs / 1000)
    if (outcome.firstTokenMs !== null) route.firstToken.observe(outcome.firstTokenMs / 1000)
    if (cost === null || !usage) return
    for (const counter of route.charged) counter.inc(Number(cost) / 1e9)
    route.inputTokens.inc(usage.input)
    route.outputTokens.inc(usage.output)
  }

  countRejected(code: ApiErrorCode): void {
    this.#rejections.inc({ code })
  }

  countAuthenticationFailure(): void {
    this.#authenticationFailures.inc()
  }

  countRejectedWebhook(method: string, reason: string): void {
    this.#rejectedWebhooks.inc({ method, reason })
  }

  /** An upstream may have been renamed. */
  onConfigChange(): void {
    this.#routes.clear()
  }

  #counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] })
  }

  #durations(name: string, help: string): Histogram<(typeof routeLabels)[number]> {
    const labelNames = [...routeLabels]
    return new Histogram({ name, help, labelNames, buckets: durationSeconds, registers: [this.registry] })
  }

  #createRoute(model: string, id: string): RouteMetrics {
    const upstream = this.#upstreamName(id) ?? id
    const created = {
      upstream,
      duration: this.#duration.labels(model, upstream),
      firstToken: this.#firstToken.labels(model, upstream),
      inputTokens: this.#tokens.labels('input', model, upstream),
      outputTokens: this.#tokens.labels('output', model, upstream),
      charged: [
        this.#charged.labels(this.#currency, model, upstream),
        ...(this.#chargedYuan ? [this.#chargedYuan.labels(model, upstream)] : []),
      ],
    }
    this.#routes.set(`${model}\n${id}`, created)
    return created
  }
}

/** The memory that request bodies hold, and its limit; `/metrics` sums both over the workers. */
export function registerBodyMemory(registry: Registry, bodies: BodyBudget): void {
  const registers = [registry]
  new Gauge({
    name: 'sluice_request_body_limit_bytes',
    help: 'How much request bodies may hold: BODIES_LIMIT of all workers',
    registers,
  }).set(bodies.limitBytes)
  new Gauge({
    name: 'sluice_request_body_bytes',
    help: 'Memory held by request bodies',
    registers,
    collect() {
      this.set(bodies.heldBytes)
    },
  })
}
