/** An account's requests, one by one: in pages, each with its bill, and all of them as CSV. */
import { namesOfKeys } from '../../accounts/keys.ts'
import { refuse } from '../../errors.ts'
import { decimalOf } from '../../lib/money.ts'
import { pageOfRows, rowById, type RowFilter, type StoredRequest } from '../../usage/request-pages.ts'
import { wasClamped } from '../../usage/request-records.ts'
import { msOf, openedCursor, sealedCursor, timeOf } from '../admin/schemas.ts'
import { billOfRow } from '../api/request-bill.ts'
import { usageCalls, type RequestRow } from './contract/usage.ts'
import { placeOfCause } from '../api/request-failures.ts'
import { bound, type Bound, type Visit } from './visit.ts'

export function rowView(row: StoredRequest, names: ReadonlyMap<string, string>): RequestRow {
  return {
    request_id: row.request_id,
    time: timeOf(row.at),
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
    cost: decimalOf(row.cost_nanos),
    first_token_ms: row.first_token_ms,
    duration_ms: row.duration_ms,
    error_code: row.error_code,
  }
}

type Query = Visit<typeof usageCalls.requests>['query']

export function filterOf(account: string, query: Omit<Query, 'limit' | 'cursor'>): RowFilter {
  return {
    account,
    key: query.key,
    model: query.model,
    outcome: query.outcome,
    errors: query.errors === 'true',
    requestId: query.request_id,
    from: msOf(query.from),
    to: msOf(query.to),
  }
}

async function list({ house, accountId, query }: Visit<typeof usageCalls.requests>) {
  const { limit, cursor, ...rest } = query
  const page = { limit, cursor: openedCursor(cursor, /^\d+\.\d+$/) }
  const { rows, next } = await pageOfRows(house.db, filterOf(accountId, rest), page)
  const names = await namesOfKeys(house.db, [...new Set(rows.map((row) => row.key_id))])
  return { data: rows.map((row) => rowView(row, names)), next: sealedCursor(next) }
}

/** What became of it, where it did not end well. The customer is told where, not by whom. */
function failureOf(row: StoredRequest) {
  if (row.outcome === 'ok') return null
  if (row.outcome === 'aborted') return { cause: 'aborted', stage: 'caller' as const, who: 'caller' as const }
  if (row.outcome === 'truncated') return placeOfCause('truncated')
  return placeOfCause(row.fault ?? row.error_code ?? 'server_error')
}

async function detail(visit: Visit) {
  const { house, accountId } = visit
  const row = await rowById(house.db, accountId, visit.param('id'))
  if (row === undefined) throw refuse('not_found', { message: 'There is no such request.' })
  const names = await namesOfKeys(house.db, [row.key_id])
  return {
    ...rowView(row, names),
    failure: failureOf(row),
    usage_clamped: wasClamped(row),
    bill: await billOfRow(house.db, row),
  }
}

export const requestCalls: readonly Bound[] = [
  bound(usageCalls.requests, list),
  bound(usageCalls.request, detail),
]
