/**
 * Roll-ups for the console, made in the same step as those of usage: traffic by hour and model, latency by day as a
 * ladder of durations, failures by hour with their cause and place. So no page ever reads the requests of a month.
 */
import { countedModels } from '../../db/availability-rollup.ts'
import { boundedAddition, boundedSum } from '../../db/money-sums.ts'

/** The upper ends of the ladder's steps in milliseconds; the last step has none. Each is about a quarter above the last. */
export const latencyLadderMs: readonly number[] = [
  10, 20, 30, 40, 50, 65, 80, 100, 125, 160, 200, 250, 320, 400, 500, 650, 800, 1000, 1250, 1600, 2000, 2500,
  3200, 4000, 5000, 6500, 8000, 10_000, 12_500, 16_000, 20_000, 25_000, 32_000, 40_000, 50_000, 65_000,
  80_000, 100_000, 125_000, 160_000, 200_000, 320_000, 600_000,
]
const dayMs = 86_400_000
const hourMs = 3_600_000

const knownModel = `case when ${countedModels} then model else '' end`

const trafficText = (rows: string): string => `insert into traffic_hourly
  (hour, model, requests, errors, cost_nanos, upstream_cost_nanos, prompt_tokens, completion_tokens)
select at - at % ${hourMs}, ${knownModel}, count(*),
  sum(case when outcome in ('refused', 'failed', 'truncated') then 1 else 0 end),
  ${boundedSum('cost_nanos')}, ${boundedSum('coalesce(upstream_cost_nanos, 0)')},
  sum(prompt_tokens), sum(completion_tokens)
from ${rows}
group by 1, 2
on conflict (hour, model) do update set
  requests = traffic_hourly.requests + excluded.requests,
  errors = traffic_hourly.errors + excluded.errors,
  ${boundedAddition('traffic_hourly', 'cost_nanos')},
  ${boundedAddition('traffic_hourly', 'upstream_cost_nanos')},
  prompt_tokens = traffic_hourly.prompt_tokens + excluded.prompt_tokens,
  completion_tokens = traffic_hourly.completion_tokens + excluded.completion_tokens`

function stepOf(column: string): string {
  const steps = latencyLadderMs.map((ms, index) => `when ${column} <= ${ms} then ${index}`)
  return `case ${steps.join(' ')} else ${latencyLadderMs.length} end`
}

const latencyText =
  (account: string, measure: 'first_token' | 'duration', column: string) =>
  (rows: string): string =>
    `insert into latency_daily
select ${account}, at - at % ${dayMs}, model, '${measure}', ${stepOf(column)}, count(*)
from ${rows} where outcome = 'ok' and ${column} is not null
group by 1, 2, 3, 4, 5
on conflict (account_id, day, model, measure, bucket) do update set
  requests = latency_daily.requests + excluded.requests`

/** The cause as the last attempt tells it, where an upstream was asked; else our own word for the refusal. */
const causeText = `coalesce(fault, case when outcome = 'truncated' then 'truncated' else error_code end, outcome)`

const failuresText = (rows: string): string => `insert into failures_hourly
select at - at % ${hourMs}, ${causeText}, coalesce(fault_upstream, upstream_id, ''), ${knownModel}, http_status,
  count(*), min(at), max(at), max(request_id)
from ${rows} where outcome in ('refused', 'failed', 'truncated', 'ended')
group by 1, 2, 3, 4, 5
on conflict (hour, cause, upstream_id, model, http_status) do update set
  requests = failures_hourly.requests + excluded.requests,
  first_at = case when excluded.first_at < failures_hourly.first_at then excluded.first_at else failures_hourly.first_at end,
  last_at = case when excluded.last_at > failures_hourly.last_at then excluded.last_at else failures_hourly.last_at end,
  sample = case when excluded.last_at > failures_hourly.last_at then excluded.sample else failures_hourly.sample end`

/** Each counts the request rows that it is told to select from. */
export const trafficTexts: readonly ((rows: string) => string)[] = [
  trafficText,
  latencyText('account_id', 'first_token', 'first_token_ms'),
  latencyText('account_id', 'duration', 'duration_ms'),
  latencyText(`''`, 'first_token', 'first_token_ms'),
  latencyText(`''`, 'duration', 'duration_ms'),
  failuresText,
]
