/** Digests of tables: equal for equal rows, from either kind of database. */

import { createHash } from 'node:crypto'
import type { Parameter } from '../statement.ts'
import { readPages, type ReadRows, type TableShape } from './tables.ts'

export interface TableDigest {
  readonly rows: number
  /** SHA-256 of all values of all rows in the order of their keys, in hex. */
  readonly sha256: string
}

/** Replaces zero bytes as in PostgreSQL, which cannot store them. */
function encodeCell(value: Parameter | undefined): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return JSON.stringify(value.replaceAll('\0', '\uFFFD'))
  return value instanceof Uint8Array ? `x${Buffer.from(value).toString('hex')}` : String(value)
}

/** Reads a whole table. `onRows`: called with the number of rows of each page. */
export async function digestTable(
  read: ReadRows,
  table: TableShape,
  onRows: (rows: number) => void,
): Promise<TableDigest> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const page of readPages(read, table)) {
    for (const row of page.rows)
      hash.update(`${table.columns.map((column) => encodeCell(row[column])).join(',')}\n`)
    rows += page.rows.length
    onRows(page.rows.length)
  }
  return { rows, sha256: hash.digest('hex') }
}
