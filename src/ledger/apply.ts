/**
 * The only code that changes the ledger's state. It applies one event after another and decides nothing. The
 * same function runs live, over the journal at startup, in `verify` and in the simulator.
 */
import type { PeriodEnds } from './periods.ts'
import type { Credited, Extended, Held, Late, LedgerEvent, Marked, Reopened, Settled } from './events.ts'
import { costOf } from './price.ts'
import {
  accountOwner,
  claimId,
  emptyOwner,
  keyOwner,
  modelOwner,
  periodOf,
  type Hold,
  type LedgerState,
  type Owner,
  type PastPeriod,
} from './state.ts'

/** An event cannot follow from the state: either the journal or the code is broken. */
export class LedgerInvariantError extends Error {}

function getOrCreateOwner(state: LedgerState, id: string): Owner {
  const known = state.owners.get(id)
  if (known) return known
  const owner = emptyOwner()
  state.owners.set(id, owner)
  return owner
}

function requireHold(state: LedgerState, id: string): Hold {
  const hold = state.holds.get(id)
  if (!hold) throw new LedgerInvariantError(`no open hold ${id}`)
  return hold
}

/** Starts the next period. Keeps the ended one if holds still count against it. */
function rollOver(
  owner: Owner,
  ended: PastPeriod,
  end: number,
): { readonly spent: bigint; readonly held: bigint } {
  const { unit } = ended
  const opened = periodOf(owner, unit, end) ?? { spent: 0n, held: 0n }
  const others = owner.past.filter((period) => period.unit !== unit || period.end !== end)
  owner.past = ended.held > 0n ? [...others, ended] : others
  return opened
}

/** Opens the periods of a hold unless they are the owner's current ones. */
function openPeriods(owner: Owner, { dayEnd, monthEnd }: PeriodEnds): void {
  if (owner.dayEnd !== dayEnd) {
    const ended = { unit: 'day' as const, end: owner.dayEnd, spent: owner.daySpent, held: owner.dayHeld }
    const { spent: daySpent, held: dayHeld } = rollOver(owner, ended, dayEnd)
    Object.assign(owner, { dayEnd, daySpent, dayHeld, dayRequests: 0 })
  }
  if (owner.monthEnd !== monthEnd) {
    const ended = {
      unit: 'month' as const,
      end: owner.monthEnd,
      spent: owner.monthSpent,
      held: owner.monthHeld,
    }
    const { spent: monthSpent, held: monthHeld } = rollOver(owner, ended, monthEnd)
    Object.assign(owner, { monthEnd, monthSpent, monthHeld })
  }
}

/** Adds to what is held and spent in the hold's periods, whether or not they have ended. */
function addAmounts(owner: Owner, { dayEnd, monthEnd }: PeriodEnds, held: bigint, spent: bigint): void {
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

/** Money is never promised twice: the balance covers everything that is held. */
function assertCovered(account: Owner, id: string): void {
  if (account.held >= 0n && account.balance >= account.held) return
  throw new LedgerInvariantError(
    `after ${id} an account holds ${account.held} of a balance of ${account.balance}`,
  )
}

function applyHeld(state: LedgerState, event: Held): void {
  if (state.holds.has(event.id)) throw new LedgerInvariantError(`hold ${event.id} is already open`)
  if (event.claim && state.claims.has(claimId(event.account, event.claim)))
    throw new LedgerInvariantError(`hold ${event.id} claims an idempotency key that is already claimed`)
  for (const id of [accountOwner(event.account), keyOwner(event.key)]) {
    const owner = getOrCreateOwner(state, id)
    openPeriods(owner, event)
    addAmounts(owner, event, event.amount, 0n)
    owner.dayRequests += 1
  }
  if (event.countsForModel) {
    const requests = getOrCreateOwner(state, modelOwner(event.account, event.model))
    openPeriods(requests, event)
    requests.dayRequests += 1
  }
  openHold(state, event)
  assertCovered(getOrCreateOwner(state, accountOwner(event.account)), event.id)
}

type OpenHolds = Pick<LedgerState, 'holds' | 'claims'>

/** Adds an open hold, and its claim if it has one. */
export function openHold({ holds, claims }: OpenHolds, event: Held): void {
  const hold: Hold = { ...event, mark: null }
  holds.set(event.id, hold)
  if (event.claim) claims.set(claimId(event.account, event.claim), hold)
}

/** Removes an open hold and its claim. */
function closeHold({ holds, claims }: OpenHolds, { id, account, claim }: Hold): void {
  holds.delete(id)
  if (claim) claims.delete(claimId(account, claim))
}

function extendHold(hold: Hold, { amount, outputTokens }: Extended): void {
  hold.amount += amount
  hold.outputTokens = outputTokens
}

function markHold(hold: Hold, { inputTokens, outputTokens }: Marked): void {
  hold.mark = { inputTokens, outputTokens }
}

/** Applies the effect of an event on the set of open holds and on nothing else. Holds that are not in it are ignored. */
export function applyToHolds(open: OpenHolds, event: LedgerEvent): void {
  if (event.kind === 'held') return openHold(open, event)
  const hold = open.holds.get(event.id)
  if (!hold) return
  if (event.kind === 'extended') extendHold(hold, event)
  else if (event.kind === 'marked') markHold(hold, event)
  else if (event.kind === 'settled' || event.kind === 'released') closeHold(open, hold)
}

function applySettled(state: LedgerState, event: Settled): void {
  const hold = requireHold(state, event.id)
  const { charge, overrun, usage } = event
  const maxCost = costOf(hold.price, usage, hold.factorPpm)
  const cost = event.price ? costOf(event.price, usage, hold.factorPpm) : maxCost
  if (charge < 0n || overrun < 0n || charge + overrun !== cost || cost > maxCost) {
    throw new LedgerInvariantError(`settlement of ${event.id} does not equal its cost`)
  }
  const account = getOrCreateOwner(state, accountOwner(hold.account))
  account.balance -= charge
  addAmounts(account, hold, -hold.amount, charge)
  addAmounts(getOrCreateOwner(state, keyOwner(hold.key)), hold, -hold.amount, charge)
  if (overrun > 0n) {
    account.overran = true
    state.overrun += overrun
  }
  endHold(state, hold)
  assertCovered(account, event.id)
}

function endHold(state: LedgerState, hold: Hold): void {
  closeHold(state, hold)
  state.ended.add(hold.id)
}

function applyReleased(state: LedgerState, id: string): void {
  const hold = requireHold(state, id)
  addAmounts(getOrCreateOwner(state, accountOwner(hold.account)), hold, -hold.amount, 0n)
  addAmounts(getOrCreateOwner(state, keyOwner(hold.key)), hold, -hold.amount, 0n)
  endHold(state, hold)
}

function applyExtended(state: LedgerState, event: Extended): void {
  const hold = requireHold(state, event.id)
  if (event.amount < 0n) throw new LedgerInvariantError(`extension of ${event.id} is negative`)
  const account = getOrCreateOwner(state, accountOwner(hold.account))
  addAmounts(account, hold, event.amount, 0n)
  addAmounts(getOrCreateOwner(state, keyOwner(hold.key)), hold, event.amount, 0n)
  extendHold(hold, event)
  assertCovered(account, event.id)
}

function applyCredited(state: LedgerState, event: Credited): void {
  if (state.credits.has(event.id)) throw new LedgerInvariantError(`credit ${event.id} is already entered`)
  state.credits.set(event.id, event.amount)
  const account = getOrCreateOwner(state, accountOwner(event.account))
  account.balance += event.amount
  if (event.endsOverrun) account.overran = false
  assertCovered(account, event.id)
}

function applyLate(state: LedgerState, { id, account: accountId, overrun, charge }: Late): void {
  state.overrun += overrun
  if (!charge) return
  const { amount, key } = charge
  if (amount <= 0n) throw new LedgerInvariantError(`the late bill of ${id} charges ${amount}`)
  const account = getOrCreateOwner(state, accountOwner(accountId))
  account.balance -= amount
  addAmounts(account, charge, 0n, amount)
  addAmounts(getOrCreateOwner(state, keyOwner(key)), charge, 0n, amount)
  assertCovered(account, id)
}

function applyReopened(state: LedgerState, event: Reopened): void {
  const owner = getOrCreateOwner(state, event.id)
  const { dayEnd, monthEnd } = owner
  openPeriods(owner, event)
  const { daySpent, dayRequests, monthSpent } = event
  if (dayEnd !== event.dayEnd) Object.assign(owner, { daySpent, dayRequests })
  if (monthEnd !== event.monthEnd) owner.monthSpent = monthSpent
}

/**
 * Applies one event. Throws `LedgerInvariantError` if it cannot follow from the state, which is unusable
 * afterwards.
 */
export function apply(state: LedgerState, event: LedgerEvent): void {
  switch (event.kind) {
    case 'held':
      return applyHeld(state, event)
    case 'extended':
      return applyExtended(state, event)
    case 'marked':
      return markHold(requireHold(state, event.id), event)
    case 'settled':
      return applySettled(state, event)
    case 'released':
      return applyReleased(state, event.id)
    case 'credited':
      return applyCredited(state, event)
    case 'late':
      return applyLate(state, event)
    case 'reopened':
      return applyReopened(state, event)
  }
}
