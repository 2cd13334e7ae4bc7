/**
 * Roll-ups of request rows, so that statistics never read the rows themselves: usage by hour, and availability beside
 * it. A step is small and moves a cursor in the same transaction: a row is counted exactly once, also across a crash.
 */

import { availabilityTexts } from './availability-rollup.ts'
import { boundedAddition, boundedSum, rowsPerSum } from './money-sums.ts'
import type { Connection } from './sqlite/connection.ts'
import { trafficTexts } from '../usage/rollups/traffic-rollup.ts'

/** About 2 ms of the store thread, so that no commit waits longer behind a step. */
export const rollupStepRows = rowsPerSum

const cursorName = 'usage_hourly'

export const cursorText = `select coalesce(max(position), 0) as position from cursors where name = '${cursorName}'`
const endText =
  'select max(row_id) as last from (select row_id from requests where row_id > ? order by row_id limit ?) as next'

const addText = (rows: string): string => `
insert into usage_hourly
select at - at % 3600000, account_id, key_id, model, count(*),
  sum(case when outcome in ('refused', 'failed', 'truncated') then 1 else 0 end),
  sum(prompt_tokens), sum(completion_tokens),
  ${boundedSum('cost_nanos')}, ${boundedSum('coalesce(upstream_cost_nanos, 0)')}
from ${rows}
group by 1, 2, 3, 4
on conflict (hour, account_id, key_id, model) do update set
  requests = usage_hourly.requests + excluded.requests,
  errors = usage_hourly.errors + excluded.errors,
  prompt_tokens = usage_hourly.prompt_tokens + excluded.prompt_tokens,
  completion_tokens = usage_hourly.completion_tokens + excluded.completion_tokens,
  ${boundedAddition('usage_hourly', 'cost_nanos')},
  ${boundedAddition('usage_hourly', 'upstream_cost_nanos')}
`

/** The rows after one number and up to another. */
export const rowsBetween = 'requests where row_id > ? and row_id <= ?'
const makers = [addText, ...availabilityTexts, ...trafficTexts]

/** Statements of which each counts the rows that are named here in a way of its own. */
export const countingTexts = (rows: string): string[] => makers.map((textOf) => textOf(rows))

/** The same of the rows between two numbers. */
export const countTexts: readonly string[] = countingTexts(`(select * from ${rowsBetween}) as counted`)

export const moveText = `insert into cursors (name, position) values ('${cursorName}', ?)
on conflict (name) do update set position = excluded.position`

/** Counts the next request rows inside the caller's transaction; false when there are none. */
export function rollUpStep(connection: Connection, rows = rollupStepRows): boolean {
  const position = Number(connection.run({ sql: cursorText, parameters: [] }).rows[0]?.['position'])
  const last = connection.run({ sql: endText, parameters: [position, rows] }).rows[0]?.['last']
  if (typeof last !== 'number') return false
  for (const sql of countTexts) connection.run({ sql, parameters: [position, last] })
  connection.run({ sql: moveText, parameters: [last] })
  return true
}
