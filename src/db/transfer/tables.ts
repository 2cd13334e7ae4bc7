/**
 * Carrying everything from one kind of database to the other: which tables there are, in an order in which no row comes
 * before one that it points to, and how their rows are read in pages, in the order of their keys. SQLite's file says
 * what there is; PostgreSQL has the same and a little more, which is made from it.
 */

import type { Parameter, Row, Statement } from '../messages.ts'

export type Read = (statement: Statement) => Promise<Row[]>

export interface TableShape {
  readonly name: string
  readonly columns: readonly string[]
  /** Of the primary key, in its order: rows go by it. */
  readonly key: readonly string[]
}

/** What is of one kind of database alone, or of one database: not carried over. */
const left: ReadonlySet<string> = new Set(['schema_version', 'checkpoints'])

/** Settings that say what became of a database, and how its key is kept: each has its own. */
export const ownSettings = ['moved_to', 'moved_from', 'data_key_secret'] as const

const columnsText = `select m.name as tab, c.name as col, c.pk as place from sqlite_schema m, pragma_table_info(m.name) c
  where m.type = 'table' and m.name not like 'sqlite_%' order by m.name, c.cid`
const referencesText = `select distinct m.name as tab, f."table" as other from sqlite_schema m, pragma_foreign_key_list(m.name) f
  where m.type = 'table' and f."table" <> m.name`

/** The tables of a SQLite file, those first that others point to. */
export async function tablesOf(read: Read): Promise<TableShape[]> {
  const columns = Map.groupBy(await read({ sql: columnsText, parameters: [] }), (row) => String(row['tab']))
  const references = await read({ sql: referencesText, parameters: [] })
  const waiting = new Map(
    Array.from(columns, ([name, rows]): [string, TableShape] => {
      const key = rows
        .filter((row) => Number(row['place']) > 0)
        .toSorted((one, other) => Number(one['place']) - Number(other['place']))
      const named = (row: Row): string => String(row['col'])
      return [name, { name, columns: rows.map(named), key: key.map(named) }]
    }).filter(([name]) => !left.has(name)),
  )
  const ordered: TableShape[] = []
  while (waiting.size > 0) {
    const next = [...waiting.values()].filter(({ name }) =>
      references.every((row) => row['tab'] !== name || !waiting.has(String(row['other']))),
    )
    if (next.length === 0) throw new Error('The tables of the schema point to each other in a circle.')
    ordered.push(...next)
    for (const { name } of next) waiting.delete(name)
  }
  return ordered
}

/** Rows of answers and commits may be large; of all others a thousand are little. */
const rowsAtOnce: Readonly<Record<string, number>> = { kept_answers: 20, journal: 200 }

export const conditionOf = ({ name }: TableShape): string =>
  name === 'settings' ? `name not in (${ownSettings.map((each) => `'${each}'`).join(', ')})` : '1 = 1'

export type Key = readonly Parameter[]

export interface Page {
  readonly rows: readonly Row[]
  /** Of the last row; null at the end. */
  readonly key: Key | null
}

/** The next rows after this key; null: from the first on. `columns`: what to select, if not every column. */
export async function readPage(
  read: Read,
  table: TableShape,
  after: Key | null,
  columns: readonly string[] = table.columns,
): Promise<Page> {
  const { name, key } = table
  const most = rowsAtOnce[name] ?? 1000
  const marks = key.map(() => '?').join(', ')
  const isAfter = after === null ? '' : ` and (${key.join(', ')}) > (${marks})`
  const rows = await read({
    sql: `select ${columns.join(', ')} from ${name} where ${conditionOf(table)}${isAfter} order by ${key.join(', ')} limit ${most}`,
    parameters: after ?? [],
  })
  const last = rows.at(-1)
  return { rows, key: last === undefined ? null : key.map((column) => last[column] ?? null) }
}

/** How many rows each of the tables has. */
export async function countRows(read: Read, tables: readonly TableShape[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) {
    const [row] = await read({
      sql: `select count(*) as rows from ${table.name} where ${conditionOf(table)}`,
      parameters: [],
    })
    counts.set(table.name, Number(row?.['rows']))
  }
  return counts
}

export function cellsOf(rows: readonly Row[], columns: readonly string[]): Parameter[][] {
  return rows.map((row) => columns.map((column) => row[column] ?? null))
}
