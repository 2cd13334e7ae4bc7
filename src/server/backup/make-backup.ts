/** Making a backup: the copy of one moment, proven before the folder gets its name. */

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { databaseBytes } from '../../db/postgres/snapshot.ts'
import { checkNotMoved } from '../../db/transfer/move-marker.ts'
import { copyFromPostgres } from '../migrate-store/copy-from-postgres.ts'
import { version } from '../version.ts'
import {
  BackupError,
  checkDatabase,
  databaseFile,
  fileIn,
  keyFile,
  syncPath,
  writeManifest,
  type Manifest,
  type Tell,
} from './backup-folder.ts'
import { errorCode } from '../../lib/error-message.ts'

/** Copies everything of one moment into a folder; tells the names of the files. One for each kind of store. */
export type Copy = (folder: string, tell: Tell) => Promise<readonly string[]>

/** A full disk would stop the relay that is backed up: so much has to stay free beside the copy. */
const spareBytes = 64 * 1024 ** 2

/** What the system says to whoever may not write. */
const forbidden: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS'])

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`
}

function checkRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const freeBytes = bavail * bsize
  if (freeBytes >= bytes + spareBytes) return
  throw new BackupError(
    `There is not enough room in ${dirname(folder)}: ${mebibytes(bytes + spareBytes)} are needed, ${mebibytes(freeBytes)} are free.`,
  )
}

function copyOfEmbedded({ dataDir }: Config): Copy {
  return async (folder, tell) => {
    checkRoom(folder, statSync(join(dataDir, databaseFile), { throwIfNoEntry: false })?.size ?? 0)
    const path = join(folder, databaseFile)
    const still = openReadOnly(join(dataDir, databaseFile))
    try {
      await checkNotMoved(still.db)
      await still.copyTo(path, ({ totalPages, remainingPages }) => {
        tell({
          doing: 'copying',
          percent: Math.floor(100 - (100 * remainingPages) / Math.max(1, totalPages)),
        })
      })
    } finally {
      still.close()
    }
    syncPath(path)
    const key = join(dataDir, keyFile)
    if (!existsSync(key)) return [databaseFile]
    copyFileSync(key, join(folder, keyFile))
    syncPath(join(folder, keyFile))
    return [databaseFile, keyFile]
  }
}

/** The same file, made of one moment of a cluster's database, while its nodes run. */
function copyOfCluster(url: string): Copy {
  return async (folder, tell) => {
    checkRoom(folder, await databaseBytes(url))
    const path = join(folder, databaseFile)
    const { secret } = await copyFromPostgres(url, path, (part) =>
      tell({ doing: 'copying', percent: Math.floor(100 * part) }),
    )
    syncPath(path)
    if (secret === undefined) return [databaseFile]
    writeFileSync(join(folder, keyFile), `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
    return [databaseFile, keyFile]
  }
}

/** How the store of this relay is copied. */
export function copyOf(config: Config): Copy {
  return config.databaseUrl === null ? copyOfEmbedded(config) : copyOfCluster(config.databaseUrl)
}

export interface Making {
  readonly copy: Copy
  /** Who has it made, as the audit log names it. */
  readonly by: string
  readonly tell: Tell
}

async function fill(folder: string, { copy, by, tell }: Making): Promise<Manifest> {
  const names = await copy(folder, tell)
  tell({ doing: 'recomputing', percent: null })
  const report = await checkDatabase(join(folder, databaseFile))
  const files = await Promise.all(names.map((name) => fileIn(folder, name)))
  return writeManifest(folder, {
    made_at: new Date().toISOString(),
    made_by: by,
    version,
    ...report,
    sealed_by: names.includes(keyFile) ? 'key file' : 'ENCRYPTION_KEY',
    files,
  })
}

/** Makes a folder of another name, to be filled first, so that one of a backup's name is always a whole backup. */
export function draftOf(target: string): string {
  try {
    mkdirSync(dirname(target), { recursive: true })
    return mkdtempSync(`${target}.part-`)
  } catch (error) {
    if (!forbidden.has(errorCode(error) ?? '')) throw error
    throw new BackupError(`In ${dirname(target)} this user may not make the folder of a backup.`)
  }
}

export function removeDraft(draft: string): void {
  rmSync(draft, { recursive: true, force: true })
}

/** Fills the draft and gives it the backup's name. What fails leaves nothing behind. */
export async function makeBackup(target: string, draft: string, making: Making): Promise<Manifest> {
  try {
    const filled = await fill(draft, making)
    syncPath(draft)
    renameSync(draft, target)
    syncPath(dirname(target))
    return filled
  } catch (error) {
    removeDraft(draft)
    throw error
  }
}
