/**
 * The end of a trial credit that was given for a time: what is left of it is taken back. It is spent before any other
 * money: what the account has spent since counts against it first. What is held is not touched.
 */
import type { LedgerEvent } from './events.ts'
import { accountOwner, ownerOf, type LedgerState } from './state.ts'
import { credit } from './operations.ts'

export interface TrialEnd {
  /** Names this entry for good. */
  readonly id: string
  readonly at: number
  readonly account: string
  /** What was given, less what was taken back before, in nanos. */
  readonly amount: bigint
  /** All that the account had spent when it was given. */
  readonly spentBefore: bigint
  readonly reason: string
}

export interface EndedTrial {
  /** What was taken back now; null: nothing. */
  readonly event: LedgerEvent | null
  /** Open requests hold some of it yet: ask again when they have ended. */
  readonly isDone: boolean
}

/** Takes back what is left of a trial credit, as far as nothing holds it. */
export function endTrial(state: LedgerState, end: TrialEnd): EndedTrial {
  const { id, at, account, reason } = end
  const owner = ownerOf(state, accountOwner(account))
  const unspent = end.amount - (owner.totalSpent - end.spentBefore)
  const free = owner.balance - owner.held
  const back = unspent < free ? unspent : free
  const isDone = unspent <= back || owner.held === 0n
  if (back <= 0n) return { event: null, isDone }
  const event = credit(state, { id, at, account, amount: -back, source: 'trial', reason })
  // An entry of this name is there already: whoever asks has to count it in first.
  return typeof event === 'string' ? { event: null, isDone: false } : { event, isDone }
}
