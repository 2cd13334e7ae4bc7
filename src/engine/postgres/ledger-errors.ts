/** What the failure of a batch means: the node's epoch is over, a known row, a bug, or else an outage of the database. */
import { sqlState } from '../../db/postgres/errors.ts'
import { LedgerInvariantError } from '../../ledger/apply.ts'
import { JournalFormatError } from '../../ledger/journal.ts'

export const retiredWhy = 'this node was retired while it was unavailable; it rejoins the cluster'

/** The node's epoch is over; the message says why. */
export class FencedError extends Error {
  constructor(why: string = retiredWhy) {
    super(why)
  }
}

/** A request already has a row: it was rejected during an outage of the database, and its hold was granted after all. */
export function isDuplicateRequestRow(error: unknown): boolean {
  return (
    sqlState(error) === '23505' && error instanceof Error && 'table' in error && error.table === 'requests'
  )
}

/** Whether the ledger or this program caused the error, rather than a database that becomes unavailable. */
export function isLedgerBug(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return /^(21|22|23|42)/.test(state)
  const bugs = [LedgerInvariantError, JournalFormatError, TypeError, RangeError, SyntaxError]
  return bugs.some((kind) => error instanceof kind)
}
