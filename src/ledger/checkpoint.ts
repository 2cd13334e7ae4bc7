/**
 * What a start needs besides the owners' rows: the holds that were open at a checkpoint and the journal since
 * then. Every commit writes the owners it touches, so only the set of open holds is replayed.
 */
import type { Held, LedgerEvent } from './events.ts'
import { decodeEvents, encodeEvents, JournalFormatError } from './journal.ts'
import { applyToHolds } from './apply.ts'
import {
  accountOwner,
  emptyOwner,
  emptyState,
  keyOwner,
  type Hold,
  type LedgerState,
  type Owner,
} from './state.ts'

function heldEvent(hold: Hold): Held {
  return { kind: 'held', ...hold }
}

/** The open holds, encoded as the events that would recreate them. */
export function encodeHolds(state: LedgerState): string {
  const events: LedgerEvent[] = []
  for (const hold of state.holds.values()) {
    events.push(heldEvent(hold))
    if (hold.mark) events.push({ kind: 'marked', id: hold.id, at: hold.at, ...hold.mark })
  }
  return encodeEvents(events)
}

/** One open hold as text. Its mark is stored separately. */
export function encodeHold(hold: Hold): string {
  return encodeEvents([heldEvent(hold)])
}

/** Throws `JournalFormatError`. */
export function decodeHold(body: string, mark: Hold['mark']): Hold {
  const [event] = decodeEvents(body)
  if (event?.kind !== 'held') throw new JournalFormatError(`not a hold: ${body}`)
  return { ...event, mark }
}

/** An owner as stored in its row: everything except what is held, which follows from the open holds. */
export type StoredOwner = Omit<Owner, 'held' | 'dayHeld' | 'monthHeld' | 'past'>

/**
 * The state as of the last commit, restored from the last checkpoint's holds, the journal rows after it and
 * the owners' rows. `overrun` is the sum of all overrun transfers.
 */
export function restoreState(from: {
  readonly holds: string | null
  readonly journal: readonly string[]
  readonly owners: Iterable<readonly [id: string, owner: StoredOwner]>
  readonly overrun: bigint
}): LedgerState {
  const state = emptyState()
  state.overrun = from.overrun
  for (const [id, owner] of from.owners) state.owners.set(id, { ...emptyOwner(), ...owner })
  if (from.holds !== null) for (const event of decodeEvents(from.holds)) applyToHolds(state, event)
  for (const body of from.journal) for (const event of decodeEvents(body)) applyToHolds(state, event)
  for (const hold of state.holds.values()) {
    for (const id of [accountOwner(hold.account), keyOwner(hold.key)]) {
      const owner = state.owners.get(id)
      if (!owner) continue
      owner.held += hold.amount
      if (owner.dayEnd === hold.dayEnd) owner.dayHeld += hold.amount
      if (owner.monthEnd === hold.monthEnd) owner.monthHeld += hold.amount
    }
  }
  return state
}
