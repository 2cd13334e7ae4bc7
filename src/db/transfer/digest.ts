/** What a table holds, as one number: equal for equal rows, whichever database they are read from. */

import { createHash } from 'node:crypto'
import type { Parameter } from '../messages.ts'
import { readPage, type Key, type Read, type TableShape } from './tables.ts'

export interface TableDigest {
  readonly rows: number
  /** SHA-256 of all values of all rows, in the order of their keys; in hex. */
  readonly sha256: string
}

/** A zero byte, for which PostgreSQL has no place, as it is written there. */
function cellOf(value: Parameter | undefined): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return JSON.stringify(value.replaceAll('\0', '\uFFFD'))
  return value instanceof Uint8Array ? `x${Buffer.from(value).toString('hex')}` : String(value)
}

/** Reads a table through. `tell`: how many rows were read with each page. */
export async function digestOf(
  read: Read,
  table: TableShape,
  tell: (rows: number) => void,
): Promise<TableDigest> {
  const hash = createHash('sha256')
  let rows = 0
  for (let after: Key | null = null; ;) {
    const page = await readPage(read, table, after)
    for (const row of page.rows)
      hash.update(`${table.columns.map((column) => cellOf(row[column])).join(',')}\n`)
    rows += page.rows.length
    tell(page.rows.length)
    if (page.key === null) return { rows, sha256: hash.digest('hex') }
    after = page.key
  }
}
