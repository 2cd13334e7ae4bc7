/** Making a backup: the copy of one moment, proven before the folder gets its name. */

import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { openReadOnly } from '../../db/read-only.ts'
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
} from './folder.ts'

/** Told what is being done, in words that a number of seconds may follow. */
export type Tell = (step: string) => void

/** Copies everything of one moment into a folder; tells the names of the files. One for each kind of store. */
export type Copy = (folder: string, tell: Tell) => Promise<readonly string[]>

function copyOfEmbedded({ dataDir }: Config): Copy {
  return async (folder, tell) => {
    const path = join(folder, databaseFile)
    const still = openReadOnly(join(dataDir, databaseFile))
    try {
      await still.copyTo(path, ({ totalPages, remainingPages }) => {
        tell(`copying the database: ${Math.floor(100 - (100 * remainingPages) / Math.max(1, totalPages))} %,`)
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

/** How the store of this relay is copied. Throws BackupError where it cannot be. */
export function copyOf(config: Config): Copy {
  if (config.databaseUrl === null) return copyOfEmbedded(config)
  throw new BackupError(elsewhere)
}

/** What is said where there is no file to copy. */
export const elsewhere =
  'With DATABASE_URL everything is in PostgreSQL, which has means of its own for this: docs/operations.md.'

async function fill(folder: string, copy: Copy, tell: Tell): Promise<Manifest> {
  const names = await copy(folder, tell)
  tell('reading the copy and recomputing its ledger')
  const report = await checkDatabase(join(folder, databaseFile))
  const files = await Promise.all(names.map((name) => fileIn(folder, name)))
  return writeManifest(folder, {
    made_at: new Date().toISOString(),
    version,
    ...report,
    sealed_by: names.includes(keyFile) ? 'key file' : 'ENCRYPTION_KEY',
    files,
  })
}

/** A folder of another name, which is filled first, so that one of a backup's name is always a whole backup. */
export interface Draft {
  readonly folder: string
  remove(): void
}

export function draftOf(target: string): Draft {
  mkdirSync(dirname(target), { recursive: true })
  const folder = mkdtempSync(`${target}.part-`)
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Fills the draft and gives it the backup's name. What fails leaves nothing behind. */
export async function makeBackup(target: string, draft: Draft, copy: Copy, tell: Tell): Promise<Manifest> {
  try {
    const filled = await fill(draft.folder, copy, tell)
    syncPath(draft.folder)
    renameSync(draft.folder, target)
    syncPath(dirname(target))
    return filled
  } catch (error) {
    draft.remove()
    throw error
  }
}
