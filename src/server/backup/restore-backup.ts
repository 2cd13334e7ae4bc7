/** A backup, proven, in the place of a data directory, or in an empty PostgreSQL. */

import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { backupsFolder } from '../../config/backup.ts'
import { restoreBackup } from '../../db/sqlite/backup-file.ts'
import { holderFileName, lockFileName, takeLock } from '../lock.ts'
import { moveToPostgres } from '../move/to-postgres.ts'
import type { Say } from '../move/progress.ts'
import { BackupError, databaseFile, keyFile, syncPath, type Manifest } from './backup-folder.ts'

export interface Restored {
  /** Where what was there before is now; null when there was nothing. */
  readonly moved_aside: string | null
}

/** What is in a data directory besides the lock, which is ours now, its backups, and what earlier restores moved aside. */
function contentOf(dataDir: string): string[] {
  const ours = [lockFileName, holderFileName, 'lost+found', backupsFolder]
  return readdirSync(dataDir).filter((name) => !ours.includes(name) && !name.startsWith('before-'))
}

/** Into a folder inside the data directory: it may be a volume of its own, out of which nothing can be renamed. */
function moveAside(dataDir: string, names: readonly string[]): string {
  const folder = join(dataDir, `before-${new Date().toISOString().replaceAll(':', '-')}`)
  mkdirSync(folder, { mode: 0o700 })
  for (const name of names) renameSync(join(dataDir, name), join(folder, name))
  syncPath(folder)
  return folder
}

/** `force`: what is there is moved aside. Throws BackupError where something is there, LockedError where a relay runs. */
export function putInPlace(folder: string, dataDir: string, backup: Manifest, force: boolean): Restored {
  const lock = takeLock(dataDir, { command: 'restore' })
  try {
    const content = contentOf(dataDir)
    if (content.length > 0 && !force) {
      throw new BackupError(
        `${dataDir} is not empty. --force moves what is there aside, to a folder inside it.`,
      )
    }
    const aside = content.length > 0 ? moveAside(dataDir, content) : null
    // The database comes last: a directory without it is one that was never used.
    if (backup.files.some(({ name }) => name === keyFile)) {
      copyFileSync(join(folder, keyFile), join(dataDir, keyFile))
      syncPath(join(dataDir, keyFile))
    }
    restoreBackup(join(folder, databaseFile), dataDir)
    return { moved_aside: aside }
  } finally {
    lock.release()
  }
}

/** A copy to work on, in a folder that the same restore finds again when it was cut off. */
function workingCopy(folder: string, dataDir: string, backup: Manifest): string {
  const mark = backup.files.find(({ name }) => name === databaseFile)?.sha256.slice(0, 16)
  const place = join(dataDir, `restoring-${mark}`)
  if (existsSync(join(place, databaseFile))) return place
  mkdirSync(place, { recursive: true, mode: 0o700 })
  for (const { name } of backup.files.toSorted((one) => (one.name === databaseFile ? 1 : -1))) {
    copyFileSync(join(folder, name), join(place, `${name}.arriving`))
    syncPath(join(place, `${name}.arriving`))
    renameSync(join(place, `${name}.arriving`), join(place, name))
  }
  syncPath(place)
  return place
}

/** Fills the empty database of a cluster. Cut off, the same call goes on. Throws LockedError where a node runs here. */
export async function putInPostgres(
  folder: string,
  { config, url }: { readonly config: Config; readonly url: string },
  backup: Manifest,
  say: Say,
): Promise<void> {
  const { dataDir } = config
  const lock = takeLock(dataDir, { command: 'restore' })
  try {
    const place = workingCopy(folder, dataDir, backup)
    await moveToPostgres({ ...config, dataDir: place, databaseUrl: null }, url, say)
    rmSync(place, { recursive: true, force: true })
  } finally {
    lock.release()
  }
}
