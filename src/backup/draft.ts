/** The folder in which a backup is made, before it gets its name. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../lib/error-message.ts'
import { BackupError } from './backup-manifest.ts'

/** The system's codes for a missing permission to write. */
const permissionErrors: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS'])

/**
 * Creates a folder with those above it. Node's own recursion never ends where a folder exists and none can be made in it,
 * as in /proc.
 */
export function createFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    createFolder(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  }
}

/** Creates a folder with a temporary name, so that a folder with a backup's name is always complete. */
export function createDraft(target: string): string {
  try {
    createFolder(dirname(target))
    return mkdtempSync(`${target}.part-`)
  } catch (error) {
    if (!permissionErrors.has(errorCode(error) ?? '')) throw error
    throw new BackupError(`No permission to create a backup folder in ${dirname(target)}.`)
  }
}

export function removeDraft(draft: string): void {
  rmSync(draft, { recursive: true, force: true })
}
