/**
 * Backfills the tokens of traffic that was counted before tokens were recorded: sums them from the usage roll-up, one hour
 * at a time, newest first, between other work. The remaining hours are found in the table itself, so the backfill can be
 * interrupted at any time.
 */
import type { Statement } from '../../db/statement.ts'
import type { Connection } from '../../db/sqlite/connection.ts'

/** Selects the next hour; null if all are done. */
export const nextHourWithoutTokens: Statement = {
  sql: 'select max(hour) as hour from traffic_hourly where prompt_tokens is null',
  parameters: [],
}

// A model without its own row in an hour did not exist yet when its requests were counted.
const sumTokensSql = `insert into traffic_hourly
  (hour, model, requests, errors, cost_nanos, upstream_cost_nanos, prompt_tokens, completion_tokens)
select hour, name, 0, 0, 0, 0, sum(prompt_tokens), sum(completion_tokens)
from (select hour, prompt_tokens, completion_tokens,
    case when exists (select 1 from traffic_hourly where hour = used.hour and model = used.model)
      then used.model else '' end as name
  from (select hour, model, sum(prompt_tokens) as prompt_tokens, sum(completion_tokens) as completion_tokens
    from usage_hourly where hour = ? group by hour, model) as used) as named
group by hour, name
on conflict (hour, model) do update set
  prompt_tokens = excluded.prompt_tokens,
  completion_tokens = excluded.completion_tokens`
const setZeroTokensSql = `update traffic_hourly set prompt_tokens = 0, completion_tokens = 0
where hour = ? and prompt_tokens is null`

/** Returns the statements that fill in the tokens of an hour; run them in one transaction with the select. */
export function backfillHour(hour: number): Statement[] {
  return [sumTokensSql, setZeroTokensSql].map((sql) => ({ sql, parameters: [hour] }))
}

/** Fills in the tokens of the next hour in the caller's transaction; false if there is none. */
export function backfillTokensStep(connection: Connection): boolean {
  const hour = connection.run(nextHourWithoutTokens).rows[0]?.['hour']
  if (typeof hour !== 'number') return false
  for (const statement of backfillHour(hour)) connection.run(statement)
  return true
}
