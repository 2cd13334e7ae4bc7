/**
 * Roll-ups of request rows, so that statistics never read the rows themselves: usage by hour, availability and traffic.
 * Each step is small and moves a cursor in the same transaction, so that a row is counted exactly once, even after a crash.
 */

import { availabilityRollUps } from './availability-rollup.ts'
import { backfillTokensStep } from './token-backfill.ts'
import { boundedAdditionSql, boundedSumSql, maxRowsPerSum } from '../../db/money-sums.ts'
import { failureCountSql } from '../../db/request-outcomes.ts'
import { advanceRollUpCursorSql, rollUpCursorSql } from '../../db/rollup-cursor.ts'
import type { Connection } from '../../db/sqlite/connection.ts'
import type { MaintenanceSteps } from '../../db/sqlite/store-writer.ts'
import { addWithoutCostSql, sumWithoutCostSql } from '../unknown-costs.ts'
import { trafficRollUps } from './traffic-rollup.ts'

/** About 2 ms of the store thread, which bounds how long a commit waits for a step. */
export const rollUpStepRows = maxRowsPerSum

const nextEndSql =
  'select max(row_id) as last from (select row_id from requests where row_id > ? order by row_id limit ?) as next'

const usageSql = (rows: string): string => `
insert into usage_hourly
  (hour, account_id, key_id, model, requests, errors, prompt_tokens, completion_tokens, cost_nanos,
  upstream_cost_nanos, unpriced_requests)
select at - at % 3600000, account_id, key_id, model, sum(count),
  sum(${failureCountSql}),
  sum(prompt_tokens), sum(completion_tokens),
  ${boundedSumSql('cost_nanos')}, ${boundedSumSql('coalesce(upstream_cost_nanos, 0)')}, ${sumWithoutCostSql}
from ${rows}
group by 1, 2, 3, 4
on conflict (hour, account_id, key_id, model) do update set
  requests = usage_hourly.requests + excluded.requests,
  errors = usage_hourly.errors + excluded.errors,
  prompt_tokens = usage_hourly.prompt_tokens + excluded.prompt_tokens,
  completion_tokens = usage_hourly.completion_tokens + excluded.completion_tokens,
  ${boundedAdditionSql('usage_hourly', 'cost_nanos')},
  ${boundedAdditionSql('usage_hourly', 'upstream_cost_nanos')},
  ${addWithoutCostSql('usage_hourly')}
`

/** The rows after one row id and up to another. */
export const rowRangeSql = 'requests where row_id > ? and row_id <= ?'
const rollUpStatements = [usageSql, ...availabilityRollUps, ...trafficRollUps]

/** Returns the SQL of all roll-ups over the given rows. */
export const rollUpSqlFor = (rows: string): string[] => rollUpStatements.map((textOf) => textOf(rows))

/** The SQL of all roll-ups over the rows between two row ids. */
export const rollUpSql: readonly string[] = rollUpSqlFor(`(select * from ${rowRangeSql}) as counted`)

/** Counts the next request rows in the caller's transaction; false if there are none. */
export function rollUpStep(connection: Connection, rows = rollUpStepRows): boolean {
  const position = Number(connection.run({ sql: rollUpCursorSql, parameters: [] }).rows[0]?.['position'])
  const last = connection.run({ sql: nextEndSql, parameters: [position, rows] }).rows[0]?.['last']
  if (typeof last !== 'number') return false
  for (const sql of rollUpSql) connection.run({ sql, parameters: [position, last] })
  connection.run({ sql: advanceRollUpCursorSql, parameters: [last] })
  return true
}

/** The store thread of SQLite loads this module and runs these steps. */
export const maintenanceSteps: MaintenanceSteps = {
  rollUp: rollUpStep,
  backfillTokens: backfillTokensStep,
}
