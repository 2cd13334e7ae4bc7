/** The folder with the backups of a relay, each in a folder of its own: lists, downloads and removes them. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tryAcquireFileLock, type FileLock } from '../db/sqlite/file-lock.ts'
import { notFound } from '../errors.ts'
import type { Backup, BackupDownload } from '../db/backups.ts'
import { createFolder } from './draft.ts'
import { BackupError, keyFile, manifestFile, readManifest, type BackupManifest } from './backup-manifest.ts'

/** The result of a backup's last check, next to its manifest. */
const checkResultFile = 'checked.json'
/** Locked while a backup is made, because the nodes of a cluster may share the folder. */
const lockFile = 'lock.db'
/** Backups that are partly made or partly removed. */
const unfinished = /\.(part|gone)-?\w*$/

export interface CheckResult {
  readonly at: number
  readonly problem: string | null
}

function readCheckResult(folder: string): CheckResult | null {
  try {
    return JSON.parse(readFileSync(join(folder, checkResultFile), 'utf8')) as CheckResult
  } catch {
    return null
  }
}

/** Does nothing if the backup was removed in the meantime. */
export function writeCheckResult(folder: string, checked: CheckResult): void {
  if (!existsSync(folder)) return
  writeFileSync(join(folder, checkResultFile), `${JSON.stringify(checked)}\n`, { mode: 0o600 })
}

function toBackup(id: string, manifest: BackupManifest, checked: CheckResult | null): Backup {
  const madeAt = Date.parse(manifest.made_at)
  return {
    id,
    state: (checked?.problem ?? null) === null ? 'whole' : 'damaged',
    madeAt,
    by: manifest.made_by ?? null,
    content: {
      files: manifest.files.map(({ name, bytes }) => ({ name, bytes })),
      accounts: manifest.accounts,
      entries: manifest.entries,
      lastCommit: manifest.last_commit,
      version: manifest.version,
      sealedBy: manifest.sealed_by,
    },
    // It was checked when it was made.
    checkedAt: checked?.at ?? madeAt,
    problem: checked?.problem ?? null,
    step: null,
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

/** Newest first. Ignores everything else in the folder. */
export function listBackups(dir: string): Backup[] {
  const found = namesIn(dir).flatMap((id): Backup[] => {
    const folder = join(dir, id)
    try {
      return unfinished.test(id) ? [] : [toBackup(id, readManifest(folder), readCheckResult(folder))]
    } catch (error) {
      if (error instanceof BackupError) return []
      throw error
    }
  })
  return found.toSorted((left, right) => right.madeAt - left.madeAt)
}

/** The folder of an existing backup. Throws `not_found`. */
export function backupFolder(dir: string, id: string): string {
  if (listBackups(dir).some((backup) => backup.id === id)) return join(dir, id)
  throw notFound('Backup')
}

/** The files that may be downloaded: all except the key, without which the credentials cannot be decrypted. */
export function backupDownload(dir: string, id: string): BackupDownload {
  const folder = backupFolder(dir, id)
  const { files } = readManifest(folder)
  const names = [manifestFile, ...files.map(({ name }) => name).filter((name) => name !== keyFile)]
  return {
    folder,
    files: names.map((name) => ({ name, bytes: statSync(join(folder, name)).size })),
  }
}

/** Removes it from the list first, then from the disk. */
export function removeBackup(dir: string, id: string): void {
  const folder = backupFolder(dir, id)
  const removed = `${folder}.gone`
  renameSync(folder, removed)
  rmSync(removed, { recursive: true, force: true })
}

/** Undefined if another process makes a backup in this folder. The holder must not call it again. */
export function lockBackupStore(dir: string): FileLock | undefined {
  createFolder(dir)
  return tryAcquireFileLock(join(dir, lockFile), 0)
}

/** Removes what an aborted process has left. The caller must hold the lock. */
export function removeUnfinished(dir: string): void {
  for (const name of namesIn(dir)) {
    if (unfinished.test(name)) rmSync(join(dir, name), { recursive: true, force: true })
  }
}
