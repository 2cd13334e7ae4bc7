/**
 * Roll-ups for the console, updated in the same step as those of usage: traffic by hour and model, a latency histogram
 * by day, and failures by hour with cause and upstream. With them no page has to read the request rows of a month.
 */
import { boundedAdditionSql, boundedSumSql } from '../../db/money-sums.ts'
import { failureCountSql, isFailureSql, isKnownModelSql } from '../../db/request-outcomes.ts'
import { addWithoutCostSql, sumWithoutCostSql } from '../unknown-costs.ts'

/** The upper bounds of the histogram's buckets in milliseconds, each about a quarter above the previous; the last bucket is unbounded. */
export const latencyBucketsMs: readonly number[] = [
  10, 20, 30, 40, 50, 65, 80, 100, 125, 160, 200, 250, 320, 400, 500, 650, 800, 1000, 1250, 1600, 2000, 2500,
  3200, 4000, 5000, 6500, 8000, 10_000, 12_500, 16_000, 20_000, 25_000, 32_000, 40_000, 50_000, 65_000,
  80_000, 100_000, 125_000, 160_000, 200_000, 320_000, 600_000,
]
const dayMs = 86_400_000
const hourMs = 3_600_000

const modelSql = `case when ${isKnownModelSql} then model else '' end`

const trafficSql = (rows: string): string => `insert into traffic_hourly
  (hour, model, requests, errors, cost_nanos, upstream_cost_nanos, prompt_tokens, completion_tokens,
  unpriced_requests)
select at - at % ${hourMs}, ${modelSql}, sum(count),
  sum(${failureCountSql}),
  ${boundedSumSql('cost_nanos')}, ${boundedSumSql('coalesce(upstream_cost_nanos, 0)')},
  sum(prompt_tokens), sum(completion_tokens), ${sumWithoutCostSql}
from ${rows}
group by 1, 2
on conflict (hour, model) do update set
  requests = traffic_hourly.requests + excluded.requests,
  errors = traffic_hourly.errors + excluded.errors,
  ${boundedAdditionSql('traffic_hourly', 'cost_nanos')},
  ${boundedAdditionSql('traffic_hourly', 'upstream_cost_nanos')},
  prompt_tokens = traffic_hourly.prompt_tokens + excluded.prompt_tokens,
  completion_tokens = traffic_hourly.completion_tokens + excluded.completion_tokens,
  ${addWithoutCostSql('traffic_hourly')}`

function bucketSql(column: string): string {
  const buckets = latencyBucketsMs.map((ms, index) => `when ${column} <= ${ms} then ${index}`)
  return `case ${buckets.join(' ')} else ${latencyBucketsMs.length} end`
}

const latencySql =
  (account: string, measure: 'first_token' | 'duration', column: string) =>
  (rows: string): string =>
    `insert into latency_daily
select ${account}, at - at % ${dayMs}, model, '${measure}', ${bucketSql(column)}, sum(count)
from ${rows} where outcome = 'ok' and ${column} is not null
group by 1, 2, 3, 4, 5
on conflict (account_id, day, model, measure, bucket) do update set
  requests = latency_daily.requests + excluded.requests`

/** The error of the last upstream attempt, if there was one; otherwise our own error code. */
const causeSql = `coalesce(fault, case
  when outcome = 'truncated' and error_code is null then 'unknown_finish'
  when outcome = 'truncated' then 'truncated'
  else error_code end, outcome)`

const failuresSql = (rows: string): string => `insert into failures_hourly
select at - at % ${hourMs}, ${causeSql}, coalesce(fault_upstream, upstream_id, ''), ${modelSql}, http_status,
  sum(count), min(at), max(at), max(request_id)
from ${rows} where ${isFailureSql}
group by 1, 2, 3, 4, 5
on conflict (hour, cause, upstream_id, model, http_status) do update set
  requests = failures_hourly.requests + excluded.requests,
  first_at = case when excluded.first_at < failures_hourly.first_at then excluded.first_at else failures_hourly.first_at end,
  last_at = case when excluded.last_at > failures_hourly.last_at then excluded.last_at else failures_hourly.last_at end,
  sample = case when excluded.last_at > failures_hourly.last_at then excluded.sample else failures_hourly.sample end`

/** Each returns the SQL that counts the given request rows. */
export const trafficRollUps: readonly ((rows: string) => string)[] = [
  trafficSql,
  latencySql('account_id', 'first_token', 'first_token_ms'),
  latencySql('account_id', 'duration', 'duration_ms'),
  latencySql(`''`, 'first_token', 'first_token_ms'),
  latencySql(`''`, 'duration', 'duration_ms'),
  failuresSql,
]
