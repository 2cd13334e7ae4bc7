/** `/requests`: the request log with outcomes and costs. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { formatOptionalAmount, parseTime } from '../../api/json-values.ts'
import { listRequests, requestById, type RequestRecord } from '../../../usage/request-records.ts'
import { emailsOfAccounts } from '../../../accounts/accounts.ts'
import { namesOfKeys } from '../../../accounts/keys.ts'
import type { Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import { refundedNanos } from '../../../ledger/credits/refunds.ts'
import { formatAmount } from '../../../lib/money.ts'
import { requestRowById } from '../../../usage/request-pages.ts'
import { hourMs } from '../../api/time-buckets.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { readBill, bill } from '../../api/request-bill.ts'
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
    .meta({ description: 'The reported usage exceeded the context of the model.' }),
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
    usage_clamped: z.boolean().meta({
      description:
        'The provider reported more tokens than the context of the model; charged up to the context.',
    }),
    cost: money,
    currency: z.string(),
    first_token_ms: z.number().nullable(),
    duration_ms: z.number(),
    count: z.int().meta({
      description:
        'How many rejected requests this stands for: beyond 60 a minute, those of a key with the same error share one record. 1 for all others.',
    }),
    attempts: z.array(attempt).readonly(),
  })
  .openapi('Request')

export const requestDetailSchema = requestSchema
  .extend({
    error_code: z
      .string()
      .nullable()
      .meta({ description: 'The code of the error that the caller received.' }),
    failure: failure.nullable().meta({
      description:
        'Why the request failed, at which stage, and whose it is to act: `relay` means its operator.',
    }),
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

/** Adds what people know accounts and keys by. */
async function addNames(db: Db, records: readonly RequestRecord[]): Promise<z.infer<typeof requestSchema>[]> {
  const [emails, names] = await Promise.all([
    emailsOfAccounts(db, [...new Set(records.map(({ account }) => account))]),
    namesOfKeys(db, [...new Set(records.map(({ key }) => key))]),
  ])
  return records.map((record) => ({
    ...record,
    account_email: emails.get(record.account) ?? '',
    key_name: names.get(record.key) ?? '',
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
    ],
    async handle({ ctx: { db }, query, page }) {
      const { account, key, model, outcome: ended, request_id: requestId } = query
      const filter = { account, key, model, outcome: ended, requestId, ...rangeOf(query) }
      // Without this check, an unknown account would look like one without requests.
      if (account !== undefined) await requireAccount(db, account)
      const { data, next } = await listRequests(db, filter, page)
      return { data: await addNames(db, data), next }
    },
  }),
  admin.get('/requests/{id}', {
    summary: 'Get a request',
    response: requestDetailSchema,
    returns: 'The request with its bill.',
    async handle({ ctx: { db }, params }) {
      const record = await requestById(db, params.id)
      const [request] = record === undefined ? [] : await addNames(db, [record])
      const row = request && (await requestRowById(db, request.account, request.request_id))
      if (request === undefined || row === undefined)
        throw apiError('not_found', { message: 'Request not found.' })
      const upstreamCost = row.upstream_cost_nanos
      const refunded = await refundedNanos(db, row.request_id)
      return {
        ...request,
        error_code: row.error_code,
        failure: findFailure(row),
        upstream_cost: formatOptionalAmount(upstreamCost),
        refunded: formatAmount(refunded),
        margin: upstreamCost === null ? null : formatAmount(row.cost_nanos - refunded - upstreamCost),
        bill: await readBill(db, row),
      }
    },
  }),
]
