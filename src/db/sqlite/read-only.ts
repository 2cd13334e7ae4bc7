/**
 * A database seen from outside the relay's threads, at one moment: for backups, their verification and the doctor, on
 * a running relay's file as well as on a stopped or killed one's. It cannot write, so it needs no lock.
 */

import { chmodSync, existsSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { statementOf, type Db, type Query } from '../db.ts'
import { openReader } from './connection.ts'

/** Pages a step, 16 MB: progress is told after each. */
const stepPages = 4096

export interface BackupProgress {
  readonly totalPages: number
  readonly remainingPages: number
}

export interface ReadOnlyDatabase {
  /** Every read sees the same moment. `write` is refused. */
  readonly db: Db
  /** What SQLite finds damaged, without comparing indexes; empty when it is sound. */
  damages(): string[]
  /** Writes a copy as of that moment: one file, whole by itself, readable by its owner only. */
  copyTo(path: string, progress?: (progress: BackupProgress) => void): Promise<void>
  close(): void
}

/** Without the mode that keeps part of a database in files beside it; a relay that opens the copy turns it on again. */
function makeWhole(path: string): void {
  const copy = new DatabaseSync(path)
  try {
    copy.exec('pragma journal_mode = delete')
  } finally {
    copy.close()
  }
}

/** Opens a database file. Throws when there is none, or when it is none. */
export function openReadOnly(path: string): ReadOnlyDatabase {
  if (!existsSync(path)) throw new Error(`There is no database at ${path}.`)
  const connection = openReader(path)
  try {
    // The first read inside the transaction fixes the moment; it also keeps a copy from beginning again at each write.
    connection.database.exec('begin; select count(*) from sqlite_schema;')
  } catch (error) {
    connection.close()
    throw error
  }
  async function read<Result>(query: Query<Result>): Promise<Result[]> {
    await turn()
    // The query's type says what its columns are, as in db.ts.
    return connection.run(statementOf(query)).rows as Result[]
  }
  return {
    db: {
      all: read,
      report: read,
      first: async (query) => (await read(query))[0],
      write: () => Promise.reject(new Error('This database is open for reading only.')),
    },
    damages() {
      const { rows } = connection.run({ sql: 'pragma quick_check(10)', parameters: [] })
      return rows.map((row) => String(row['quick_check'])).filter((word) => word !== 'ok')
    },
    async copyTo(target, progress) {
      await backup(connection.database, target, { rate: stepPages, progress: (step) => progress?.(step) })
      makeWhole(target)
      chmodSync(target, 0o600)
    },
    close: () => connection.close(),
  }
}
