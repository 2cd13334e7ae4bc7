/** An account's requests: a list in pages, and each request with its bill. */
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
import { wasClamped } from '../../../usage/request-records.ts'
import { decodeCursor, encodeCursor, parseTime, formatTime } from '../../api/json-values.ts'
import { parseFrom } from '../../api/time-spans.ts'
import { readBill } from '../../api/request-bill.ts'
import { usageContract, type RequestRow } from '../contract/usage.ts'
import { findFailure } from '../../api/request-failures.ts'
import { endpoint, type Endpoint, type ConsoleContext } from '../context.ts'

function serializeRequest(row: StoredRequest, names: ReadonlyMap<string, string>): RequestRow {
  return {
    request_id: row.request_id,
    time: formatTime(row.at),
    key: row.key_id,
    key_name: names.get(row.key_id) ?? '',
    model: row.model,
    http_status: row.http_status,
    outcome: row.outcome,
    stream: row.stream === 1,
    finish: row.finish,
    prompt_tokens: row.prompt_tokens,
    cached_tokens: row.cached_tokens,
    cache_write_tokens: row.cache_write_tokens ?? 0,
    completion_tokens: row.completion_tokens,
    reasoning_tokens: row.reasoning_tokens,
    usage_source: row.usage_source,
    cost: formatAmount(row.cost_nanos),
    first_token_ms: row.first_token_ms,
    duration_ms: row.duration_ms,
    error_code: row.error_code,
    count: row.count,
  }
}

type Query = ConsoleContext<typeof usageContract.requests>['query']

function toRequestFilter(
  { id, timezone }: Account,
  query: Omit<Query, 'limit' | 'cursor'>,
): RequestRowFilter {
  return {
    account: id,
    key: query.key,
    model: query.model,
    outcome: query.outcome,
    errors: query.errors === 'true',
    requestId: query.request_id,
    from: parseFrom(query, timezone),
    to: parseTime(query.to),
  }
}

async function listRequests({ ctx, account, query }: ConsoleContext<typeof usageContract.requests>) {
  const { limit, cursor, ...rest } = query
  const page = { limit, cursor: decodeCursor(cursor, /^\d+\.\d+$/) }
  const { rows, next } = await listRequestRows(ctx.db, toRequestFilter(account, rest), page)
  const names = await namesOfKeys(ctx.db, [...new Set(rows.map((row) => row.key_id))])
  return { data: rows.map((row) => serializeRequest(row, names)), next: encodeCursor(next) }
}

async function readRequest(context: ConsoleContext) {
  const { ctx, accountId } = context
  const row = await requestRowById(ctx.db, accountId, context.param('id'))
  if (row === undefined) throw notFound('Request')
  const names = await namesOfKeys(ctx.db, [row.key_id])
  return {
    ...serializeRequest(row, names),
    failure: findFailure(row),
    usage_clamped: wasClamped(row),
    bill: await readBill(ctx.db, row),
  }
}

export const requestEndpoints: readonly Endpoint[] = [
  endpoint(usageContract.requests, listRequests),
  endpoint(usageContract.request, readRequest),
]
