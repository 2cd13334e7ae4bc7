/** A write that was not made, and what that means for the caller: see StoreErrorClass. */

import { refusalOf, refuse, type Refusal } from '../errors.ts'
import type { StoreErrorClass, StoreFailure } from './messages.ts'
import { errorWords } from '../lib/error-message.ts'

export class StoreError extends Error {
  readonly class: StoreErrorClass
  readonly constraint: string | undefined
  readonly statement: number | undefined

  constructor(failure: StoreFailure) {
    super(failure.message)
    this.name = 'StoreError'
    this.class = failure.class
    this.constraint = failure.constraint
    this.statement = failure.statement
  }
}

/** SQLite's primary result codes (sqlite.org/rescode.html). */
const classes: Readonly<Record<number, StoreErrorClass>> = {
  5: 'full', // busy: another process holds the file
  6: 'full', // locked
  7: 'failed', // out of memory
  8: 'failed', // the file system became read-only
  10: 'failed', // input/output, fsync included
  11: 'failed', // corrupt
  13: 'full', // disk full
  14: 'failed', // cannot open
  19: 'conflict', // constraint
  26: 'failed', // not a database
}

/** SQLITE_IOERR_SHMSIZE: a full disk keeps the WAL's index from growing; nothing that lasts is touched. */
const sharedMemorySize = 4874

/** The class of an error thrown by node:sqlite or by our own checks on the way. */
export function failureOf(error: unknown, statement?: number): StoreFailure {
  if (error instanceof StoreError) {
    return { class: error.class, message: error.message, constraint: error.constraint, statement }
  }
  const message = errorWords(error)
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : undefined
  if (code === undefined) return { class: 'invalid', message, statement }
  const kind = code === sharedMemorySize ? 'full' : (classes[code & 0xff] ?? 'invalid')
  const constraint =
    kind === 'conflict' ? (/constraint failed: ([^\s,]+)/.exec(message)?.[1] ?? message) : undefined
  return { class: kind, message, constraint, statement }
}

/** Whether the store takes nothing for now: a full disk, a database that is away. */
export function isAway(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'full'
}

/** The refusal behind what was thrown: whoever comes while the store is away comes again, anything else is a bug. */
export function refusalBehind(error: unknown): Refusal {
  return isAway(error) ? refuse('service_unavailable') : refusalOf(error)
}

/** Whether a unique column (`accounts.email_normalised`), the first of several, already has the value. */
export function isTaken(error: unknown, column: string): boolean {
  return error instanceof StoreError && error.class === 'conflict' && error.constraint === column
}

/** Whether another row points to what was to be deleted, or a new row to nothing. */
export function isReferenced(error: unknown): boolean {
  return error instanceof StoreError && error.constraint === 'FOREIGN KEY constraint failed'
}

/** Whether the batch was undone because some statement did not change as many rows as expected. */
export function isUndone(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'conflict' && error.constraint === undefined
}

/** Whether the batch was undone because this statement did not change as many rows as expected. */
export function isUnmet(error: unknown, statement: number): boolean {
  return isUndone(error) && error instanceof StoreError && error.statement === statement
}
