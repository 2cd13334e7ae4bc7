/** `/requests`: the request log with outcomes and costs. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { formatOptionalAmount, parseTime } from '../../api/json-values.ts'
import { findRequest, requestRecord, unitsCell } from '../../../usage/request-records.ts'
import { emailsOfAccounts } from '../../../accounts/accounts.ts'
import { namesOfKeys } from '../../../accounts/keys.ts'
import { apiError } from '../../../errors.ts'
import { refundedNanos } from '../../../ledger/credits/refunds.ts'
import { formatAmount } from '../../../lib/money.ts'
import { listRequestRows, type StoredRequest } from '../../../usage/request-pages.ts'
import type { AppContext } from '../../app-context.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { readBill, bill, units } from '../../api/request-bill.ts'
import { operation as operationName } from '../../api/json-schemas.ts'
import { failure, findFailure } from '../../api/request-failures.ts'
import { money, time, timeQuery } from '../schemas.ts'

export const outcome = z.enum(['ok', 'refused', 'failed', 'truncated', 'aborted', 'ended'])
const attempt = z.object({
  upstream: z.string(),
  outcome: z.string(),
  http_status: z.int().nullable(),
  duration_ms: z.number(),
  cost: money.nullable().meta({ description: 'The cost at the upstream; null if it is unknown.' }),
  searches: z.int().optional(),
  clamped: z
    .literal(true)
    .optional()
    .meta({ description: 'The reported usage exceeded the request, or what the model can have.' }),
  unpriced_tier: z.string().optional().meta({
    description:
      'The service tier that the upstream used, for which the price has no factor: it was billed as the default tier.',
  }),
  unpriced_class: z.string().optional().meta({
    description:
      'An image that the upstream made and that no class of the price matches, such as `image_generation?quality=low&size=800x600`: it was billed as the dearest that the request could cause.',
  }),
  model_exposed: z.literal(true).optional().meta({
    description:
      "The caller's response has the upstream's name for the model, which is not the one they sent.",
  }),
  responded_with: z.enum(['stream', 'json']).optional().meta({
    description:
      'The upstream sent a stream where none was asked for, or JSON where a stream was; the caller got what they asked for.',
  }),
  error: z.string().optional().meta({
    description:
      "Why the attempt failed: the upstream's message, at most 300 characters without secrets. Only its error code and the field if it rejects the request as invalid; absent if the message repeats the request.",
  }),
  upstream_request_id: z.string().optional().meta({
    description: "Of a failed attempt, from the upstream's response headers; for tickets with the provider.",
  }),
})
export const requestSchema = z
  .object({
    request_id: z.string(),
    time,
    account: z.string(),
    account_email: z.string(),
    key: z.string(),
    key_name: z.string(),
    model: z.string(),
    upstream: z.string().nullable(),
    http_status: z.int(),
    outcome: outcome.meta({
      description: '`ended`: by the relay, because of balance or time; `aborted`: by the caller.',
    }),
    stream: z.boolean(),
    finish: z.string().nullable().meta({ description: 'The finish reason as the upstream reported it.' }),
    prompt_tokens: z.int(),
    cached_tokens: z.int(),
    completion_tokens: z.int(),
    reasoning_tokens: z.int(),
    searches: z.int().meta({ description: 'Web searches by the provider.' }),
    usage_source: z.enum(['provider', 'estimate']).nullable(),
    clamped: z.boolean().meta({
      description:
        'The provider reported more than the request asked for, or than the model can have. The excess is not charged.',
    }),
    usage_clamped: z.boolean().meta({ description: 'As `clamped`.' }),
    cost: money,
    currency: z.string(),
    first_token_ms: z.number().nullable(),
    duration_ms: z.number(),
    error_code: z
      .string()
      .nullable()
      .meta({ description: 'The code of the error that the caller received.' }),
    failure: failure.nullable().meta({
      description:
        'Why the request failed, at which stage, and whose it is to act: `relay` means its operator.',
    }),
    operation: z.string().nullable().meta({
      description: 'What was requested, as `chat` or `messages`; null if it was rejected.',
    }),
    service_tier: z.string().nullable().meta({
      description: 'The service tier that it was billed at; null if nothing was billed.',
    }),
    units,
    model_served: z.string().nullable().meta({
      description: "The upstream's name for the model in its response; null if it does not say.",
    }),
    provider_response_id: z.string().nullable().meta({
      description:
        "The response's id at the provider, or the request id of its headers; for tickets with the provider.",
    }),
    fingerprint: z.string().nullable().meta({
      description: "The version of the provider's system: `system_fingerprint` in its response.",
    }),
    count: z.int().meta({
      description:
        'How many rejected requests this stands for: beyond 60 a minute, those of a key with the same error share one record. 1 for all others.',
    }),
    attempts: z.array(attempt).readonly(),
  })
  .openapi('Request')

export const requestDetailSchema = requestSchema
  .extend({
    upstream_cost: money
      .nullable()
      .meta({ description: 'The upstream cost of all attempts; null if it is unknown.' }),
    refunded: money,
    margin: money.nullable().meta({ description: 'Cost minus refunds minus upstream cost.' }),
    bill: bill.nullable().meta({ description: 'Line by line; null if nothing was charged.' }),
  })
  .openapi('RequestDetail')

interface RangeQuery {
  readonly day?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Throws 400 if the query has both a day and a range. */
function rangeOf({ day, from, to }: RangeQuery): { from?: number | undefined; to?: number | undefined } {
  if (day === undefined) return { from: parseTime(from), to: parseTime(to) }
  if (from === undefined && to === undefined)
    return { from: Date.parse(day), to: Date.parse(day) + 24 * hourMs }
  const message = 'Invalid `day`: cannot be combined with `from` or `to`.'
  throw apiError('invalid_request', { param: 'day', message })
}

/** The requests, with what people know accounts and keys by. */
async function serializeRequests(
  { db, currency }: AppContext,
  rows: readonly StoredRequest[],
): Promise<z.infer<typeof requestSchema>[]> {
  const [emails, names] = await Promise.all([
    emailsOfAccounts(db, [...new Set(rows.map((row) => row.account_id))]),
    namesOfKeys(db, [...new Set(rows.map((row) => row.key_id))]),
  ])
  return rows.map((row) => ({
    ...requestRecord(row, currency),
    failure: findFailure(row),
    account_email: emails.get(row.account_id) ?? '',
    key_name: names.get(row.key_id) ?? '',
  }))
}

export const requestEndpoints = [
  admin.page('/requests', {
    summary: 'List requests, newest first',
    item: requestSchema,
    returns: 'A page of requests.',
    filters: {
      account: z.string().optional(),
      key: z.string().optional(),
      model: z.string().optional(),
      outcome: outcome.optional(),
      operation: operationName.optional().meta({ description: 'What was requested.' }),
      day: z.iso
        .date({ error: 'must be a date such as "2026-11-21"' })
        .optional()
        .meta({ description: 'A day in UTC, instead of `from` and `to`.', example: '2026-11-21' }),
      from: timeQuery.optional(),
      to: timeQuery.optional().meta({ description: 'Exclusive.' }),
      request_id: z.string().optional(),
    },
    cursor: /^\d+\.\d+$/,
    csv: [
      'time',
      'request_id',
      'account',
      'key',
      'model',
      'upstream',
      'outcome',
      'http_status',
      'stream',
      'finish',
      'prompt_tokens',
      'cached_tokens',
      'completion_tokens',
      'reasoning_tokens',
      'usage_source',
      'cost',
      'currency',
      'first_token_ms',
      'duration_ms',
      'count',
      { name: 'attempts', valueOf: ({ attempts }) => attempts.length },
      'account_email',
      'key_name',
      'error_code',
      { name: 'failure', valueOf: (request) => request.failure?.cause ?? null },
      'clamped',
      'model_served',
      'provider_response_id',
      'fingerprint',
      'operation',
      'service_tier',
      { name: 'units', valueOf: (request) => unitsCell(request.units) },
    ],
    async handle({ ctx, query, page }) {
      const { db } = ctx
      const { account, key, model, outcome: ended, operation, request_id: requestId } = query
      const filter = { account, key, model, outcome: ended, operation, requestId, ...rangeOf(query) }
      // Without this check, an unknown account would look like one without requests.
      if (account !== undefined) await requireAccount(db, account)
      const { rows, next } = await listRequestRows(db, filter, page)
      return { data: await serializeRequests(ctx, rows), next }
    },
  }),
  admin.get('/requests/{id}', {
    summary: 'Get a request',
    response: requestDetailSchema,
    returns: 'The request with its bill.',
    async handle({ ctx, params }) {
      const { db } = ctx
      const row = await findRequest(db, params.id)
      const [request] = row === undefined ? [] : await serializeRequests(ctx, [row])
      if (row === undefined || request === undefined)
        throw apiError('not_found', { message: 'Request not found.' })
      const upstreamCost = row.upstream_cost_nanos
      const refunded = await refundedNanos(db, row.request_id)
      return {
        ...request,
        upstream_cost: formatOptionalAmount(upstreamCost),
        refunded: formatAmount(refunded),
        margin: upstreamCost === null ? null : formatAmount(row.cost_nanos - refunded - upstreamCost),
        bill: await readBill(db, row),
      }
    },
  }),
]
