/**
 * Deletes old request rows in the order of their row ids, a few at a time and only after the roll-ups have counted them.
 * The sums of their bills are recorded by account in the same transaction, so that the ledger can still be verified
 * against the remaining rows.
 */
import type { Db } from '../db.ts'
import { joinSum, splitSumSql } from '../money-sums.ts'
import type { Row, Statement } from '../statement.ts'
import { rollUpCursorSql } from '../rollup-cursor.ts'
import type { Connection } from '../sqlite/connection.ts'

/** One millisecond of work and a few to sync the pages of six indexes, during which the store thread is blocked. */
export const deleteStepRows = 100

const deletedCursorName = 'requests_dropped'

const deletedUpToSql = `select coalesce(max(position), 0) as position from cursors where name = '${deletedCursorName}'`

// The last row stays, because an empty table would assign row ids from 1 again.
const oldestRowsSql = `select row_id, at from requests
  where row_id > (${deletedUpToSql}) and row_id <= (${rollUpCursorSql}) and row_id < (select max(row_id) from requests)
  order by row_id limit ?`

const addDroppedBillsSql = `insert into dropped_bills
select account_id, sum(case when cost_nanos <> 0 then 1 else 0 end), sum(cost_nanos)
from requests where row_id >= ? and row_id <= ?
group by account_id
on conflict (account_id) do update set
  bills = dropped_bills.bills + excluded.bills,
  cost_nanos = dropped_bills.cost_nanos + excluded.cost_nanos`

const advanceCursorSql = `insert into cursors (name, position) values ('${deletedCursorName}', ?)
on conflict (name) do update set position = excluded.position`

/** What was deleted so far: up to which row, how many rows with a cost, and their cost. */
export async function readDeletedRequests(
  db: Db,
): Promise<{ readonly lastRow: number; readonly bills: number; readonly cost: bigint }> {
  const [row] = await db.report<{ last: number; bills: number; sum_units: number; sum_rest_nanos: bigint }>({
    sql: `select (${deletedUpToSql}) as last, coalesce(sum(bills), 0) as bills, ${splitSumSql('cost_nanos', 'sum')}
      from dropped_bills`,
    parameters: [],
  })
  if (row === undefined) return { lastRow: 0, bills: 0, cost: 0n }
  return { lastRow: row.last, bills: row.bills, cost: joinSum(row.sum_units, row.sum_rest_nanos) }
}

/** Selects the oldest rows that may be deleted. */
export const selectOldestRows = (rows: number): Statement => ({ sql: oldestRowsSql, parameters: [rows] })

/** Returns the statements that delete the oldest rows up to the first one from `before` or later. */
export function deleteStatements(
  oldest: readonly Row[],
  before: number,
): { rows: number; statements: Statement[] } {
  const firstKept = oldest.findIndex((row) => Number(row['at']) >= before)
  const expired = firstKept === -1 ? oldest : oldest.slice(0, firstKept)
  if (expired.length === 0) return { rows: 0, statements: [] }
  const last = Number(expired.at(-1)?.['row_id'])
  const range = [Number(expired[0]?.['row_id']), last]
  const statements = [
    { sql: addDroppedBillsSql, parameters: range },
    { sql: 'delete from requests where row_id >= ? and row_id <= ?', parameters: range },
    { sql: advanceCursorSql, parameters: [last] },
  ]
  return { rows: expired.length, statements }
}

/** Deletes the oldest rows from before this time in the caller's transaction, and returns their number. */
export function deleteRequestsStep(connection: Connection, before: number, maxRows = deleteStepRows): number {
  const { rows, statements } = deleteStatements(connection.run(selectOldestRows(maxRows)).rows, before)
  for (const statement of statements) connection.run(statement)
  return rows
}
