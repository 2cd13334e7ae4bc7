/**
 * A SQLite connection with the settings that our guarantees depend on, cached prepared statements, and integers read as
 * the schema says (`_nanos` as bigint, all others as number). Only the store's threads use it; other code uses db.ts.
 */

import { closeSync, openSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { statementDb, type Db } from '../db.ts'
import { isMoneyColumn } from '../money-columns.ts'
import type { Row, Statement, StatementResult } from '../statement.ts'
import { openDatabase } from './open-database.ts'

/** "SLUI", which distinguishes our database from any other. */
export const applicationId = 0x534c5549
/** In older releases a WAL reset can lose committed transactions (SQLite release notes, 3.51.3). */
const minSqliteRelease = [3, 51, 3] as const
const maxCachedStatements = 500

/**
 * - `journal_mode=wal`, `synchronous=full`: an acknowledged commit survives a power cut (measured: `normal` loses it).
 * - `wal_autocheckpoint=0`: SQLite ignores a failed fsync of its automatic checkpoint; store-writer.ts runs checkpoints and detects it.
 * - `journal_size_limit`: a long read lets the WAL grow; afterwards it shrinks to 64 MiB.
 * - `cache_size`: 32 MiB of pages, less for sequential reads. No `mmap_size`: a read error there would kill the process with a signal.
 * - `trusted_schema=off`: a manipulated schema cannot run functions.
 */
const writerPragmas = `
pragma journal_mode = wal;
pragma synchronous = full;
pragma wal_autocheckpoint = 0;
pragma journal_size_limit = 67108864;
pragma cache_size = -32768;
pragma temp_store = memory;
pragma trusted_schema = off;
`

/** `query_only` in addition to the read-only open: temporary tables cannot be created either. */
const readerPragmas = `
pragma temp_store = memory;
pragma trusted_schema = off;
pragma query_only = on;
`

interface Prepared {
  readonly statement: StatementSync
  readonly columns: readonly string[]
  /** Columns that are read as bigint and converted to number; undefined if every integer is read as number. */
  readonly numberColumns: readonly string[] | undefined
}

export interface Connection extends Disposable {
  readonly database: DatabaseSync
  /** Runs one statement and returns its rows, if any. */
  run(statement: Statement): StatementResult
  close(): void
}

/** Throws if the SQLite of this Node release has the bug that loses data. */
export function checkSqliteRelease(release: string): void {
  const parts = release.split('.').map(Number)
  for (const [index, min] of minSqliteRelease.entries()) {
    const part = parts[index] ?? 0
    if (part > min) return
    if (part < min)
      throw new Error(
        `SQLite ${release} can lose data; version ${minSqliteRelease.join('.')} or newer is required.`,
      )
  }
}

function prepare(database: DatabaseSync, text: string): Prepared {
  const statement = database.prepare(text)
  const columns = statement.columns().map((column) => column.name)
  if (!columns.some(isMoneyColumn)) return { statement, columns, numberColumns: undefined }
  statement.setReadBigInts(true)
  return { statement, columns, numberColumns: columns.filter((name) => !isMoneyColumn(name)) }
}

function readRows(prepared: Prepared, statement: Statement): Row[] {
  const rows = prepared.statement.all(...statement.parameters)
  if (prepared.numberColumns === undefined) return rows
  for (const row of rows) {
    for (const name of prepared.numberColumns) {
      const value = row[name]
      if (typeof value === 'bigint') row[name] = Number(value)
    }
  }
  return rows
}

function createConnection(database: DatabaseSync): Connection {
  const cache = new Map<string, Prepared>()
  function prepareCached(text: string): Prepared {
    const cached = cache.get(text)
    if (cached !== undefined) return cached
    const prepared = prepare(database, text)
    // SQL texts come from code, so there are few; the bound is for queries with lists of variable length.
    if (cache.size >= maxCachedStatements) cache.clear()
    cache.set(text, prepared)
    return prepared
  }
  return {
    database,
    run(statement) {
      const prepared = prepareCached(statement.sql)
      if (prepared.columns.length > 0) {
        const rows = readRows(prepared, statement)
        return { rows, changes: rows.length }
      }
      const result = prepared.statement.run(...statement.parameters)
      return { rows: [], changes: Number(result.changes) }
    },
    close: () => database.close(),
    [Symbol.dispose]: () => database.close(),
  }
}

/** The database of a thread that has a connection of its own. Between two queries, the thread does other work. */
export function connectionDb(connection: Connection): Db {
  return statementDb(async (statement) => {
    await turn()
    return connection.run(statement)
  })
}

/** Opens the only writing connection; creates the file, readable only by its owner, if it does not exist. */
export function openWriter(path: string): Connection {
  closeSync(openSync(path, 'a', 0o600))
  const database = openDatabase(path, { timeout: 5000, enableForeignKeyConstraints: true })
  checkSqliteRelease(String(database.prepare('select sqlite_version() as release').get()?.['release']))
  database.exec(writerPragmas)
  return createConnection(database)
}

/** Page cache sizes in KiB: for repeated reads, and for reading everything once. */
export const cacheKiB = { default: 32_768, readOnce: 4096 } as const

/** Opens a read-only connection. The writer must be open, or the file must have been closed cleanly. */
export function openReader(path: string, cache: number = cacheKiB.default): Connection {
  const database = openDatabase(path, { timeout: 5000, readOnly: true })
  database.exec(`pragma cache_size = -${cache};${readerPragmas}`)
  return createConnection(database)
}
