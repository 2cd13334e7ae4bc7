/**
 * The only code that changes the ledger's state: one event after another, deciding nothing.
 * The same function runs live, at start over the journal, in `verify` and in the simulator.
 */
import type { Credited, Extended, Held, LedgerEvent, Settled } from './events.ts'
import { costOf } from './price.ts'
import {
  accountOwner,
  claimName,
  emptyOwner,
  keyOwner,
  modelOwner,
  periodOf,
  type Hold,
  type LedgerState,
  type Owner,
  type PastPeriod,
} from './state.ts'

/** An event that cannot follow from the state: the journal or the code is broken. */
export class LedgerBroken extends Error {}

function touchedOwner(state: LedgerState, id: string): Owner {
  const known = state.owners.get(id)
  if (known) return known
  const owner = emptyOwner()
  state.owners.set(id, owner)
  return owner
}

function holdNamed(state: LedgerState, id: string): Hold {
  const hold = state.holds.get(id)
  if (!hold) throw new LedgerBroken(`no open hold ${id}`)
  return hold
}

interface Periods {
  readonly dayEnd: number
  readonly monthEnd: number
}

/** Puts a period that is over beside, when holds still count in it, and takes up the one that opens. */
function turn(
  owner: Owner,
  over: PastPeriod,
  end: number,
): { readonly spent: bigint; readonly held: bigint } {
  const { unit } = over
  const opened = periodOf(owner, unit, end) ?? { spent: 0n, held: 0n }
  const others = owner.past.filter((period) => period.unit !== unit || period.end !== end)
  owner.past = over.held > 0n ? [...others, over] : others
  return opened
}

/** Opens the periods of a hold when they are not the owner's last ones. */
function openPeriods(owner: Owner, { dayEnd, monthEnd }: Periods): void {
  if (owner.dayEnd !== dayEnd) {
    const over = { unit: 'day' as const, end: owner.dayEnd, spent: owner.daySpent, held: owner.dayHeld }
    const { spent: daySpent, held: dayHeld } = turn(owner, over, dayEnd)
    Object.assign(owner, { dayEnd, daySpent, dayHeld, dayRequests: 0 })
  }
  if (owner.monthEnd !== monthEnd) {
    const over = {
      unit: 'month' as const,
      end: owner.monthEnd,
      spent: owner.monthSpent,
      held: owner.monthHeld,
    }
    const { spent: monthSpent, held: monthHeld } = turn(owner, over, monthEnd)
    Object.assign(owner, { monthEnd, monthSpent, monthHeld })
  }
}

/** Adds to what is held and spent, in the periods that the hold counts against, over or not. */
function post(owner: Owner, { dayEnd, monthEnd }: Periods, held: bigint, spent: bigint): void {
  owner.held += held
  owner.totalSpent += spent
  if (owner.dayEnd === dayEnd) {
    owner.dayHeld += held
    owner.daySpent += spent
  }
  if (owner.monthEnd === monthEnd) {
    owner.monthHeld += held
    owner.monthSpent += spent
  }
  if (owner.past.length === 0) return
  for (const period of owner.past) {
    if (period.end !== (period.unit === 'day' ? dayEnd : monthEnd)) continue
    period.held += held
    period.spent += spent
  }
  owner.past = owner.past.filter((period) => period.held > 0n)
}

/** Money is never promised twice: what is held is there. */
function checkCovered(account: Owner, id: string): void {
  if (account.held >= 0n && account.balance >= account.held) return
  throw new LedgerBroken(`after ${id} an account holds ${account.held} of a balance of ${account.balance}`)
}

function applyHeld(state: LedgerState, event: Held): void {
  if (state.holds.has(event.id)) throw new LedgerBroken(`hold ${event.id} is open already`)
  if (event.claim && state.claims.has(claimName(event.account, event.claim)))
    throw new LedgerBroken(`hold ${event.id} claims a key that is taken`)
  for (const id of [accountOwner(event.account), keyOwner(event.key)]) {
    const owner = touchedOwner(state, id)
    openPeriods(owner, event)
    post(owner, event, event.amount, 0n)
    owner.dayRequests += 1
  }
  if (event.countsForModel) {
    const requests = touchedOwner(state, modelOwner(event.account, event.model))
    openPeriods(requests, event)
    requests.dayRequests += 1
  }
  openHold(state, event)
  checkCovered(touchedOwner(state, accountOwner(event.account)), event.id)
}

/** Puts a hold among the open ones, and its claim among the claimed keys. */
export function openHold(state: Pick<LedgerState, 'holds' | 'claims'>, event: Held): void {
  const hold: Hold = { ...event, mark: null }
  state.holds.set(event.id, hold)
  if (event.claim) state.claims.set(claimName(event.account, event.claim), hold)
}

/** Takes a hold from among the open ones, with its claim. */
export function closeHold(
  { holds, claims }: Pick<LedgerState, 'holds' | 'claims'>,
  { id, account, claim }: Hold,
): void {
  holds.delete(id)
  if (claim) claims.delete(claimName(account, claim))
}

function applySettled(state: LedgerState, event: Settled): void {
  const hold = holdNamed(state, event.id)
  const { charge, overrun, usage } = event
  const most = costOf(hold.price, usage, hold.factorPpm)
  const cost = event.price ? costOf(event.price, usage, hold.factorPpm) : most
  if (charge < 0n || overrun < 0n || charge + overrun !== cost || cost > most) {
    throw new LedgerBroken(`settlement of ${event.id} does not equal its cost`)
  }
  const account = touchedOwner(state, accountOwner(hold.account))
  account.balance -= charge
  post(account, hold, -hold.amount, charge)
  post(touchedOwner(state, keyOwner(hold.key)), hold, -hold.amount, charge)
  if (overrun > 0n) {
    account.overran = true
    state.overrun += overrun
  }
  end(state, hold)
  checkCovered(account, event.id)
}

function end(state: LedgerState, hold: Hold): void {
  closeHold(state, hold)
  state.ended.add(hold.id)
}

function release(state: LedgerState, id: string): void {
  const hold = holdNamed(state, id)
  post(touchedOwner(state, accountOwner(hold.account)), hold, -hold.amount, 0n)
  post(touchedOwner(state, keyOwner(hold.key)), hold, -hold.amount, 0n)
  end(state, hold)
}

function applyExtended(state: LedgerState, event: Extended): void {
  const hold = holdNamed(state, event.id)
  if (event.amount < 0n) throw new LedgerBroken(`extension of ${event.id} takes away`)
  const account = touchedOwner(state, accountOwner(hold.account))
  post(account, hold, event.amount, 0n)
  post(touchedOwner(state, keyOwner(hold.key)), hold, event.amount, 0n)
  hold.amount += event.amount
  hold.outputTokens = event.outputTokens
  checkCovered(account, event.id)
}

function applyCredited(state: LedgerState, event: Credited): void {
  if (state.credits.has(event.id)) throw new LedgerBroken(`credit ${event.id} is entered already`)
  state.credits.set(event.id, event.amount)
  const account = touchedOwner(state, accountOwner(event.account))
  account.balance += event.amount
  checkCovered(account, event.id)
}

/** Applies one event. Throws `LedgerBroken` when it cannot follow from the state; the state is then unusable. */
export function apply(state: LedgerState, event: LedgerEvent): void {
  switch (event.kind) {
    case 'held':
      return applyHeld(state, event)
    case 'extended':
      return applyExtended(state, event)
    case 'marked': {
      holdNamed(state, event.id).mark = { inputTokens: event.inputTokens, outputTokens: event.outputTokens }
      return undefined
    }
    case 'settled':
      return applySettled(state, event)
    case 'released':
      return release(state, event.id)
    case 'credited':
      return applyCredited(state, event)
    case 'late': {
      state.overrun += event.overrun
      return undefined
    }
  }
}
