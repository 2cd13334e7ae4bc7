/** `/requests`: the request log with outcomes and costs. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
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
import type { AdminContext } from '../admin-context.ts'
import { idParams, listResponse, money, okResponse, time, timeQuery } from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, parseTime } from '../../api/json-values.ts'

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

const list = createRoute({
  method: 'get',
  path: '/requests',
  summary: 'List requests, newest first',
  request: {
    query: z.strictObject({
      ...pageFields,
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
    }),
  },
  responses: listResponse(requestSchema, 'A page of requests.'),
})
const read = createRoute({
  method: 'get',
  path: '/requests/{id}',
  summary: 'Get a request',
  request: { params: idParams },
  responses: okResponse(requestDetailSchema, 'The request with its bill.'),
})

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

export function requestRoutes({ ctx }: AdminContext): OpenAPIHono {
  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { limit, cursor, day, from, to, request_id: requestId, ...filters } = c.req.valid('query')
    const filter = { ...filters, requestId, ...rangeOf({ day, from, to }) }
    // Without this check, an unknown account would look like one without requests.
    if (filters.account !== undefined) await requireAccount(ctx.db, filters.account)
    const page = { limit, cursor: decodeCursor(cursor, /^\d+\.\d+$/) }
    const { data, next } = await listRequests(ctx.db, filter, page)
    return c.json({ data: await addNames(ctx.db, data), next: encodeCursor(next) }, 200)
  })
  app.openapi(read, async (c) => {
    const { db } = ctx
    const record = await requestById(db, c.req.valid('param').id)
    const [request] = record === undefined ? [] : await addNames(db, [record])
    const row = request && (await requestRowById(db, request.account, request.request_id))
    if (request === undefined || row === undefined)
      throw apiError('not_found', { message: 'Request not found.' })
    const upstreamCost = row.upstream_cost_nanos
    const refunded = await refundedNanos(db, row.request_id)
    const body = {
      ...request,
      error_code: row.error_code,
      failure: findFailure(row),
      upstream_cost: upstreamCost === null ? null : formatAmount(upstreamCost),
      refunded: formatAmount(refunded),
      margin: upstreamCost === null ? null : formatAmount(row.cost_nanos - refunded - upstreamCost),
      bill: await readBill(db, row),
    }
    return c.json(body, 200)
  })
  return app
}
