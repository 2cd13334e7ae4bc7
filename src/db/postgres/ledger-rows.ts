/** The ledger's rows in PostgreSQL: their columns, and parsing. */

import type { Db } from '../db.ts'
import { ownerColumns } from '../journal.ts'
import type { OwnerRow } from '../ledger-commit.ts'
import { isMoneyColumn } from '../money-columns.ts'
import type { Parameter } from '../statement.ts'
import type { ResultRows } from './pipeline.ts'

/** An owner with the amounts held by all nodes. */
export interface SharedOwnerRow extends OwnerRow {
  readonly held_nanos: bigint
  readonly day_held_nanos: bigint
  readonly month_held_nanos: bigint
  /** JSON of past periods that still have open holds. */
  readonly past: string
}

/** An open hold, or a hold of a retired node; then `charged_nanos` is its charge. */
export interface HoldRow {
  readonly id: string
  readonly node: string
  /** The journal event that would recreate it. */
  readonly body: string
  readonly mark_input: number | null
  readonly mark_output: number | null
  readonly retired_at: number | null
  readonly charged_nanos: bigint | null
  /** The `Idempotency-Key` that it claims while it is open. */
  readonly claim: string | null
}

export const sharedOwnerColumns = [
  ...ownerColumns,
  'held_nanos',
  'day_held_nanos',
  'month_held_nanos',
  'past',
] as const satisfies (keyof SharedOwnerRow)[]

export const holdColumns = [
  'id',
  'node',
  'body',
  'mark_input',
  'mark_output',
  'retired_at',
  'charged_nanos',
  'claim',
] as const satisfies (keyof HoldRow)[]

const textColumns: ReadonlySet<string> = new Set(['id', 'past', 'node', 'body', 'claim', 'ref', 'debit'])

function parseCell(column: string, cell: string | null): Parameter {
  if (cell === null || textColumns.has(column)) return cell
  return isMoneyColumn(column) ? BigInt(cell) : Number(cell)
}

/** Parses rows with these columns in order. */
export function parseRows<Shape>(rows: ResultRows, columns: readonly (keyof Shape & string)[]): Shape[] {
  return rows.map((cells) => {
    const row = Object.fromEntries(
      columns.map((column, at) => [column, parseCell(column, cells[at] ?? null)]),
    )
    // The columns are those of the shape, with the types of the schema.
    return row as Shape
  })
}

/** What the accounts with open holds have left. */
export function readAvailableUnderHolds(
  db: Db,
): Promise<{ readonly account: string; readonly available_nanos: bigint }[]> {
  return db.all({
    sql: `select substr(id, 3) as account, balance_nanos - held_nanos as available_nanos from owners
      where held_nanos > 0 and id like 'a:%'`,
    parameters: [],
  })
}

/** Reads owners without locking them. */
export function readOwnerRows(db: Db, ids: readonly string[]): Promise<SharedOwnerRow[]> {
  return db.all({
    sql: `select ${sharedOwnerColumns.join(', ')} from owners where id in (${ids.map(() => '?').join(', ')})`,
    parameters: ids,
  })
}
