/**
 * One moment of a PostgreSQL as a SQLite file of one relay: the same rows, but for what is each one's own. The chains of
 * the nodes become one, in the order of their commits, and entries are numbered in that order.
 */

import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Db } from '../db.ts'
import { chainHash, chainStart } from '../journal.ts'
import { migrate } from '../sqlite/migrate.ts'
import { migrations } from '../migrations/0001-initial-schema.ts'
import type { Parameter, Row } from '../messages.ts'
import { cellsOf, readPage, tablesOf, type Key, type Read, type TableShape } from './tables.ts'

const commitsAtOnce = 200

/** Told the bodies of the next commits, in their order. */
export type Follow = (bodies: readonly string[]) => Promise<void>

export interface SqliteTarget {
  readonly tables: readonly TableShape[]
  /** Copies a table as it is. `tell`: how many rows with each page. */
  take(read: Read, table: TableShape, tell: (rows: number) => void): Promise<void>
  /** Copies the journal and the entries. Tells the number of the last commit. */
  takeLedger(read: Read, follow: Follow, tell: (rows: number) => void): Promise<number>
  /** Notes the open holds after the last commit. */
  checkpoint(seq: number, at: number, holds: string): void
  /** Deletes the row of a request that was copied, as for its age. */
  dropRequest(id: string): void
  /** Makes it one file, whole by itself. */
  close(): void
}

function insertText(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
}

class Writer implements SqliteTarget {
  readonly #database: DatabaseSync
  readonly tables: readonly TableShape[]
  #seq = 0
  #hash = chainStart
  #entries = 0

  constructor(database: DatabaseSync, tables: readonly TableShape[]) {
    this.#database = database
    this.tables = tables
  }

  checkpoint(seq: number, at: number, holds: string): void {
    this.#run(insertText('checkpoints', ['seq', 'at', 'holds']), [seq, at, holds])
  }

  dropRequest(id: string): void {
    this.#run(
      `insert into dropped_bills select account_id, 1, cost_nanos from requests where request_id = ?
      on conflict (account_id) do update set
        bills = dropped_bills.bills + 1, cost_nanos = dropped_bills.cost_nanos + excluded.cost_nanos`,
      [id],
    )
    this.#run('delete from requests where request_id = ?', [id])
  }

  #run(text: string, values: Parameter[]): void {
    this.#database.prepare(text).run(...values)
  }

  #inTransaction(write: () => void): void {
    this.#database.exec('begin')
    write()
    this.#database.exec('commit')
  }

  #insert(
    { name, columns }: Pick<TableShape, 'name' | 'columns'>,
    rows: readonly (readonly Parameter[])[],
  ): void {
    const statement = this.#database.prepare(insertText(name, columns))
    for (const row of rows) statement.run(...row)
  }

  async take(read: Read, table: TableShape, tell: (rows: number) => void): Promise<void> {
    this.#database.exec(`delete from ${table.name}`)
    for (let after: Key | null = null; ;) {
      const page = await readPage(read, table, after)
      if (page.key === null) return
      this.#inTransaction(() => this.#insert(table, cellsOf(page.rows, table.columns)))
      after = page.key
      tell(page.rows.length)
    }
  }

  async takeLedger(read: Read, follow: Follow, tell: (rows: number) => void): Promise<number> {
    for (let after = 0; ;) {
      const commits = await read({
        sql: 'select seq, at, body from journal where seq > ? order by seq limit ?',
        parameters: [after, commitsAtOnce],
      })
      const last = commits.at(-1)
      if (last === undefined) return this.#seq
      const entries = await read({
        sql: 'select * from entries where seq > ? and seq <= ? order by seq, id',
        parameters: [after, Number(last['seq'])],
      })
      this.#inTransaction(() => this.#takeCommits(commits, entries))
      await follow(commits.map(({ body }) => String(body)))
      after = Number(last['seq'])
      tell(commits.length + entries.length)
    }
  }

  #takeCommits(commits: readonly Row[], entries: readonly Row[]): void {
    const numbers = new Map<number, number>()
    const chained = commits.map(({ seq, at, body }): Parameter[] => {
      const prev = this.#hash
      this.#hash = chainHash(prev, String(body))
      numbers.set(Number(seq), (this.#seq += 1))
      return [this.#seq, at ?? null, body ?? null, prev, this.#hash]
    })
    this.#insert({ name: 'journal', columns: ['seq', 'at', 'body', 'prev', 'hash'] }, chained)
    const table = this.tables.find(({ name }) => name === 'entries')
    if (table === undefined) throw new Error('The schema has no entries.')
    const numbered = entries.map((entry) => ({
      ...entry,
      id: (this.#entries += 1),
      seq: numbers.get(Number(entry['seq'])) ?? null,
    }))
    this.#insert(table, cellsOf(numbered, table.columns))
  }

  close(): void {
    this.#database.exec('pragma foreign_keys = on; pragma journal_mode = delete')
    this.#database.close()
  }
}

/** Makes a file, readable by its owner only, in the place of what a copy that was cut off has left there. */
export async function makeSqliteTarget(path: string): Promise<SqliteTarget> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
  closeSync(openSync(path, 'wx', 0o600))
  chmodSync(path, 0o600)
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  // Nobody relies on the file before it is whole and synced.
  database.exec('pragma journal_mode = wal; pragma synchronous = off')
  migrate(database)
  const read: Read = async ({ sql, parameters }) => database.prepare(sql).all(...parameters)
  return new Writer(database, await tablesOf(read))
}

/** The schema that a file gets, and that a source has to have. */
export const newestSchema = migrations.at(-1)?.version ?? 0

/** How a snapshot of PostgreSQL is read. */
export const readOf =
  (db: Db): Read =>
  (statement) =>
    db.report(statement)
