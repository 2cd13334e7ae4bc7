/** The thread for the folder of backups. If its file system does not respond, only this thread waits. */
import { dirname, join } from 'node:path'
import { parentPort } from 'node:worker_threads'
import type { Backup, BackupDownload } from '../db/backups.ts'
import type { FileLock } from '../db/sqlite/file-lock.ts'
import { apiError, ApiError } from '../errors.ts'
import { errorMessage } from '../lib/error-message.ts'
import { apiErrors, Channel } from '../rpc/channel.ts'
import {
  backupDownload,
  listBackups,
  lockBackupStore,
  removeBackup,
  removeUnfinished,
  writeCheckResult,
  type CheckResult,
} from './backup-store.ts'
import { createDraft, removeDraft } from './draft.ts'

export interface BackupFolderService {
  list(dir: string): Promise<readonly Backup[]>
  remove(dir: string, id: string): Promise<void>
  download(dir: string, id: string): Promise<BackupDownload>
  writeCheckResult(folder: string, checked: CheckResult): Promise<void>
  /** Whether another process makes a backup in the folder. */
  isLocked(dir: string): Promise<boolean>
  /** Locks the folder and returns a draft for a backup of this path. Throws `conflict` with the reason if it cannot. */
  begin(target: string): Promise<string>
  /** Removes what is left of the draft, and unlocks the folder. */
  end(draft: string): Promise<void>
  /** Throws `conflict` with the reason if no backup can be made in the folder. */
  tryWriting(dir: string): Promise<void>
}

export interface BackupFolderThreadServices {
  readonly folder: BackupFolderService
}

/** Held from `begin` to `end`. */
let lock: FileLock | undefined

function begin(target: string): string {
  const dir = dirname(target)
  try {
    lock = lockBackupStore(dir)
    if (lock === undefined) throw new Error('Another node is making a backup in the same folder.')
    removeUnfinished(dir)
    return createDraft(target)
  } catch (error) {
    unlock()
    throw apiError('conflict', { message: errorMessage(error) })
  }
}

function unlock(): void {
  lock?.release()
  lock = undefined
}

function isLocked(dir: string): boolean {
  if (lock !== undefined) return true
  const tried = lockBackupStore(dir)
  tried?.release()
  return tried === undefined
}

function tryWriting(dir: string): void {
  try {
    removeDraft(createDraft(join(dir, 'try')))
  } catch (error) {
    throw apiError('conflict', { message: errorMessage(error) })
  }
}

const folder: BackupFolderService = {
  list: async (dir) => listBackups(dir),
  remove: async (dir, id) => removeBackup(dir, id),
  download: async (dir, id) => backupDownload(dir, id),
  writeCheckResult: async (path, checked) => writeCheckResult(path, checked),
  isLocked: async (dir) => isLocked(dir),
  begin: async (target) => begin(target),
  async end(draft) {
    removeDraft(draft)
    unlock()
  },
  tryWriting: async (dir) => tryWriting(dir),
}

/** What the file system says is for operators. */
function toReported(error: unknown): ApiError {
  return error instanceof ApiError ? error : apiError('conflict', { message: errorMessage(error) })
}

if (parentPort !== null)
  new Channel<object>(parentPort, apiErrors(toReported)).serve({ services: { folder } })
