/** What an account used: the overview, sums by time, model and key, latency, and the requests one by one. */
import { z } from 'zod'
import { call, type AnswerOf } from './call.ts'
import { money, outcome, pageFields, pageOf, sums, time, timeIn } from '../../api/json-schemas.ts'

/** `time` is the start of the hour or of the day in the account's zone. */
const point = sums.extend({ time })
/** Spend against a cap: `projected_at` is when it is reached if the rest goes as the last days. */
const capState = z.object({
  cap: money.nullable(),
  spent: money,
  /** 0 to 1 and more; null without a cap. */
  share: z.number().nullable(),
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
  /** For how many days the balance lasts at the pace of the last seven; null: nothing was spent. */
  runway_days: z.number().nullable(),
  /** The last 24 hours by the hour, and the last 30 days. */
  hours: z.array(point),
  days: z.array(point),
  keys: z.object({ active: z.int(), stale: z.int(), unusual: z.int() }),
  /** What a newcomer has done, for the list of first steps. */
  steps: z.object({ has_balance: z.boolean(), has_key: z.boolean(), has_request: z.boolean() }),
  /** A model that is priced, routed and answers; for snippets. null: there is none. */
  example_model: z.string().nullable(),
})

const span = {
  from: timeIn.optional(),
  /** Not included. */
  to: timeIn.optional(),
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
})

/** Where it ended, and who can do something about it. */
export const failure = z.object({
  cause: z.string(),
  stage: z.enum(['request', 'access', 'limits', 'money', 'routing', 'upstream', 'relay', 'caller']),
  who: z.enum(['caller', 'operator', 'provider', 'nobody']),
})

const billLine = z.object({
  kind: z.enum([
    'input',
    'cached_input',
    'cache_write',
    'cache_write_1h',
    'output',
    'reasoning',
    'request',
    'search',
  ]),
  /** Tokens; requests or searches for a fee. */
  count: z.int(),
  /** Per 1,000 tokens; for each, where it is a fee. */
  price: money,
  amount: money,
})
/**
 * The bill, to the last digit: Σ amount = sum, × factor = exact, + rounding = total (rounded up once to a nano),
 * − waived (delivered, and not to be had) = charged = balance before − balance after.
 */
export const bill = z.object({
  lines: z.array(billLine),
  sum: money,
  factor: z.string(),
  exact: money,
  rounding: money,
  total: money,
  waived: money,
  charged: money,
  /** What was set aside at first. */
  hold: money,
  /** null for requests from before balances were kept beside them. */
  balance_before: money.nullable(),
  balance_after: money.nullable(),
  price_version: z.int().nullable(),
})

export const requestFilter = {
  ...span,
  outcome: outcome.optional(),
  /** Only what did not end well: refused, failed, truncated, ended. */
  errors: z.literal('true').optional(),
  request_id: z.string().max(100).optional(),
}

const latency = z.object({
  requests: z.int(),
  first_token_ms: z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable(),
  duration_ms: z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable(),
})

export const usageCalls = {
  overview: call(['GET', '/overview', 'customer'], { answer: overview }),
  /** Points in their order, with empty ones where nothing was asked. Default: the last 30 days. */
  series: call(['GET', '/usage/series', 'customer'], {
    query: z.strictObject({ ...span, step: z.enum(['hour', 'day']).default('day') }),
    answer: z.object({ step: z.enum(['hour', 'day']), data: z.array(point), total: sums }),
  }),
  /** Sums by model or key, dearest first. */
  by: call(['GET', '/usage/by', 'customer'], {
    query: z.strictObject({ ...span, ...pageFields, group: z.enum(['model', 'key']) }),
    answer: pageOf(sums.extend({ id: z.string(), name: z.string() })),
  }),
  /** Of answered requests, by model. */
  latency: call(['GET', '/usage/latency', 'customer'], {
    query: z.strictObject({ from: timeIn.optional(), to: timeIn.optional(), model: z.string().optional() }),
    answer: z.object({ total: latency, models: z.array(latency.extend({ model: z.string() })) }),
  }),
  /** Newest first. A page may be short and `next` still lead on: a page looks at so many rows and no more. */
  requests: call(['GET', '/requests', 'customer'], {
    query: z.strictObject({ ...pageFields, ...requestFilter }),
    answer: pageOf(request),
  }),
  request: call(['GET', '/requests/:id', 'customer'], {
    answer: request.extend({
      failure: failure.nullable(),
      /** The provider claimed more than the model can hold: charged up to that. */
      usage_clamped: z.boolean(),
      bill: bill.nullable(),
    }),
  }),
} as const

/** Not JSON: CSV that streams, with the filter of `/requests`. */
export const requestsCsvPath = '/requests.csv'

export type Overview = AnswerOf<typeof usageCalls.overview>
export type Point = z.infer<typeof point>
export type RequestRow = z.infer<typeof request>
export type RequestDetail = AnswerOf<typeof usageCalls.request>
export type Bill = z.infer<typeof bill>
