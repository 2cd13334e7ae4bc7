/** Contract of an account's usage: overview, sums by time, model and key, latency, and single requests. */
import { z } from 'zod'
import { defineEndpoint, type ResponseOf } from './endpoint.ts'
import { openIncident } from '../../api/open-incidents.ts'
import { bill } from '../../api/request-bill.ts'
import { failure } from '../../api/request-failures.ts'
import { spanInput } from '../../api/time-spans.ts'
import { money, outcome, pageFields, pageOf, sums, time, timeInput } from '../../api/json-schemas.ts'

/** `time` is the start of the hour or day in the account's time zone. */
const point = sums.extend({ time })
/** Spend against a cap. `projected_at` is when it will be reached at the average rate of the last days. */
const capState = z.object({
  cap: money.nullable(),
  spent: money,
  /** 0 to 1, or above 1 if exceeded; null without a cap. */
  share: z.number().nullable(),
  /** Requests are rejected until `resets_at`. */
  reached: z.boolean(),
  resets_at: time,
  projected_at: time.nullable(),
})

const overview = z.object({
  currency: z.string(),
  balance: money,
  held: money,
  available: money,
  today: sums,
  month: sums,
  caps: z.object({ daily: capState, monthly: capState }),
  /** Open public incidents. */
  incidents: z.array(openIncident),
  /** Whether there is a status page. */
  status_page: z.boolean(),
  /** Days until the balance is used up at the average rate of the last seven days; null: nothing was spent. */
  runway_days: z.number().nullable(),
  /** The spans `24h` by hour and `30d` by day. */
  hours: z.array(point),
  days: z.array(point),
  keys: z.object({ active: z.int(), stale: z.int(), unusual: z.int() }),
  /** Progress of the first steps. */
  steps: z.object({ has_balance: z.boolean(), has_key: z.boolean(), has_request: z.boolean() }),
  /** A model that is priced and served, for code examples; null: none. */
  example_model: z.string().nullable(),
})

const timeRange = {
  from: timeInput.optional(),
  /** Instead of `from`; days are those of the account. */
  span: spanInput.optional(),
  /** Exclusive. */
  to: timeInput.optional(),
  key: z.string().max(100).optional(),
  model: z.string().max(300).optional(),
}

export const request = z.object({
  request_id: z.string(),
  time,
  key: z.string(),
  key_name: z.string(),
  model: z.string(),
  http_status: z.int(),
  outcome,
  stream: z.boolean(),
  finish: z.string().nullable(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  cache_write_tokens: z.int(),
  completion_tokens: z.int(),
  reasoning_tokens: z.int(),
  usage_source: z.enum(['provider', 'estimate']).nullable(),
  cost: money,
  first_token_ms: z.number().nullable(),
  duration_ms: z.number(),
  error_code: z.string().nullable(),
  /** How many rejected requests this stands for; 1 for all others. */
  count: z.int(),
})

const latency = z.object({
  requests: z.int(),
  first_token_ms: z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable(),
  duration_ms: z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable(),
})

export const usageContract = {
  overview: defineEndpoint(['GET', '/overview', 'customer'], { response: overview }),
  /** Points in order of time, including empty ones. Default: the last 30 days. */
  series: defineEndpoint(['GET', '/usage/series', 'customer'], {
    query: z.strictObject({ ...timeRange, step: z.enum(['hour', 'day']).default('day') }),
    response: z.object({ step: z.enum(['hour', 'day']), data: z.array(point), total: sums }),
  }),
  /** Sums by model or key, highest cost first. */
  breakdown: defineEndpoint(['GET', '/usage/by', 'customer'], {
    query: z.strictObject({ ...timeRange, ...pageFields, group: z.enum(['model', 'key']) }),
    response: pageOf(sums.extend({ id: z.string(), name: z.string() })),
  }),
  /** Latency of answered requests, by model. */
  latency: defineEndpoint(['GET', '/usage/latency', 'customer'], {
    query: z.strictObject({
      from: timeInput.optional(),
      to: timeInput.optional(),
      model: z.string().optional(),
    }),
    response: z.object({ total: latency, models: z.array(latency.extend({ model: z.string() })) }),
  }),
  /** Newest first. A page may be short although `next` is set, because a page reads a limited number of rows. */
  requests: defineEndpoint(['GET', '/requests', 'customer'], {
    query: z.strictObject({
      ...pageFields,
      ...timeRange,
      outcome: outcome.optional(),
      /** Only unsuccessful requests: rejected, failed, truncated or ended. */
      errors: z.literal('true').optional(),
      request_id: z.string().max(100).optional(),
    }),
    response: pageOf(request),
  }),
  request: defineEndpoint(['GET', '/requests/:id', 'customer'], {
    response: request.extend({
      failure: failure.nullable(),
      /** The provider reported more tokens than the context of the model; charged up to the context. */
      usage_clamped: z.boolean(),
      bill: bill.nullable(),
    }),
  }),
} as const

export type Overview = ResponseOf<typeof usageContract.overview>
export type Point = z.infer<typeof point>
export type RequestRow = z.infer<typeof request>
export type RequestDetail = ResponseOf<typeof usageContract.request>
