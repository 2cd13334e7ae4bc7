/** A backup, proven, in the place of a data directory. */

import { copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { backupsFolder } from '../../config/backup.ts'
import { restoreBackup } from '../../db/backup.ts'
import { holderFileName, lockFileName, takeLock } from '../lock.ts'
import { BackupError, databaseFile, keyFile, syncPath, type Manifest } from './folder.ts'

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
