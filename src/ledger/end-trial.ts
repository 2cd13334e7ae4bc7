/**
 * The end of a trial credit that was granted for a limited time: what is left of it is taken back. Trial
 * credit is spent before any other money, so everything that the account has spent since counts against it
 * first. Held money is not touched.
 */
import type { Credited } from './events.ts'
import { accountOwner, ownerOf, type LedgerState } from './state.ts'
import { credit } from './operations.ts'

export interface TrialEnd {
  /** Identifies this entry permanently. */
  readonly id: string
  readonly at: number
  readonly account: string
  /** What was granted less what was already taken back, in nanos. */
  readonly amount: bigint
  /** The account's total spending at the time of the grant. */
  readonly spentBefore: bigint
  readonly reason: string
}

export interface EndedTrial {
  /** The entry that takes money back now. null: there was none to take. */
  readonly event: Credited | null
  /** False: open requests still hold some of it; try again when they have ended. */
  readonly isDone: boolean
}

/** Takes back what is left of a trial credit, except what is held. */
export function endTrial(state: LedgerState, end: TrialEnd): EndedTrial {
  const { id, at, account, reason } = end
  const owner = ownerOf(state, accountOwner(account))
  const unspent = end.amount - (owner.totalSpent - end.spentBefore)
  const available = owner.balance - owner.held
  const reclaimed = unspent < available ? unspent : available
  const isDone = unspent <= reclaimed || owner.held === 0n
  if (reclaimed <= 0n) return { event: null, isDone }
  const event = credit(state, { id, at, account, amount: -reclaimed, source: 'trial', reason })
  // An entry with this id already exists: the caller has to count it first.
  return typeof event === 'string' ? { event: null, isDone: false } : { event, isDone }
}
