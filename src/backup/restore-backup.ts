/** Restores a checked backup into a data directory, or into an empty PostgreSQL database. */

import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { backupsFolder } from '../config/data.ts'
import { compileQuery } from '../db/db.ts'
import { copyBeside, restoreBackup } from '../db/sqlite/backup-file.ts'
import { openWriter } from '../db/sqlite/connection.ts'
import { holderFileName, lockFileName, acquireLock } from '../db/sqlite/data-directory-lock.ts'
import { migrateToPostgres } from '../migrate-store/to-postgres.ts'
import type { OnProgress } from '../migrate-store/progress.ts'
import { pauseAfterRestore } from '../payments/automatic-recharges.ts'
import { BackupError, databaseFile, keyFile, type BackupManifest } from './backup-manifest.ts'
import { syncPath } from '../lib/sync-path.ts'

export interface RestoreResult {
  /** Where the previous content is now; null if there was none. */
  readonly moved_aside: string | null
}

/** The content of a data directory, except its lock, its backups, and what earlier restores moved aside. */
function existingContent(dataDir: string): string[] {
  const ours = [lockFileName, holderFileName, 'lost+found', backupsFolder]
  return readdirSync(dataDir).filter((name) => !ours.includes(name) && !name.startsWith('before-'))
}

/** Moves files to a folder inside the data directory, which may be a volume of its own, so that a rename is possible. */
function moveAside(dataDir: string, names: readonly string[]): string {
  const folder = join(dataDir, `before-${new Date().toISOString().replaceAll(':', '-')}`)
  mkdirSync(folder, { mode: 0o700 })
  for (const name of names) renameSync(join(dataDir, name), join(folder, name))
  syncPath(folder)
  return folder
}

/**
 * `force`: moves existing content aside. Throws BackupError if there is content, and DataDirLockedError if a relay is
 * running.
 */
export function restoreToDataDir(
  folder: string,
  dataDir: string,
  backup: BackupManifest,
  force: boolean,
): RestoreResult {
  using _lock = acquireLock(dataDir, { command: 'restore' })
  const content = existingContent(dataDir)
  if (content.length > 0 && !force) {
    throw new BackupError(`${dataDir} is not empty. Use --force to move its content to a folder inside it.`)
  }
  const aside = content.length > 0 ? moveAside(dataDir, content) : null
  // The database comes last: a directory without one counts as unused.
  if (backup.files.some(({ name }) => name === keyFile)) {
    copyFileSync(join(folder, keyFile), join(dataDir, keyFile))
    syncPath(join(dataDir, keyFile))
  }
  restoreBackup(join(folder, databaseFile), dataDir, { prepare: pauseRecharges })
  return { moved_aside: aside }
}

/** In the copy, before it is the database: a restore that is interrupted leaves none that charges cards. */
function pauseRecharges(path: string): void {
  const connection = openWriter(path)
  try {
    const tables = {
      sql: 'select name from sqlite_master where name = ?',
      parameters: ['automatic_recharges'],
    }
    // The backup may be one of an earlier release.
    if (connection.run(tables).rows.length > 0) connection.run(compileQuery(pauseAfterRestore(Date.now())))
    const mode = connection.run({ sql: 'pragma journal_mode = delete', parameters: [] }).rows[0]
    if (mode?.['journal_mode'] !== 'delete')
      throw new BackupError(`${path} could not be written as one file.`)
  } finally {
    connection.close()
  }
}

/** A working copy, in a folder that the same restore finds again if it was interrupted. */
function workingCopy(folder: string, dataDir: string, backup: BackupManifest): string {
  const id = backup.files.find(({ name }) => name === databaseFile)?.sha256.slice(0, 16)
  const copy = join(dataDir, `restoring-${id}`)
  if (existsSync(join(copy, databaseFile))) return copy
  mkdirSync(copy, { recursive: true, mode: 0o700 })
  for (const { name } of backup.files.toSorted((one) => (one.name === databaseFile ? 1 : -1))) {
    const prepare = name === databaseFile ? pauseRecharges : undefined
    renameSync(copyBeside(join(folder, name), join(copy, name), prepare), join(copy, name))
  }
  syncPath(copy)
  return copy
}

/** Fills the empty database of a cluster. Interrupted, the same call resumes. Throws DataDirLockedError if a node is running. */
export async function restoreToPostgres(
  folder: string,
  { config, url }: { readonly config: Config; readonly url: string },
  backup: BackupManifest,
  onProgress: OnProgress,
): Promise<void> {
  const { dataDir } = config
  using _lock = acquireLock(dataDir, { command: 'restore' })
  const copy = workingCopy(folder, dataDir, backup)
  await migrateToPostgres({ ...config, dataDir: copy, databaseUrl: null }, url, onProgress)
  rmSync(copy, { recursive: true, force: true })
}
