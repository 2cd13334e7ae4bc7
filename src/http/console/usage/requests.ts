/** An account's requests: a list in pages, and each request with its bill. */
import { z } from 'zod'
import type { Account } from '../../../accounts/accounts.ts'
import { namesOfKeys } from '../../../accounts/keys.ts'
import { notFound } from '../../../errors.ts'
import { formatAmount } from '../../../lib/money.ts'
import {
  listRequestRows,
  requestRowById,
  type RequestRowFilter,
  type StoredRequest,
} from '../../../usage/request-pages.ts'
import { parseUnits } from '../../../providers/request-units.ts'
import { billedTier, callersModelServed, unitsCell, wasClamped } from '../../../usage/request-records.ts'
import { money, operation, outcome, time } from '../../api/json-schemas.ts'
import { parseTime, formatTime } from '../../api/json-values.ts'
import { parseFrom } from '../../api/time-spans.ts'
import { bill, readBill, units } from '../../api/request-bill.ts'
import { failure, findFailure } from '../../api/request-failures.ts'
import { currencyColumn, dayColumn } from '../../csv-export.ts'
import { customer } from '../context.ts'
import { timeRange } from './usage.ts'

const requestSchema = z.object({
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
  operation: z.string().nullable(),
  /** The service tier that it was billed at; null: nothing was billed. */
  service_tier: z.string().nullable(),
  units,
  /** The upstream's name for the model; null if the route renames the model, or the upstream does not say. */
  model_served: z.string().nullable(),
  /** The response's id at the provider. */
  provider_response_id: z.string().nullable(),
  /** The version of the provider's system. */
  fingerprint: z.string().nullable(),
  /** How many rejected requests this stands for; 1 for all others. */
  count: z.int(),
})
export type RequestRow = z.infer<typeof requestSchema>

const requestDetail = requestSchema.extend({
  failure: failure.nullable(),
  /** The provider reported more than the request asked for, or than the model can have. The excess is not charged. */
  usage_clamped: z.boolean(),
  bill: bill.nullable(),
})
export type RequestDetail = z.infer<typeof requestDetail>

const filters = {
  ...timeRange,
  outcome: outcome.optional(),
  operation: operation.optional(),
  /** Only unsuccessful requests: rejected, failed, truncated or ended. */
  errors: z.literal('true').optional(),
  request_id: z.string().max(100).optional(),
}

function serializeRequest(row: StoredRequest, names: ReadonlyMap<string, string>) {
  return {
    ...row,
    time: formatTime(row.at),
    key: row.key_id,
    key_name: names.get(row.key_id) ?? '',
    stream: row.stream === 1,
    cache_write_tokens: row.cache_write_tokens ?? 0,
    cost: formatAmount(row.cost_nanos),
    service_tier: billedTier(row),
    units: parseUnits(row.units),
    model_served: callersModelServed(row),
  }
}

function toRequestFilter(
  { id, timezone }: Account,
  query: z.infer<z.ZodObject<typeof filters>>,
): RequestRowFilter {
  return {
    account: id,
    key: query.key,
    model: query.model,
    outcome: query.outcome,
    operation: query.operation,
    errors: query.errors === 'true',
    requestId: query.request_id,
    from: parseFrom(query, timezone),
    to: parseTime(query.to),
  }
}

export const requestEndpoints = {
  /** Newest first. A page may be short although `next` is set, because a page reads a limited number of rows. */
  requests: customer.page('/requests', {
    filters,
    item: requestSchema,
    cursor: /^\d+\.\d+$/,
    csv: [
      'time',
      'request_id',
      'key',
      'key_name',
      'model',
      'outcome',
      'http_status',
      'error_code',
      'stream',
      'finish',
      'prompt_tokens',
      'cached_tokens',
      'cache_write_tokens',
      'completion_tokens',
      'reasoning_tokens',
      'usage_source',
      'cost',
      'first_token_ms',
      'duration_ms',
      'count',
      currencyColumn,
      dayColumn,
      'model_served',
      'provider_response_id',
      'fingerprint',
      'operation',
      'service_tier',
      { name: 'units', valueOf: (request) => unitsCell(request.units) },
    ],
    async handle({ ctx, account, query, page }) {
      const { rows, next } = await listRequestRows(ctx.db, toRequestFilter(account, query), page)
      const names = await namesOfKeys(ctx.db, [...new Set(rows.map((row) => row.key_id))])
      return { data: rows.map((row) => serializeRequest(row, names)), next }
    },
  }),
  request: customer.get('/requests/{id}', {
    response: requestDetail,
    async handle({ ctx, accountId, params }) {
      const row = await requestRowById(ctx.db, accountId, params.id)
      if (row === undefined) throw notFound('Request')
      const names = await namesOfKeys(ctx.db, [row.key_id])
      return {
        ...serializeRequest(row, names),
        failure: findFailure(row),
        usage_clamped: wasClamped(row),
        bill: await readBill(ctx.db, row),
      }
    },
  }),
}
