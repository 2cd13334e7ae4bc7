/**
 * The only code that changes the ledger's state: one event after another, deciding nothing.
 * The same function runs live, at start over the journal, in `verify` and in the simulator.
 */
import type { Credited, Held, LedgerEvent, Settled } from './events.ts'
import { costOf } from './price.ts'
import { accountOwner, emptyOwner, keyOwner, type Hold, type LedgerState, type Owner } from './state.ts'

/** An event that cannot follow from the state: the journal or the code is broken. */
export class LedgerBroken extends Error {}

function touchedOwner(state: LedgerState, id: string): Owner {
  const known = state.owners.get(id)
  if (known) return known
  const owner = emptyOwner()
  state.owners.set(id, owner)
  return owner
}

function openHold(state: LedgerState, id: string): Hold {
  const hold = state.holds.get(id)
  if (!hold) throw new LedgerBroken(`no open hold ${id}`)
  return hold
}

/** Opens the periods of a hold when the owner's last ones are over. */
function openPeriods(owner: Owner, event: Held): void {
  if (owner.dayEnd < event.dayEnd) {
    owner.dayEnd = event.dayEnd
    owner.daySpent = 0n
    owner.dayHeld = 0n
    owner.dayRequests = 0
  }
  if (owner.monthEnd < event.monthEnd) {
    owner.monthEnd = event.monthEnd
    owner.monthSpent = 0n
    owner.monthHeld = 0n
  }
}

/** Moves an amount in or out of what is held, in the periods that the hold counts against. */
function setAside(owner: Owner, hold: { dayEnd: number; monthEnd: number }, amount: bigint): void {
  owner.held += amount
  if (owner.dayEnd === hold.dayEnd) owner.dayHeld += amount
  if (owner.monthEnd === hold.monthEnd) owner.monthHeld += amount
}

function spend(owner: Owner, hold: Hold, amount: bigint): void {
  owner.totalSpent += amount
  if (owner.dayEnd === hold.dayEnd) owner.daySpent += amount
  if (owner.monthEnd === hold.monthEnd) owner.monthSpent += amount
}

function applyHeld(state: LedgerState, event: Held): void {
  if (state.holds.has(event.id)) throw new LedgerBroken(`hold ${event.id} is open already`)
  for (const id of [accountOwner(event.account), keyOwner(event.key)]) {
    const owner = touchedOwner(state, id)
    openPeriods(owner, event)
    setAside(owner, event, event.amount)
    owner.dayRequests += 1
  }
  state.holds.set(event.id, { ...event, mark: null })
}

function applySettled(state: LedgerState, event: Settled): void {
  const hold = openHold(state, event.id)
  if (event.charge + event.overrun !== costOf(hold.price, event.usage, hold.factorPpm)) {
    throw new LedgerBroken(`settlement of ${event.id} does not equal its cost`)
  }
  const account = touchedOwner(state, accountOwner(hold.account))
  for (const owner of [account, touchedOwner(state, keyOwner(hold.key))]) {
    setAside(owner, hold, -hold.amount)
    spend(owner, hold, event.charge)
  }
  account.balance -= event.charge
  if (event.overrun > 0n) {
    account.overran = true
    state.overrun += event.overrun
  }
  state.holds.delete(event.id)
}

function release(state: LedgerState, id: string): void {
  const hold = openHold(state, id)
  setAside(touchedOwner(state, accountOwner(hold.account)), hold, -hold.amount)
  setAside(touchedOwner(state, keyOwner(hold.key)), hold, -hold.amount)
  state.holds.delete(id)
}

function applyCredited(state: LedgerState, event: Credited): void {
  if (state.credits.has(event.id)) throw new LedgerBroken(`credit ${event.id} is entered already`)
  state.credits.set(event.id, event.amount)
  touchedOwner(state, accountOwner(event.account)).balance += event.amount
}

/** Applies one event. Throws `LedgerBroken` when it cannot follow from the state; the state is then unusable. */
export function apply(state: LedgerState, event: LedgerEvent): void {
  switch (event.kind) {
    case 'held':
      return applyHeld(state, event)
    case 'extended': {
      const hold = openHold(state, event.id)
      setAside(touchedOwner(state, accountOwner(hold.account)), hold, event.amount)
      setAside(touchedOwner(state, keyOwner(hold.key)), hold, event.amount)
      hold.amount += event.amount
      hold.outputTokens = event.outputTokens
      return undefined
    }
    case 'marked': {
      openHold(state, event.id).mark = { inputTokens: event.inputTokens, outputTokens: event.outputTokens }
      return undefined
    }
    case 'settled':
      return applySettled(state, event)
    case 'released':
      return release(state, event.id)
    case 'credited':
      return applyCredited(state, event)
  }
}
