/** The folder in which the backups of a relay lie, each a folder of its own: what is there, and taking one away. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { tryFileLock, type FileLock } from '../../db/sqlite/file-lock.ts'
import { refuse } from '../../errors.ts'
import type { Backup, Takeaway } from '../../db/backups.ts'
import { BackupError, keyFile, manifestFile, readManifest, type Manifest } from './backup-folder.ts'

/** What the last check of a backup found; beside its manifest, which it is no part of. */
const checkedFile = 'checked.json'
/** Whoever makes a backup has it locked: the nodes of a cluster may share the folder. */
const lockFile = 'lock.db'
/** What is half made, or half removed. */
const unfinished = /\.(part|gone)-?\w*$/

interface Checked {
  readonly at: number
  readonly problem: string | null
}

function checkedIn(folder: string): Checked | null {
  try {
    return JSON.parse(readFileSync(join(folder, checkedFile), 'utf8')) as Checked
  } catch {
    return null
  }
}

/** Of a backup that was taken away meanwhile nothing is noted. */
export function noteChecked(folder: string, checked: Checked): void {
  if (!existsSync(folder)) return
  writeFileSync(join(folder, checkedFile), `${JSON.stringify(checked)}\n`, { mode: 0o600 })
}

function told(id: string, manifest: Manifest, checked: Checked | null): Backup {
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
    // It was proven when it was made.
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

/** Whatever else lies there is passed over. Newest first. */
export function backupsIn(dir: string): Backup[] {
  const found = namesIn(dir).flatMap((id): Backup[] => {
    const folder = join(dir, id)
    try {
      return unfinished.test(id) ? [] : [told(id, readManifest(folder), checkedIn(folder))]
    } catch (error) {
      if (error instanceof BackupError) return []
      throw error
    }
  })
  return found.toSorted((left, right) => right.madeAt - left.madeAt)
}

/** The folder of a backup that is there. Throws `not_found`. */
export function folderOf(dir: string, id: string): string {
  if (backupsIn(dir).some((backup) => backup.id === id)) return join(dir, id)
  throw refuse('not_found', { message: 'There is no such backup.' })
}

/** What may leave over HTTP: all but the key, without which nobody opens the credentials in it. */
export function takeawayOf(dir: string, id: string): Takeaway {
  const folder = folderOf(dir, id)
  const { files } = readManifest(folder)
  const names = [manifestFile, ...files.map(({ name }) => name).filter((name) => name !== keyFile)]
  return {
    folder,
    files: names.map((name) => ({ name, bytes: statSync(join(folder, name)).size })),
  }
}

/** First out of the list, then off the disk. */
export function removeFrom(dir: string, id: string): void {
  const folder = folderOf(dir, id)
  const leaving = `${folder}.gone`
  renameSync(folder, leaving)
  rmSync(leaving, { recursive: true, force: true })
}

/** Undefined where another process makes a backup in this folder. One that has it may not ask again. */
export function lockShelf(dir: string): FileLock | undefined {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return tryFileLock(join(dir, lockFile), 0)
}

/** What an end in the middle has left. For whoever has the lock. */
export function sweep(dir: string): void {
  for (const name of namesIn(dir)) {
    if (unfinished.test(name)) rmSync(join(dir, name), { recursive: true, force: true })
  }
}
