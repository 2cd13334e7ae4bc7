/**
 * Opens a database file read-only in one snapshot, outside the store's threads: for backups, their verification and the
 * `doctor` command. Works on the file of a running, stopped or killed relay, and needs no lock, because it cannot write.
 */

import { chmodSync, existsSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { readOnlyDb, type Db } from '../db.ts'
import { connectionDb, openReader } from './connection.ts'

/** Pages per step, 16 MB; progress is reported after each. */
const stepPages = 4096

export interface BackupProgress {
  readonly totalPages: number
  readonly remainingPages: number
}

export interface ReadOnlyDatabase extends Disposable {
  /** All reads see the same snapshot; `write` rejects. */
  readonly db: Db
  /** False in a file whose schema was never created. */
  hasTable(name: string): boolean
  /** Returns the damage that SQLite finds, without checking indexes; empty if there is none. */
  findDamage(): string[]
  /** Writes a copy of the snapshot: a single self-contained file, readable only by its owner. */
  copyTo(path: string, progress?: (progress: BackupProgress) => void): Promise<void>
  close(): void
}

/** Turns off WAL mode, so that the copy is one file; a relay that opens the copy turns it on again. */
function mergeWal(path: string): void {
  using copy = new DatabaseSync(path)
  copy.exec('pragma journal_mode = delete')
}

/** Opens a database file. Throws if it does not exist or is not a database. */
export function openReadOnly(path: string): ReadOnlyDatabase {
  if (!existsSync(path)) throw new Error(`Database not found: ${path}`)
  const connection = openReader(path)
  try {
    // The first read in the transaction starts the snapshot; it also prevents a copy from restarting at each write.
    connection.database.exec('begin; select count(*) from sqlite_schema;')
  } catch (error) {
    connection.close()
    throw error
  }
  return {
    db: readOnlyDb(connectionDb(connection)),
    hasTable(name) {
      const sql = `select 1 from sqlite_schema where type = 'table' and name = ?`
      return connection.run({ sql, parameters: [name] }).rows.length > 0
    },
    findDamage() {
      const { rows } = connection.run({ sql: 'pragma quick_check(10)', parameters: [] })
      return rows.map((row) => String(row['quick_check'])).filter((result) => result !== 'ok')
    },
    async copyTo(target, progress) {
      await backup(connection.database, target, { rate: stepPages, progress: (step) => progress?.(step) })
      mergeWal(target)
      chmodSync(target, 0o600)
    },
    close: () => connection.close(),
    [Symbol.dispose]: () => connection.close(),
  }
}
