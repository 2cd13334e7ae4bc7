/**
 * Copies a snapshot of PostgreSQL to a SQLite file of a single relay. The journal chains of the nodes are merged into one
 * in the order of their commits, and entries are numbered in that order; settings of the database itself are not copied.
 */

import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Db } from '../db.ts'
import { chainHash, chainGenesis } from '../journal.ts'
import { migrateSqlite } from '../sqlite/migrate.ts'
import { migrations } from '../migrations/migrations.ts'
import type { Parameter, Row } from '../statement.ts'
import { toCells, readPages, listTables, type ReadRows, type TableShape } from './tables.ts'

const commitsPerPage = 200

/** Called with the bodies of the next commits in order. */
export type OnCommits = (bodies: readonly string[]) => Promise<void>

export interface SqliteTarget extends Disposable {
  readonly tables: readonly TableShape[]
  /** Copies a table unchanged. `onRows`: called with the number of rows of each page. */
  copyTable(read: ReadRows, table: TableShape, onRows: (rows: number) => void): Promise<void>
  /** Copies the journal and the entries, and returns the number of the last commit. */
  copyLedger(read: ReadRows, onCommits: OnCommits, onRows: (rows: number) => void): Promise<number>
  /** Writes the open holds after the last commit. */
  writeCheckpoint(seq: number, at: number, holds: string): void
  /** Deletes the copied row of a request, as retention does. */
  deleteRequest(id: string): void
}

function insertSql(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
}

class SqliteFileTarget implements SqliteTarget {
  readonly #database: DatabaseSync
  readonly tables: readonly TableShape[]
  #seq = 0
  #hash = chainGenesis
  #entries = 0

  constructor(database: DatabaseSync, tables: readonly TableShape[]) {
    this.#database = database
    this.tables = tables
  }

  writeCheckpoint(seq: number, at: number, holds: string): void {
    this.#run(insertSql('checkpoints', ['seq', 'at', 'holds']), [seq, at, holds])
  }

  deleteRequest(id: string): void {
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
    const statement = this.#database.prepare(insertSql(name, columns))
    for (const row of rows) statement.run(...row)
  }

  async copyTable(read: ReadRows, table: TableShape, onRows: (rows: number) => void): Promise<void> {
    this.#database.exec(`delete from ${table.name}`)
    for await (const { rows } of readPages(read, table)) {
      this.#inTransaction(() => this.#insert(table, toCells(rows, table.columns)))
      onRows(rows.length)
    }
  }

  async copyLedger(read: ReadRows, onCommits: OnCommits, onRows: (rows: number) => void): Promise<number> {
    for (let after = 0; ;) {
      const commits = await read({
        sql: 'select seq, at, body from journal where seq > ? order by seq limit ?',
        parameters: [after, commitsPerPage],
      })
      const last = commits.at(-1)
      if (last === undefined) return this.#seq
      const entries = await read({
        sql: 'select * from entries where seq > ? and seq <= ? order by seq, id',
        parameters: [after, Number(last['seq'])],
      })
      this.#inTransaction(() => this.#copyCommits(commits, entries))
      await onCommits(commits.map(({ body }) => String(body)))
      after = Number(last['seq'])
      onRows(commits.length + entries.length)
    }
  }

  #copyCommits(commits: readonly Row[], entries: readonly Row[]): void {
    const numbers = new Map<number, number>()
    const chained = commits.map(({ seq, at, body }): Parameter[] => {
      const prev = this.#hash
      this.#hash = chainHash(prev, String(body))
      numbers.set(Number(seq), (this.#seq += 1))
      return [this.#seq, at ?? null, body ?? null, prev, this.#hash]
    })
    this.#insert({ name: 'journal', columns: ['seq', 'at', 'body', 'prev', 'hash'] }, chained)
    const table = this.tables.find(({ name }) => name === 'entries')
    if (table === undefined) throw new Error('The schema has no table entries.')
    const numbered = entries.map((entry) => ({
      ...entry,
      id: (this.#entries += 1),
      seq: numbers.get(Number(entry['seq'])) ?? null,
    }))
    this.#insert(table, toCells(numbered, table.columns))
  }

  /** Closes the file, which is then self-contained. */
  [Symbol.dispose](): void {
    this.#database.exec('pragma foreign_keys = on; pragma journal_mode = delete')
    this.#database.close()
  }
}

/** Creates a file, readable only by its owner, in place of the remains of an interrupted copy. */
export async function createSqliteTarget(path: string): Promise<SqliteTarget> {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
  closeSync(openSync(path, 'wx', 0o600))
  chmodSync(path, 0o600)
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  // The file is not used before it is complete and synced.
  database.exec('pragma journal_mode = wal; pragma synchronous = off')
  migrateSqlite(database)
  const read: ReadRows = async ({ sql, parameters }) => database.prepare(sql).all(...parameters)
  return new SqliteFileTarget(database, await listTables(read))
}

/** The schema version of the file, which the source must have, too. */
export const newestSchemaVersion = migrations.at(-1)?.version ?? 0

/** Reads from a snapshot of PostgreSQL. */
export const snapshotReader =
  (db: Db): ReadRows =>
  (statement) =>
    db.report(statement)
