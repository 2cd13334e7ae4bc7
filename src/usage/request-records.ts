/**
 * Request records: one row per request, as the automation contract tells it. Operators read all of it; a key holder
 * reads the own account's, without the attempts. Rows are written with the commit that ends a hold (db/journal.ts).
 */
import type { Db } from '../db/db.ts'
import { sql, type Outcome, type RequestsTable } from '../db/schema/schema.ts'
import { decimalOf } from '../lib/money.ts'
import { pageOfRows } from './request-pages.ts'

/** The platform's currency (specification §1), ISO 4217. */
export const currency = 'CNY'

/** The contract's record: money as decimal strings, times RFC 3339. */
export interface RequestRecord {
  readonly request_id: string
  readonly time: string
  readonly account: string
  readonly key: string
  readonly model: string
  /** The upstream that gave the answer; null when none did. */
  readonly upstream: string | null
  readonly http_status: number
  readonly outcome: Outcome
  readonly stream: boolean
  /** The upstream's word. */
  readonly finish: string | null
  readonly prompt_tokens: number
  readonly cached_tokens: number
  readonly completion_tokens: number
  readonly reasoning_tokens: number
  /** Of the web, by the provider. */
  readonly searches: number
  /** null when nothing was used. */
  readonly usage_source: 'provider' | 'estimate' | null
  /** The provider claimed more than the model can hold: charged up to that. */
  readonly usage_clamped: boolean
  readonly cost: string
  readonly currency: string
  readonly first_token_ms: number | null
  readonly duration_ms: number
  readonly attempts: readonly AttemptRecord[]
}

/** One try of one upstream; `cost` is what it cost us, null when unknown. */
export interface AttemptRecord {
  /** Its id. */
  readonly upstream: string
  readonly outcome: string
  readonly http_status: number | null
  readonly duration_ms: number
  readonly cost: string | null
  /** It claimed more usage than the model can hold. */
  readonly clamped?: true
  /** Of the web, where it did any. */
  readonly searches?: number
}

/** What is not named is not asked for. Times in milliseconds since the epoch. */
export interface RequestFilter {
  readonly account?: string
  readonly key?: string
  readonly model?: string
  readonly outcome?: Outcome
  readonly requestId?: string
  /** From this moment on. */
  readonly from?: number
  /** Before this moment. */
  readonly to?: number
}

export interface RequestPage {
  readonly limit: number
  /** `next` of the page before. */
  readonly cursor?: string
}

interface WithAttempts {
  /** As the row keeps them. */
  readonly attempts: string
}

/** What of a row's attempts is everybody's to know; the text is searched first, for it is hardly ever there. */
export function wasClamped({ attempts }: WithAttempts): boolean {
  if (!attempts.includes('"clamped"')) return false
  return (JSON.parse(attempts) as AttemptRecord[]).some(({ clamped }) => clamped === true)
}

/** The searches of the web that an answer took. */
export function searchesOf({ attempts }: WithAttempts): number {
  if (!attempts.includes('"searches"')) return 0
  return (JSON.parse(attempts) as AttemptRecord[]).at(-1)?.searches ?? 0
}

function recordOf(row: Omit<RequestsTable, 'row_id'>): RequestRecord {
  return {
    request_id: row.request_id,
    time: new Date(row.at).toISOString(),
    account: row.account_id,
    key: row.key_id,
    model: row.model,
    upstream: row.upstream_id,
    http_status: row.http_status,
    outcome: row.outcome,
    stream: row.stream === 1,
    finish: row.finish,
    prompt_tokens: row.prompt_tokens,
    cached_tokens: row.cached_tokens,
    completion_tokens: row.completion_tokens,
    reasoning_tokens: row.reasoning_tokens,
    searches: searchesOf(row),
    usage_source: row.usage_source,
    usage_clamped: wasClamped(row),
    cost: decimalOf(row.cost_nanos),
    currency,
    first_token_ms: row.first_token_ms,
    duration_ms: row.duration_ms,
    attempts: JSON.parse(row.attempts) as AttemptRecord[],
  }
}

/** Newest first. A page may be short and still lead on: see pages.ts. */
export async function listRequests(
  db: Db,
  filter: RequestFilter,
  page: RequestPage,
): Promise<{ data: RequestRecord[]; next: string | null }> {
  const { rows, next } = await pageOfRows(db, filter, page)
  return { data: rows.map(recordOf), next }
}

export async function requestById(db: Db, requestId: string): Promise<RequestRecord | undefined> {
  const row = await db.first(sql.selectFrom('requests').selectAll().where('request_id', '=', requestId))
  return row === undefined ? undefined : recordOf(row)
}
