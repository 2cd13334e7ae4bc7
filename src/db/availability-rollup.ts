/**
 * How each request counts for availability, and its roll-ups by minute and by day, made in the same step as those of
 * usage. What callers did wrong, what they were refused for money or limits, and answers that they left stand apart.
 */

/** A caller who waited this long for the first word of a stream did not leave on a whim. */
const patienceMs = 30_000

/** Statuses of a failure that are the caller's own; every other is ours, an upstream's 404 for our model's name too. */
const failedText = `case
  when outcome = 'truncated' then 1
  when outcome = 'failed' and http_status not in (400, 413, 422) then 1
  when outcome = 'refused' and http_status >= 500 then 1
  when outcome = 'ended' and error_code = 'service_unavailable' then 1
  when outcome = 'aborted' and http_status = 499 and stream = 1 and duration_ms >= ${patienceMs} then 1
  else 0 end`
const answeredText = `case when outcome = 'ok' then 1 else 0 end`

/** Answered, failed and all the others, for a select over requests that groups them. */
export const availabilitySums = `sum(${answeredText}) as answered, sum(${failedText}) as failed,
  count(*) - sum(${answeredText}) - sum(${failedText}) as apart`
/** When a request counts: at its end, so that a minute which is over does not change. */
export const endOfRequest = '(at + duration_ms)'
/**
 * A caller may write any name for a model, and such names are not counted; those refused unread have none. A `case`, for
 * as a plain condition SQLite looks rows up by their model, all there ever were, where a step names a few by their number.
 */
export const countedModels = `case when model = '' or model in (select id from models) then 1 else 0 end = 1`

const spans = [
  { table: 'availability_minutes', column: 'minute', ms: 60_000 },
  { table: 'availability_days', column: 'day', ms: 86_400_000 },
] as const

const availabilityText =
  ({ table, column, ms }: (typeof spans)[number]) =>
  (rows: string): string =>
    `insert into ${table} (model, ${column}, answered, failed, apart)
select model, ${endOfRequest} - ${endOfRequest} % ${ms}, ${availabilitySums}
from ${rows} where ${countedModels}
group by 1, 2
on conflict (model, ${column}) do update set
  answered = ${table}.answered + excluded.answered,
  failed = ${table}.failed + excluded.failed,
  apart = ${table}.apart + excluded.apart`

/** Each counts the request rows that it is told to select from. */
export const availabilityTexts: readonly ((rows: string) => string)[] = spans.map(availabilityText)

/** Minutes are kept for the open month and some; days for good. */
export const minutesKeptMs = 40 * 86_400_000
/** Few enough for the store thread to be done in a moment. */
const forgottenAtOnce = 5000

/** Removes minutes that nobody asks for any more, a bounded number of them. */
export const forgetMinutes = (before: number) => ({
  sql: `delete from availability_minutes where (model, minute) in
    (select model, minute from availability_minutes where minute < ? order by minute limit ${forgottenAtOnce})`,
  parameters: [before],
})
