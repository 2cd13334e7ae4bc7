/**
 * Request records, as in the admin API: one row per request, except that many rejected ones may share a row. Operators
 * read everything; a key holder reads the records of their own account, without attempts. Rows are written in the commit
 * that ends a hold (db/journal.ts).
 */
import type { Db } from '../db/db.ts'
import { sql, type RequestsTable } from '../db/schema/schema.ts'
import { parseUnits } from '../providers/request-units.ts'
import { formatAmount } from '../lib/money.ts'
import type { StoredRequest } from './request-pages.ts'

/** The record in the admin API: money as decimal strings, times as RFC 3339. */
export type RequestRecord = ReturnType<typeof requestRecord>

/** One attempt at one upstream. `cost` is what it cost us; null: unknown. */
export interface AttemptRecord {
  /** The upstream's id. */
  readonly upstream: string
  readonly outcome: string
  readonly http_status: number | null
  readonly duration_ms: number
  readonly cost: string | null
  /** It reported more usage than the request or the model allows. */
  readonly clamped?: true
  /** The service tier that served it, if the price had no factor for it: it is billed as the default one. */
  readonly unpriced_tier?: string
  /** The quality and size of an image that had no price, as `image_generation?quality=low&size=800x600`. */
  readonly unpriced_class?: string
  /** Web searches, if there were any. */
  readonly searches?: number
  /** The caller's response has the upstream's name for the model; absent if it is the name that the caller sent. */
  readonly model_exposed?: true
  /** The upstream sent a stream where a whole response was asked for, or JSON where a stream was. */
  readonly responded_with?: 'stream' | 'json'
  /** Why it failed: the upstream's message, or ours; for invalid requests the upstream's error code and field. */
  readonly error?: string
  /** The id under which the upstream knows a failed call. */
  readonly upstream_request_id?: string
}

interface WithAttempts {
  /** As stored in the row. */
  readonly attempts: string
}

/**
 * Customers may know this much about the attempts. The text is searched before it is parsed, because the
 * field is rare.
 */
export function wasClamped({ attempts }: WithAttempts): boolean {
  if (!attempts.includes('"clamped"')) return false
  return (JSON.parse(attempts) as AttemptRecord[]).some(({ clamped }) => clamped === true)
}

/** The service tier of a request; null: nothing was billed. */
export function billedTier({
  service_tier: tier,
  usage_source: source,
  prompt_tokens: input,
}: Pick<RequestsTable, 'service_tier' | 'usage_source' | 'prompt_tokens'>): string | null {
  return tier ?? (source === 'provider' || input > 0 ? 'default' : null)
}

/** Units in a cell of an export: JSON; null: there are none. */
export function unitsCell(units: object): string | null {
  return Object.keys(units).length === 0 ? null : JSON.stringify(units)
}

/** The web searches of a response. */
export function webSearchCount({ attempts }: WithAttempts): number {
  if (!attempts.includes('"searches"')) return 0
  return (JSON.parse(attempts) as AttemptRecord[]).at(-1)?.searches ?? 0
}

/**
 * The upstream's name for the model as far as the caller may know it: the name in the response, unless the route renamed
 * the model at the time.
 */
export function callersModelServed({
  model,
  model_served: served,
  attempts,
}: Pick<StoredRequest, 'model' | 'model_served' | 'attempts'>): string | null {
  if (served === null || served === model) return served
  return (JSON.parse(attempts) as AttemptRecord[]).at(-1)?.model_exposed === true ? served : null
}

/** The request as the admin API shows it; `currency`: the platform's. */
export function requestRecord(row: Omit<RequestsTable, 'row_id'>, currency: string) {
  return {
    request_id: row.request_id,
    time: new Date(row.at).toISOString(),
    account: row.account_id,
    key: row.key_id,
    model: row.model,
    /** The upstream that answered. null: none. */
    upstream: row.upstream_id,
    http_status: row.http_status,
    outcome: row.outcome,
    stream: row.stream === 1,
    /** The finish reason reported by the upstream. */
    finish: row.finish,
    prompt_tokens: row.prompt_tokens,
    cached_tokens: row.cached_tokens,
    completion_tokens: row.completion_tokens,
    reasoning_tokens: row.reasoning_tokens,
    /** Web searches by the provider. */
    searches: webSearchCount(row),
    /** null if nothing was used. */
    usage_source: row.usage_source,
    /** The provider reported more usage than the request or the model allows; charges are limited to that. */
    clamped: wasClamped(row),
    /** As `clamped`. */
    usage_clamped: wasClamped(row),
    cost: formatAmount(row.cost_nanos),
    currency,
    first_token_ms: row.first_token_ms,
    duration_ms: row.duration_ms,
    error_code: row.error_code,
    /** What the upstream says about its response. */
    model_served: row.model_served,
    provider_response_id: row.provider_response_id,
    fingerprint: row.fingerprint,
    /** What it asked for; null: it was rejected before it was known, or written by a release before 0.7. */
    operation: row.operation,
    /** The service tier that it was billed at; null: nothing was billed. */
    service_tier: billedTier(row),
    /** What was billed beside text tokens; what did not occur is left out. */
    units: parseUnits(row.units),
    /** How many rejected requests share the record; 1 in all others. */
    count: row.count,
    attempts: JSON.parse(row.attempts) as AttemptRecord[],
  }
}

/** The row of a request of any account. */
export function findRequest(db: Db, requestId: string): Promise<StoredRequest | undefined> {
  return db.first(sql.selectFrom('requests').selectAll().where('request_id', '=', requestId))
}
