/** Makes a backup: a consistent copy that is checked before its folder gets its name. */

import { renameSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { findKeyFileSecret } from '../db/data-keys.ts'
import { openReadOnly } from '../db/sqlite/read-only.ts'
import { readDatabaseSize } from '../db/postgres/snapshot.ts'
import { checkNotMoved } from '../db/transfer/move-marker.ts'
import { copyFromPostgres } from '../migrate-store/copy-from-postgres.ts'
import { version } from '../lib/version.ts'
import { hashFile, type OnStep } from './backup-folder.ts'
import { BackupError, databaseFile, keyFile, writeManifest, type BackupManifest } from './backup-manifest.ts'
import { removeDraft } from './draft.ts'
import { syncPath } from '../lib/sync-path.ts'
import { checkDatabase } from '../engine/verification/sqlite-source.ts'

/** Copies a consistent state of the store into a folder, and returns the names of the files. One for each kind of store. */
export type CopyStore = (folder: string, onStep: OnStep) => Promise<readonly string[]>

/** A full disk would stop the relay that is backed up: this much must stay free in addition to the copy. */
const spareBytes = 64 * 1024 ** 2

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`
}

function checkFreeSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const freeBytes = bavail * bsize
  if (freeBytes >= bytes + spareBytes) return
  throw new BackupError(
    `Not enough free space in ${dirname(folder)}: ${mebibytes(bytes + spareBytes)} needed, ${mebibytes(freeBytes)} free.`,
  )
}

function sqliteCopier({ dataDir }: Config): CopyStore {
  return async (folder, onStep) => {
    checkFreeSpace(folder, statSync(join(dataDir, databaseFile), { throwIfNoEntry: false })?.size ?? 0)
    const path = join(folder, databaseFile)
    using reader = openReadOnly(join(dataDir, databaseFile))
    await checkNotMoved(reader.db)
    await reader.copyTo(path, ({ totalPages, remainingPages }) => {
      onStep({
        doing: 'copying',
        percent: Math.floor(100 - (100 * remainingPages) / Math.max(1, totalPages)),
      })
    })
    syncPath(path)
    // A relay that has an ENCRYPTION_KEY since its first start still has a key file, which the backup does not need.
    const copy = openReadOnly(path)
    const secret = await findKeyFileSecret(copy.db, dataDir).finally(() => copy.close())
    return [databaseFile, ...writeKeyFile(folder, secret)]
  }
}

/** `secret`: undefined if ENCRYPTION_KEY opens the copied data keys. Returns the names of the written files. */
function writeKeyFile(folder: string, secret: string | undefined): string[] {
  if (secret === undefined) return []
  writeFileSync(join(folder, keyFile), `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true })
  return [keyFile]
}

/** The same file, from a snapshot of a cluster's database, while its nodes run. */
function clusterCopier(url: string): CopyStore {
  return async (folder, onStep) => {
    checkFreeSpace(folder, await readDatabaseSize(url))
    const path = join(folder, databaseFile)
    const { secret } = await copyFromPostgres(url, path, (part) =>
      onStep({ doing: 'copying', percent: Math.floor(100 * part) }),
    )
    syncPath(path)
    return [databaseFile, ...writeKeyFile(folder, secret)]
  }
}

/** The copier for the store of this relay. */
export function copierFor(config: Config): CopyStore {
  return config.databaseUrl === null ? sqliteCopier(config) : clusterCopier(config.databaseUrl)
}

export interface MakeBackupOptions {
  readonly copy: CopyStore
  /** Who makes it, as the audit log names the actor. */
  readonly by: string
  readonly onStep: OnStep
}

async function fillDraft(folder: string, { copy, by, onStep }: MakeBackupOptions): Promise<BackupManifest> {
  const names = await copy(folder, onStep)
  onStep({ doing: 'recomputing', percent: null })
  const report = await checkDatabase(join(folder, databaseFile))
  const files = await Promise.all(names.map((name) => hashFile(folder, name)))
  return writeManifest(folder, {
    made_at: new Date().toISOString(),
    made_by: by,
    version,
    ...report,
    sealed_by: names.includes(keyFile) ? 'key file' : 'ENCRYPTION_KEY',
    files,
  })
}

/** Fills the draft and gives it the backup's name. A failure leaves nothing behind. */
export async function makeBackup(
  target: string,
  draft: string,
  options: MakeBackupOptions,
): Promise<BackupManifest> {
  try {
    const filled = await fillDraft(draft, options)
    syncPath(draft)
    renameSync(draft, target)
    syncPath(dirname(target))
    return filled
  } catch (error) {
    removeDraft(draft)
    throw error
  }
}
