/** Rows for every table of a schema, of every type and as odd as the schema allows; and the same rows in an earlier schema. */

import type { DatabaseSync } from 'node:sqlite'
import { cellsOf, tablesOf, type Read, type TableShape } from './tables.ts'
import type { Parameter, Row } from '../messages.ts'

/** What has to be made by the rules of the ledger, or says what became of its rows. */
const ledgers: ReadonlySet<string> = new Set(['journal', 'entries', 'owners', 'requests', 'dropped_bills'])

export const readOn =
  (database: DatabaseSync): Read =>
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

interface Column {
  readonly name: string
  readonly type: string
  readonly isNeeded: boolean
  readonly place: number
}

function columnsOf(database: DatabaseSync, table: string): Column[] {
  const rows = database.prepare(`select cid, name, type, "notnull", pk from pragma_table_info(?)`).all(table)
  return rows.map((row) => ({
    name: String(row['name']),
    type: String(row['type']).toLowerCase(),
    isNeeded: row['notnull'] === 1 || Number(row['pk']) > 0,
    place: Number(row['cid']),
  }))
}

/** The first text that the schema allows where it allows but a few. */
function allowedIn(ddl: string, column: string): string | undefined {
  return new RegExp(`check \\(${column} in \\('([^']+)'`, 'i').exec(ddl)?.[1]
}

function valueOf(table: string, { name, type, isNeeded, place }: Column, row: number): Parameter {
  if (!isNeeded && row === 2) return null
  if (type === 'text') return `${table} "${name}" \u{1F9EE}安\\' ${row}`
  if (type === 'blob') return Uint8Array.of(0, row, place, 255)
  return name.endsWith('_nanos') ? 9_007_199_254_740_993n + BigInt(row) : 600_000 + 1000 * row + place
}

/** Two rows for each table that is empty; the second has nothing where nothing is allowed. */
export async function fillTables(database: DatabaseSync): Promise<void> {
  for (const { name: table } of await tablesOf(readOn(database))) {
    const isEmpty = database.prepare(`select 1 from ${table} limit 1`).get() === undefined
    if (!isEmpty || ledgers.has(table)) continue
    const ddl = String(database.prepare('select sql from sqlite_schema where name = ?').get(table)?.['sql'])
    const others = new Map(
      database
        .prepare('select "from", "table", "to" from pragma_foreign_key_list(?)')
        .all(table)
        .map((row) => [String(row['from']), row]),
    )
    const columns = columnsOf(database, table)
    for (const row of [1, 2]) {
      const values = columns.map((column): Parameter => {
        const other = others.get(column.name)
        if (other === undefined) return allowedIn(ddl, column.name) ?? valueOf(table, column, row)
        const to = String(other['to'])
        const found = database
          .prepare(`select "${to}" from ${String(other['table'])} order by 1 limit 1 offset ?`)
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

/** The rows of a database as far as another, of an earlier schema, has tables and columns for them. */
export async function rowsFor(earlier: readonly TableShape[], from: DatabaseSync): Promise<TableRows[]> {
  const read = readOn(from)
  const known = new Map((await tablesOf(read)).map((table) => [table.name, table]))
  const found: TableRows[] = []
  for (const { name, columns } of earlier) {
    const shape = known.get(name)
    if (shape === undefined) throw new Error(`There is no table ${name} any more.`)
    const shared = columns.filter((column) => shape.columns.includes(column))
    const sql = `select ${shared.join(', ')} from ${name} order by ${shape.key.join(', ')}`
    found.push({ name, columns: shared, cells: cellsOf(await read({ sql, parameters: [] }), shared) })
  }
  return found
}
