/** The columns of the ledger's rows, and how what the database says of them is read. */

import { ownerColumns } from '../journal.ts'
import type { OwnerRow, Parameter } from '../messages.ts'
import type { FlownRows } from './pipeline.ts'

/** An owner with what is held of it by all nodes. */
export interface SharedOwnerRow extends OwnerRow {
  readonly held_nanos: bigint
  readonly day_held_nanos: bigint
  readonly month_held_nanos: bigint
  /** JSON of the periods that are over while holds of theirs are open. */
  readonly past: string
}

/** An open hold, or one whose node was retired: then `charged_nanos` is what it was charged. */
export interface HoldRow {
  readonly id: string
  readonly node: string
  /** The event that would make it again, as the journal has events. */
  readonly body: string
  readonly mark_input: number | null
  readonly mark_output: number | null
  readonly retired_at: number | null
  readonly charged_nanos: bigint | null
  /** The `Idempotency-Key` that nobody else may use while it is open. */
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

const texts: ReadonlySet<string> = new Set(['id', 'past', 'node', 'body', 'claim', 'ref', 'debit'])

function valueOf(column: string, cell: string | null): Parameter {
  if (cell === null || texts.has(column)) return cell
  return column.endsWith('_nanos') ? BigInt(cell) : Number(cell)
}

/** Rows of these columns, in their order, as the schema says what they are. */
export function rowsAs<Shape>(rows: FlownRows, columns: readonly (keyof Shape & string)[]): Shape[] {
  return rows.map((cells) => {
    const row = Object.fromEntries(columns.map((column, at) => [column, valueOf(column, cells[at] ?? null)]))
    // The columns asked for are those of the shape, and the schema says what they are.
    return row as Shape
  })
}
