/**
 * A lock between processes that the operating system releases whenever its process ends: an exclusive SQLite
 * transaction on a dedicated file, which is a record lock (fcntl) underneath, without native code.
 */

import { chmodSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { openDatabase } from './open-database.ts'

export interface FileLock {
  release(): void
}

/** SQLITE_BUSY: another process, or another connection of this process, holds the lock. */
const busyCode = 5

/** Keeps connections referenced: garbage collection would close them and release their locks. */
const heldConnections = new Set<DatabaseSync>()

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === busyCode
}

/**
 * Acquires the lock, blocking the event loop for up to `waitMs`; returns undefined if another process holds it.
 * No other code in this process may open the file, not even to read it: closing any descriptor of it releases the lock.
 */
export function tryAcquireFileLock(path: string, waitMs: number): FileLock | undefined {
  const database = openDatabase(path, { timeout: waitMs })
  try {
    chmodSync(path, 0o600)
    // Nothing is ever written, so no rollback journal is needed on disk.
    database.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
  heldConnections.add(database)
  return {
    release() {
      if (heldConnections.delete(database)) database.close()
    },
  }
}
