/** Checks a backup of the SQLite file and restores it. */

import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { checkSchema } from './migrate.ts'
import { databaseFileName } from './store.ts'
import { syncPath } from '../../lib/sync-path.ts'

export interface BackupFileReport {
  readonly schemaVersion: number
  /** The number of the last ledger commit in the backup. */
  readonly lastSeq: number
  readonly accounts: number
}

function readCount(database: DatabaseSync, query: string): number {
  return Number(database.prepare(query).get()?.['value'] ?? 0)
}

/** Reads the whole backup. Throws if it is damaged, belongs to another program, or is of a newer release. */
export function checkBackup(path: string): BackupFileReport {
  using database = new DatabaseSync(path, { readOnly: true })
  const schemaVersion = checkSchema(database)
  if (schemaVersion === 0) throw new Error('The file contains no data.')
  const problem = database.prepare('pragma integrity_check(1)').get()?.['integrity_check']
  if (problem !== 'ok') throw new Error(`The file is damaged: ${String(problem)}`)
  if (database.prepare('pragma foreign_key_check').all().length > 0) {
    throw new Error('The file has broken foreign keys.')
  }
  return {
    schemaVersion,
    lastSeq: readCount(database, 'select max(seq) as value from journal'),
    accounts: readCount(database, 'select count(*) as value from accounts'),
  }
}

const suffixes = ['', '-wal', '-shm']

/**
 * Copies a file next to `target`, which is whole on disk when it is then renamed to it. Returns the path of the copy.
 * `prepare` changes the copy, and must leave all of it in the one file.
 */
export function copyBeside(path: string, target: string, prepare?: (copy: string) => void): string {
  const copy = `${target}.arriving`
  for (const suffix of suffixes) rmSync(copy + suffix, { force: true })
  copyFileSync(path, copy)
  prepare?.(copy)
  syncPath(copy)
  return copy
}

interface RestoreOptions {
  /** The directory may have a database, which is kept as `.before`. */
  readonly replace?: boolean
  /** Changes it before a relay can start on it. */
  readonly prepare?: (copy: string) => void
}

/**
 * Checks a backup and installs it as the database of a data directory. No relay may run on the directory: the caller
 * must hold its lock. Throws if the directory already has a database, unless `replace` is set.
 */
export function restoreBackup(
  path: string,
  dataDir: string,
  { replace = false, prepare }: RestoreOptions = {},
): BackupFileReport {
  const report = checkBackup(path)
  const target = join(dataDir, databaseFileName)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (existsSync(target) && !replace) throw new Error(`${dataDir} already contains a database.`)
  const copy = copyBeside(path, target, prepare)
  for (const suffix of suffixes) {
    if (existsSync(target + suffix)) renameSync(target + suffix, `${target}.before${suffix}`)
    else rmSync(`${target}.before${suffix}`, { force: true })
  }
  renameSync(copy, target)
  syncPath(dirname(target))
  return report
}
