/**
 * A lock that the operating system gives back when its process ends, however it ends: an exclusive transaction of
 * SQLite on a file of its own, which is a record lock (fcntl) underneath, without native code.
 */

import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface FileLock {
  release(): void
}

/** SQLITE_BUSY: another process, or another connection of this one, has it. */
const busyCode = 5

/** A connection that nobody refers to is closed with the next garbage, and its lock would go with it. */
const held = new Set<DatabaseSync>()

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === busyCode
}

/**
 * Takes the lock, waiting for it up to `waitMs` without letting the loop run; undefined when another has it.
 * Nobody else in this process may open the file, not even to read it: closing any descriptor of it frees the lock.
 */
export function tryFileLock(path: string, waitMs: number): FileLock | undefined {
  const database = new DatabaseSync(path, { timeout: waitMs })
  try {
    chmodSync(path, 0o600)
    // Nothing is ever written, so there is nothing to roll back and no journal beside it to be found.
    database.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
  held.add(database)
  return {
    release() {
      if (held.delete(database)) database.close()
    },
  }
}
