/** Fills every table of a schema with unusual values of every type, and reads the same rows for an earlier schema. */

import type { DatabaseSync } from 'node:sqlite'
import { toCells, listTables, type ReadRows, type TableShape } from './tables.ts'
import type { Parameter, Row } from '../statement.ts'

/** Tables that follow the rules of the ledger and are not filled here. */
const ledgerTables: ReadonlySet<string> = new Set([
  'journal',
  'entries',
  'owners',
  'requests',
  'dropped_bills',
])

export const createReader =
  (database: DatabaseSync): ReadRows =>
  async ({ sql, parameters }) => {
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    const rows: Row[] = statement.all(...parameters)
    for (const row of rows) {
      for (const [name, value] of Object.entries(row))
        if (typeof value === 'bigint' && !name.endsWith('_nanos')) row[name] = Number(value)
    }
    return rows
  }

interface ColumnInfo {
  readonly name: string
  readonly type: string
  readonly isNeeded: boolean
  readonly place: number
}

function readColumns(database: DatabaseSync, table: string): ColumnInfo[] {
  const rows = database.prepare(`select cid, name, type, "notnull", pk from pragma_table_info(?)`).all(table)
  return rows.map((row) => ({
    name: String(row['name']),
    type: String(row['type']).toLowerCase(),
    isNeeded: row['notnull'] === 1 || Number(row['pk']) > 0,
    place: Number(row['cid']),
  }))
}

/** The first text of a `check … in` constraint, if there is one. */
function firstAllowedText(ddl: string, column: string): string | undefined {
  return new RegExp(`check \\(${column} in \\('([^']+)'`, 'i').exec(ddl)?.[1]
}

function sampleValue(table: string, { name, type, isNeeded, place }: ColumnInfo, row: number): Parameter {
  if (!isNeeded && row === 2) return null
  if (type === 'text') return `${table} "${name}" \u{1F9EE}安\\' ${row}`
  if (type === 'blob') return Uint8Array.of(0, row, place, 255)
  return name.endsWith('_nanos') ? 9_007_199_254_740_993n + BigInt(row) : 600_000 + 1000 * row + place
}

/** Inserts two rows into each empty table; the second has nulls where allowed. */
export async function fillTables(database: DatabaseSync): Promise<void> {
  for (const { name: table } of await listTables(createReader(database))) {
    const isEmpty = database.prepare(`select 1 from ${table} limit 1`).get() === undefined
    if (!isEmpty || ledgerTables.has(table)) continue
    const ddl = String(database.prepare('select sql from sqlite_schema where name = ?').get(table)?.['sql'])
    const foreignKeys = new Map(
      database
        .prepare('select "from", "table", "to" from pragma_foreign_key_list(?)')
        .all(table)
        .map((row) => [String(row['from']), row]),
    )
    const columns = readColumns(database, table)
    for (const row of [1, 2]) {
      const values = columns.map((column): Parameter => {
        const foreignKey = foreignKeys.get(column.name)
        if (foreignKey === undefined)
          return firstAllowedText(ddl, column.name) ?? sampleValue(table, column, row)
        const to = String(foreignKey['to'])
        const found = database
          .prepare(`select "${to}" from ${String(foreignKey['table'])} order by 1 limit 1 offset ?`)
          .get(row - 1)
        return found?.[to] ?? null
      })
      database.prepare(`insert into ${table} values (${columns.map(() => '?').join(', ')})`).run(...values)
    }
  }
}

export interface TableRows {
  readonly name: string
  readonly columns: readonly string[]
  readonly cells: readonly (readonly Parameter[])[]
}

/** Reads the rows of a database in the tables and columns of an earlier schema. */
export async function readRowsForSchema(
  earlier: readonly TableShape[],
  from: DatabaseSync,
): Promise<TableRows[]> {
  const read = createReader(from)
  const known = new Map((await listTables(read)).map((table) => [table.name, table]))
  const found: TableRows[] = []
  for (const { name, columns } of earlier) {
    const shape = known.get(name)
    if (shape === undefined) throw new Error(`Table ${name} no longer exists.`)
    const shared = columns.filter((column) => shape.columns.includes(column))
    const sql = `select ${shared.join(', ')} from ${name} order by ${shape.key.join(', ')}`
    found.push({ name, columns: shared, cells: toCells(await read({ sql, parameters: [] }), shared) })
  }
  return found
}
