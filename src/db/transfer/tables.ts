/**
 * The tables to transfer between the two kinds of database, ordered so that a referenced row comes before the rows that
 * reference it, and paged reads in the order of their primary keys. The tables are read from the SQLite file; PostgreSQL
 * has the same and a few more, which are derived.
 */

import type { Parameter, Row, Statement } from '../statement.ts'

export type ReadRows = (statement: Statement) => Promise<Row[]>

export interface TableShape {
  readonly name: string
  readonly columns: readonly string[]
  /** The columns of the primary key in order. */
  readonly key: readonly string[]
}

/** Tables of only one kind of database, or of one database: not transferred. */
const excludedTables: ReadonlySet<string> = new Set(['schema_version', 'checkpoints'])

/** Settings of a database itself: where it was moved, and how its data key is stored. */
export const databaseSettings = ['moved_to', 'moved_from', 'data_key_secret', 'data_key_secret_next'] as const

const columnsSql = `select m.name as tab, c.name as col, c.pk as place from sqlite_schema m, pragma_table_info(m.name) c
  where m.type = 'table' and m.name not like 'sqlite_%' order by m.name, c.cid`
const referencesSql = `select distinct m.name as tab, f."table" as other from sqlite_schema m, pragma_foreign_key_list(m.name) f
  where m.type = 'table' and f."table" <> m.name`

/** Lists the tables of a SQLite file, referenced tables first. */
export async function listTables(read: ReadRows): Promise<TableShape[]> {
  const columns = Map.groupBy(await read({ sql: columnsSql, parameters: [] }), (row) => String(row['tab']))
  const references = await read({ sql: referencesSql, parameters: [] })
  const remaining = new Map(
    Array.from(columns, ([name, rows]): [string, TableShape] => {
      const key = rows
        .filter((row) => Number(row['place']) > 0)
        .toSorted((one, other) => Number(one['place']) - Number(other['place']))
      const columnName = (row: Row): string => String(row['col'])
      return [name, { name, columns: rows.map(columnName), key: key.map(columnName) }]
    }).filter(([name]) => !excludedTables.has(name)),
  )
  const ordered: TableShape[] = []
  while (remaining.size > 0) {
    const next = [...remaining.values()].filter(({ name }) =>
      references.every((row) => row['tab'] !== name || !remaining.has(String(row['other']))),
    )
    if (next.length === 0) throw new Error('The foreign keys of the schema form a cycle.')
    ordered.push(...next)
    for (const { name } of next) remaining.delete(name)
  }
  return ordered
}

/** Stored responses, files and commits may be large; a thousand rows of other tables are small. */
const rowsPerPage: Readonly<Record<string, number>> = {
  kept_answers: 20,
  response_items: 20,
  invoice_files: 2,
  journal: 200,
}

const tableCondition = ({ name }: TableShape): string =>
  name === 'settings' ? `name not in (${databaseSettings.map((each) => `'${each}'`).join(', ')})` : '1 = 1'

export type RowKey = readonly Parameter[]

/** Reads a table page by page. `from`: the key of the row before the first page; null: from the first row. */
export async function* readPages(
  read: ReadRows,
  table: TableShape,
  from: RowKey | null = null,
): AsyncGenerator<{ readonly rows: readonly Row[]; readonly key: RowKey }> {
  const { name, key, columns } = table
  const order = key.join(', ')
  for (let after = from; ;) {
    const isAfter = after === null ? '' : ` and (${order}) > (${key.map(() => '?').join(', ')})`
    const rows = await read({
      sql: `select ${columns.join(', ')} from ${name} where ${tableCondition(table)}${isAfter} order by ${order} limit ${rowsPerPage[name] ?? 1000}`,
      parameters: after ?? [],
    })
    const last = rows.at(-1)
    if (last === undefined) return
    after = key.map((column) => last[column] ?? null)
    yield { rows, key: after }
  }
}

/** Counts the rows of all these tables. */
export async function countRows(read: ReadRows, tables: readonly TableShape[]): Promise<number> {
  const counts = tables.map((table) => `(select count(*) from ${table.name} where ${tableCondition(table)})`)
  const [row] = await read({ sql: `select ${['0', ...counts].join(' + ')} as rows`, parameters: [] })
  return Number(row?.['rows'])
}

export function toCells(rows: readonly Row[], columns: readonly string[]): Parameter[][] {
  return rows.map((row) => columns.map((column) => row[column] ?? null))
}
