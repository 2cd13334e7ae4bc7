/**
 * The tokens of traffic that was counted before they were: summed from usage's roll-up, an hour at a time, the newest
 * first, between other work. What is left to do stands in the table itself, so that any end and any start are alike.
 */
import type { Statement } from '../../db/messages.ts'
import type { Connection } from '../../db/sqlite/connection.ts'

/** The next hour; null: all are done. */
export const hourWithoutTokens: Statement = {
  sql: 'select max(hour) as hour from traffic_hourly where prompt_tokens is null',
  parameters: [],
}

// A model that has no row of its own in an hour was none yet when its requests were counted.
const sumText = `insert into traffic_hourly
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
const noneText = `update traffic_hourly set prompt_tokens = 0, completion_tokens = 0
where hour = ? and prompt_tokens is null`

/** What gives an hour its tokens, in one transaction with the question for it. */
export function tokensOfHour(hour: number): Statement[] {
  return [sumText, noneText].map((sql) => ({ sql, parameters: [hour] }))
}

/** Gives the next hour its tokens, inside the caller's transaction; false when there is none. */
export function fillTokensStep(connection: Connection): boolean {
  const hour = connection.run(hourWithoutTokens).rows[0]?.['hour']
  if (typeof hour !== 'number') return false
  for (const statement of tokensOfHour(hour)) connection.run(statement)
  return true
}
