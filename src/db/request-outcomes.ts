/**
 * How a request row counts, as many times as the requests it stands for. These are the definitions behind every number of
 * the console:
 * - Requests: all that were received, whatever became of them.
 * - Failed requests: rejected, failed, truncated, or ended by the relay, regardless of the cause. Aborted by the client is neither
 *   failed nor answered.
 * - Success rate: answered ÷ (answered + failed by our fault). Client errors, requests rejected for balance or rate limits,
 *   and responses that the client abandoned are `apart`: they affect neither side.
 */

/** Whether a request counts as failed, regardless of the cause. */
export const isFailureSql = `outcome in ('refused', 'failed', 'truncated', 'ended')`
/** The requests of a row that count as failed. */
export const failureCountSql = `case when ${isFailureSql} then count else 0 end`

/** A client that disconnects from a stream after this long without a token counts as a failure of ours. */
const slowFirstTokenMs = 30_000

/**
 * Failures with status 400, 413 or 422 are client errors; all others are ours, including an upstream's 404 for our model name.
 * A truncated response without an error is complete, but ended with a reason that its provider does not document.
 */
const failedSql = `case
  when outcome = 'truncated' and error_code is not null then count
  when outcome = 'failed' and http_status not in (400, 413, 422) then count
  when outcome = 'refused' and http_status >= 500 then count
  when outcome = 'ended' and error_code = 'service_unavailable' then count
  when outcome = 'aborted' and http_status = 499 and stream = 1 and duration_ms >= ${slowFirstTokenMs} then count
  else 0 end`
const answeredSql = `case when outcome = 'ok' then count else 0 end`

/** Sums of answered, failed and other requests, for a grouped select over request rows. */
export const availabilitySumsSql = `sum(${answeredSql}) as answered, sum(${failedSql}) as failed,
  sum(count) - sum(${answeredSql}) - sum(${failedSql}) as apart`
/** A request counts at its end, so that a past minute does not change. */
export const requestEndSql = '(at + duration_ms)'
/**
 * Clients may send any model name, so unknown names are not counted; requests rejected before parsing have none. The
 * condition is a `case`, because with a plain condition SQLite would look up all rows of a model by index instead of the
 * few rows of a step by their row ids.
 */
export const isKnownModelSql = `case when model = '' or model in (select id from models) then 1 else 0 end = 1`
