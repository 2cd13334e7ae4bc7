/** Whether a file is a backup that can be put in place, and putting it there. */

import {
  copyFileSync,
  existsSync,
  fsyncSync,
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { checkSchema } from './migrate.ts'
import { databaseFileName } from '../store.ts'

export interface BackupReport {
  readonly schemaVersion: number
  /** The number of the last ledger commit in it. */
  readonly lastSeq: number
  readonly accounts: number
}

function countOf(database: DatabaseSync, query: string): number {
  return Number(database.prepare(query).get()?.['value'] ?? 0)
}

/** Reads a backup through. Throws, saying why, when it is damaged, another program's, or of a newer release. */
export function checkBackup(path: string): BackupReport {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const schemaVersion = checkSchema(database)
    if (schemaVersion === 0) throw new Error('The file holds no data.')
    const problem = database.prepare('pragma integrity_check(1)').get()?.['integrity_check']
    if (problem !== 'ok') throw new Error(`The file is damaged: ${String(problem)}`)
    if (database.prepare('pragma foreign_key_check').all().length > 0) {
      throw new Error('The file has rows that point to nothing.')
    }
    return {
      schemaVersion,
      lastSeq: countOf(database, 'select max(seq) as value from journal'),
      accounts: countOf(database, 'select count(*) as value from accounts'),
    }
  } finally {
    database.close()
  }
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/**
 * Puts a checked backup in place of a data directory's database. No relay may run on the directory: the caller holds
 * its lock. Refuses when a database is there, unless `replace` is set; then the old one is kept beside, as `.before`.
 */
export function restoreBackup(path: string, dataDir: string, replace = false): BackupReport {
  const report = checkBackup(path)
  const target = join(dataDir, databaseFileName)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (existsSync(target) && !replace) throw new Error(`There is a database in ${dataDir} already.`)
  const arriving = `${target}.arriving`
  copyFileSync(path, arriving)
  syncPath(arriving)
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(target + suffix)) renameSync(target + suffix, `${target}.before${suffix}`)
    else rmSync(`${target}.before${suffix}`, { force: true })
  }
  renameSync(arriving, target)
  syncPath(dirname(target))
  return report
}
