/** What the ledger of a node stands on, and whose fault it is when a batch fails. */
import { sqlStateOf } from '../../db/postgres/errors.ts'
import type { NodeHead } from '../../db/postgres/ledger-rows.ts'
import { LedgerBroken } from '../../ledger/apply.ts'
import { JournalUnreadable } from '../../ledger/journal.ts'
import type { Mark } from './batch-needs.ts'
import type { Batch } from './ledger/batch.ts'
import type { SettleWork, Work } from './work.ts'

export interface SharedLedgerParts {
  readonly url: string
  readonly node: string
  readonly epoch: number
  readonly now: () => number
  /** Writes a settlement to this node's own disk; resolves when it is there. */
  readonly keep: (work: SettleWork) => Promise<void>
  /** These holds have ended in the database: nothing of them is needed here any more. */
  readonly forget: (ids: readonly string[]) => void
  readonly listener: SharedLedgerListener
  /** How long callers wait for a database that has just gone; 5 s where nothing is given. */
  readonly patienceMs?: number
}

export interface SharedLedgerListener {
  admitting(isOpen: boolean, why: string): void
  /** The node was retired, or another process runs in its name, or the database is not what it was. */
  fenced(why: string): void
  /** What the database holds cannot be: nothing more may be decided. */
  broken(error: unknown): void
}

export const fencedWhy = 'this node was retired while it was away; it joins again'

/** The node's epoch is over; the message says why. */
export class Fenced extends Error {
  constructor(why: string = fencedWhy) {
    super(why)
  }
}

/** A batch that was sent to be committed. */
export interface Attempt {
  readonly works: readonly Work[]
  readonly batch: Batch
  readonly head: NodeHead
  readonly marks: ReadonlyMap<string, Mark>
}

/** A request has a row already: it was refused while the database was away, and its hold was granted after all. */
export function isRequestKnown(error: unknown): boolean {
  return (
    sqlStateOf(error) === '23505' && error instanceof Error && 'table' in error && error.table === 'requests'
  )
}

/** Not what a database that goes away comes to, but what the ledger or this program does. */
export function isOurFault(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state !== undefined) return /^(21|22|23|42)/.test(state)
  const ours = [LedgerBroken, JournalUnreadable, TypeError, RangeError, SyntaxError]
  return ours.some((kind) => error instanceof kind)
}
