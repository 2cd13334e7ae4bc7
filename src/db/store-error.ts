/** Errors of failed writes, classified by what the caller must do: see StoreErrorClass. */

import { asApiError, apiError, type ApiError } from '../errors.ts'
import { errorMessage } from '../lib/error-message.ts'

/**
 * `full`: nothing was written unless `isInDoubt`, and a retry may succeed (disk full, database locked or unavailable).
 * `failed`: the disk cannot be trusted (fsync, input/output, corruption); the process must exit.
 * `conflict`: nothing was written, because a constraint or an expectation failed.
 * `invalid`: nothing was written, because the statement is wrong; a bug.
 * `busy`: nothing was read, because too many queries of the same owner are waiting (query-queue.ts).
 */
export type StoreErrorClass = 'full' | 'failed' | 'conflict' | 'invalid' | 'busy'

export interface StoreFailure {
  readonly class: StoreErrorClass
  readonly message: string
  /** The violated constraint as SQLite names it; a unique constraint by its column (`accounts.email_normalised`). */
  readonly constraint?: string
  /** The index of the statement whose expectation or constraint failed. */
  readonly statement?: number
  /** The connection was lost while the batch was committed: it may have been written after all. */
  readonly isInDoubt?: boolean
}

export class StoreError extends Error {
  readonly class: StoreErrorClass
  readonly constraint: string | undefined
  readonly statement: number | undefined
  readonly isInDoubt: boolean

  constructor(failure: StoreFailure) {
    super(failure.message)
    this.name = 'StoreError'
    this.class = failure.class
    this.constraint = failure.constraint
    this.statement = failure.statement
    this.isInDoubt = failure.isInDoubt === true
  }
}

/** SQLite's primary result codes (sqlite.org/rescode.html). */
const classesByResultCode: Readonly<Record<number, StoreErrorClass>> = {
  5: 'full', // busy: another process locks the file
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

/** SQLITE_IOERR_SHMSIZE: a full disk prevents the WAL index from growing; no persistent data is affected. */
const sharedMemorySize = 4874

/** Classifies an error thrown by node:sqlite or by our own checks. */
export function toStoreFailure(error: unknown, statement?: number): StoreFailure {
  if (error instanceof StoreError) {
    const { class: kind, message, constraint, isInDoubt } = error
    return { class: kind, message, constraint, statement: error.statement ?? statement, isInDoubt }
  }
  const message = errorMessage(error)
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : undefined
  if (code === undefined) return { class: 'invalid', message, statement }
  const kind = code === sharedMemorySize ? 'full' : (classesByResultCode[code & 0xff] ?? 'invalid')
  const constraint =
    kind === 'conflict' ? (/constraint failed: ([^\s,]+)/.exec(message)?.[1] ?? message) : undefined
  return { class: kind, message, constraint, statement }
}

/** Whether the store is temporarily unavailable: the disk is full, or the database cannot be reached. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'full'
}

/** Converts a thrown value to an API error: clients may retry while the store is unavailable; anything else is a bug. */
export function toApiError(error: unknown): ApiError {
  return isUnavailable(error) ? apiError('service_unavailable') : asApiError(error)
}

/** Whether nothing was written and the same batch may succeed later. */
export function isSafeToRetry(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'full' && !error.isInDoubt
}

/** Whether a unique column (`accounts.email_normalised`), the first one of several, already has the value. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  return error instanceof StoreError && error.class === 'conflict' && error.constraint === column
}

/** Whether a row to be deleted is still referenced, or a new row references a missing one. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof StoreError && error.constraint === 'FOREIGN KEY constraint failed'
}

/** Whether the batch was rolled back because a statement did not change the expected number of rows. */
export function isExpectationFailure(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'conflict' && error.constraint === undefined
}

/** Whether the batch was rolled back because this statement did not change the expected number of rows. */
export function isExpectationFailureOf(error: unknown, statement: number): boolean {
  return isExpectationFailure(error) && error instanceof StoreError && error.statement === statement
}
