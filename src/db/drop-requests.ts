/**
 * Request rows that nobody wants any more: deleted in the order of their numbers, a few at a time, when the roll-ups
 * have counted them. What their bills had come to is added up in the same transaction, by account, so that the ledger
 * can still be held against the rows that are left.
 */
import type { Row, Statement } from './messages.ts'
import { cursorText } from './rollup.ts'
import type { Connection } from './sqlite/connection.ts'

/** A millisecond of work and a few for the sync of the pages of six indexes, while the store thread does nothing else. */
export const dropStepRows = 100

const cursorName = 'requests_dropped'

/** Up to which number rows are gone. */
export const droppedText = `select coalesce(max(position), 0) as position from cursors where name = '${cursorName}'`

// The last row of all stays, for a table that was emptied would number its rows from 1 again.
const oldestText = `select row_id, at from requests
  where row_id > (${droppedText}) and row_id <= (${cursorText}) and row_id < (select max(row_id) from requests)
  order by row_id limit ?`

const addText = `insert into dropped_bills
select account_id, sum(case when cost_nanos <> 0 then 1 else 0 end), sum(cost_nanos)
from requests where row_id >= ? and row_id <= ?
group by account_id
on conflict (account_id) do update set
  bills = dropped_bills.bills + excluded.bills,
  cost_nanos = dropped_bills.cost_nanos + excluded.cost_nanos`

const moveText = `insert into cursors (name, position) values ('${cursorName}', ?)
on conflict (name) do update set position = excluded.position`

/** Asks for the oldest rows that may go. */
export const oldestRows = (rows: number): Statement => ({ sql: oldestText, parameters: [rows] })

/** What deletes those of the oldest rows that stand before the first one of this moment or later. */
export function dropping(oldest: readonly Row[], before: number): { rows: number; statements: Statement[] } {
  const young = oldest.findIndex((row) => Number(row['at']) >= before)
  const old = young === -1 ? oldest : oldest.slice(0, young)
  if (old.length === 0) return { rows: 0, statements: [] }
  const last = Number(old.at(-1)?.['row_id'])
  const span = [Number(old[0]?.['row_id']), last]
  const statements = [
    { sql: addText, parameters: span },
    { sql: 'delete from requests where row_id >= ? and row_id <= ?', parameters: span },
    { sql: moveText, parameters: [last] },
  ]
  return { rows: old.length, statements }
}

/** Deletes the oldest rows of before this moment, inside the caller's transaction; how many. */
export function dropRequestsStep(connection: Connection, before: number, most = dropStepRows): number {
  const { rows, statements } = dropping(connection.run(oldestRows(most)).rows, before)
  for (const statement of statements) connection.run(statement)
  return rows
}
