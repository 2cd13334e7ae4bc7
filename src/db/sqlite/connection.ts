/**
 * One SQLite connection: opened with the settings that our promises rest on, its statements prepared once, its
 * integers read as the schema says (`_nanos` as bigint, all others as number). Used inside the threads of this
 * room; everybody else talks to them through db.ts.
 */

import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Row, Statement, StatementResult } from '../messages.ts'

/** "SLUI", so that a backup can be told from any other database. */
export const applicationId = 0x534c5549
/** Below this release a WAL reset can lose committed transactions (SQLite release notes, 3.51.3). */
const sqliteMinimum = [3, 51, 3] as const
const statementsMax = 500

/**
 * - `journal_mode=wal`, `synchronous=full`: an acknowledged commit survives a power cut (measured: `normal` loses it).
 * - `wal_autocheckpoint=0`: SQLite ignores a failed fsync of its automatic checkpoint; store.ts makes them and sees it.
 * - `journal_size_limit`: a long reading lets the WAL grow; afterwards it shrinks to 64 MiB.
 * - `cache_size`: 32 MiB of pages, less where everything is read once. No `mmap_size`: a read error there would be a signal that ends the process.
 * - `trusted_schema=off`: functions in a foreign schema are not run.
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

/** `query_only` besides the read-only open: temporary tables are not made either. */
const readerPragmas = `
pragma temp_store = memory;
pragma trusted_schema = off;
pragma query_only = on;
`

interface Prepared {
  readonly statement: StatementSync
  readonly columns: readonly string[]
  /** Columns read as bigint and made numbers again; undefined when every integer is read as number. */
  readonly numbers: readonly string[] | undefined
}

export interface Connection {
  readonly database: DatabaseSync
  /** Runs one statement; rows come back when it returns any. */
  run(statement: Statement): StatementResult
  close(): void
}

/** Throws when the SQLite inside this Node has the bug that loses data. */
export function checkSqliteRelease(release: string): void {
  const parts = release.split('.').map(Number)
  for (const [index, least] of sqliteMinimum.entries()) {
    const part = parts[index] ?? 0
    if (part > least) return
    if (part < least)
      throw new Error(`SQLite ${release} can lose data; ${sqliteMinimum.join('.')} or newer is needed.`)
  }
}

function prepare(database: DatabaseSync, text: string): Prepared {
  const statement = database.prepare(text)
  const columns = statement.columns().map((column) => column.name)
  if (!columns.some((name) => name.endsWith('_nanos'))) return { statement, columns, numbers: undefined }
  statement.setReadBigInts(true)
  return { statement, columns, numbers: columns.filter((name) => !name.endsWith('_nanos')) }
}

function rowsOf(prepared: Prepared, statement: Statement): Row[] {
  const rows = prepared.statement.all(...statement.parameters)
  if (prepared.numbers === undefined) return rows
  for (const row of rows) {
    for (const name of prepared.numbers) {
      const value = row[name]
      if (typeof value === 'bigint') row[name] = Number(value)
    }
  }
  return rows
}

function connectionOn(database: DatabaseSync): Connection {
  const cache = new Map<string, Prepared>()
  function preparedFor(text: string): Prepared {
    const known = cache.get(text)
    if (known !== undefined) return known
    const prepared = prepare(database, text)
    // Texts come from code, so there are few; a query with a list of unknown length is what the bound is for.
    if (cache.size >= statementsMax) cache.clear()
    cache.set(text, prepared)
    return prepared
  }
  return {
    database,
    run(statement) {
      const prepared = preparedFor(statement.sql)
      if (prepared.columns.length > 0) {
        const rows = rowsOf(prepared, statement)
        return { rows, changes: rows.length }
      }
      const result = prepared.statement.run(...statement.parameters)
      return { rows: [], changes: Number(result.changes) }
    },
    close() {
      cache.clear()
      database.close()
    },
  }
}

/** Opens the one writing connection, making the file (readable by its owner only) when there is none. */
export function openWriter(path: string): Connection {
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { timeout: 5000, enableForeignKeyConstraints: true })
  checkSqliteRelease(String(database.prepare('select sqlite_version() as release').get()?.['release']))
  database.exec(writerPragmas)
  return connectionOn(database)
}

/** How much of the database a connection keeps in memory, in KiB: of what is asked for again, and of what is read once. */
export const cacheKiB = { usual: 32_768, readOnce: 4096 } as const

/** Opens a connection that cannot write. The writer has to be open, or the file closed cleanly. */
export function openReader(path: string, cache: number = cacheKiB.usual): Connection {
  const database = new DatabaseSync(path, { timeout: 5000, readOnly: true })
  database.exec(`pragma cache_size = -${cache};${readerPragmas}`)
  return connectionOn(database)
}
