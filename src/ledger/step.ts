/**
 * The ledger's rules: an operation and the state in, a decision out. Pure: no clock, no chance, no I/O;
 * the operation brings its time. A decision that changes money is an event, which `apply` has then taken in;
 * asking for the same thing again finds it done.
 */
import { apply } from './apply.ts'
import type { CreditKind, LedgerEvent, SettleCause } from './events.ts'
import { ceilingOf, costOf, type Usage } from './price.ts'
import { sizeOfExtension, sizeOfHold, type Terms } from './holds.ts'
import {
  accountOwner,
  emptyOwner,
  keyOwner,
  ownerOf,
  type Hold,
  type LedgerState,
  type Owner,
} from './state.ts'

/** Spend caps in nanos and requests per day; `null`: none. */
export interface Caps {
  readonly accountDay: bigint | null
  readonly accountMonth: bigint | null
  readonly keyDay: bigint | null
  readonly keyMonth: bigint | null
  readonly keyTotal: bigint | null
  readonly accountRequestsPerDay: number | null
  readonly keyRequestsPerDay: number | null
}

/** The open periods of the account's time zone at the operation's time: used when the last ones are over. */
export interface Periods {
  readonly dayEnd: number
  readonly monthEnd: number
}

export type CapName = 'accountDay' | 'accountMonth' | 'keyDay' | 'keyMonth' | 'keyTotal'

export type Denial =
  | { readonly kind: 'balance' }
  | { readonly kind: 'cap'; readonly cap: CapName; readonly resumesAt: number | null }
  | { readonly kind: 'requests-per-day'; readonly of: 'account' | 'key'; readonly resumesAt: number }
  | { readonly kind: 'known' }

export interface HoldOperation extends Terms, Periods {
  readonly id: string
  readonly at: number
  readonly account: string
  readonly key: string
  readonly model: string
  readonly caps: Caps
}

export interface Granted {
  readonly event: LedgerEvent
  readonly outputTokens: number
  readonly maximumTokens: number | null
}

/** An owner as a time sees it: periods that are over count nothing. */
export function ownerAt(owner: Owner, at: number): Owner {
  if (owner.dayEnd > at && owner.monthEnd > at) return owner
  const view = { ...owner }
  if (view.dayEnd <= at) Object.assign(view, { daySpent: 0n, dayHeld: 0n, dayRequests: 0 })
  if (view.monthEnd <= at) Object.assign(view, { monthSpent: 0n, monthHeld: 0n })
  return view
}

interface Room {
  readonly available: bigint
  readonly tightest: CapName | 'balance'
}

/** What can still be set aside: the smallest of the balance and every cap, less what is spent and held. */
function roomOf(account: Owner, key: Owner, caps: Caps): Room {
  let available = account.balance - account.held
  let tightest: Room['tightest'] = 'balance'
  const narrow = (name: CapName, cap: bigint | null, used: bigint): void => {
    if (cap === null || cap - used >= available) return
    available = cap - used
    tightest = name
  }
  narrow('accountDay', caps.accountDay, account.daySpent + account.dayHeld)
  narrow('accountMonth', caps.accountMonth, account.monthSpent + account.monthHeld)
  narrow('keyDay', caps.keyDay, key.daySpent + key.dayHeld)
  narrow('keyMonth', caps.keyMonth, key.monthSpent + key.monthHeld)
  narrow('keyTotal', caps.keyTotal, key.totalSpent + key.held)
  return { available: available > 0n ? available : 0n, tightest }
}

/** What can still be set aside, in nanos. */
export function availableOf(account: Owner, key: Owner, caps: Caps): bigint {
  return roomOf(account, key, caps).available
}

function denialOf(tightest: Room['tightest'], periods: Periods): Denial {
  if (tightest === 'balance') return { kind: 'balance' }
  if (tightest === 'keyTotal') return { kind: 'cap', cap: tightest, resumesAt: null }
  const daily = tightest === 'accountDay' || tightest === 'keyDay'
  return { kind: 'cap', cap: tightest, resumesAt: daily ? periods.dayEnd : periods.monthEnd }
}

/** The periods a new hold counts in: those already open, else the ones proposed. */
function periodsOf(account: Owner, operation: HoldOperation): Periods {
  return {
    dayEnd: account.dayEnd > operation.at ? account.dayEnd : operation.dayEnd,
    monthEnd: account.monthEnd > operation.at ? account.monthEnd : operation.monthEnd,
  }
}

/** An owner as it will be once the periods are open. */
function ownerIn(owner: Owner, periods: Periods): Owner {
  const view = { ...owner }
  if (view.dayEnd !== periods.dayEnd) Object.assign(view, { daySpent: 0n, dayHeld: 0n, dayRequests: 0 })
  if (view.monthEnd !== periods.monthEnd) Object.assign(view, { monthSpent: 0n, monthHeld: 0n })
  return view
}

/** Sets money aside for a request, or says which limit forbids it. */
export function hold(state: LedgerState, operation: HoldOperation): Granted | Denial {
  if (state.holds.has(operation.id)) return { kind: 'known' }
  const { caps } = operation
  const known = ownerOf(state, accountOwner(operation.account))
  const periods = periodsOf(known, operation)
  const account = ownerIn(known, periods)
  const key = ownerIn(ownerOf(state, keyOwner(operation.key)), periods)
  if (caps.accountRequestsPerDay !== null && account.dayRequests >= caps.accountRequestsPerDay) {
    return { kind: 'requests-per-day', of: 'account', resumesAt: periods.dayEnd }
  }
  if (caps.keyRequestsPerDay !== null && key.dayRequests >= caps.keyRequestsPerDay) {
    return { kind: 'requests-per-day', of: 'key', resumesAt: periods.dayEnd }
  }
  const { available, tightest } = roomOf(account, key, caps)
  const inputTokens = account.overran ? operation.inputTokens * 2 : operation.inputTokens
  const size = sizeOfHold({ ...operation, inputTokens }, available)
  if (size === null) return denialOf(tightest, periods)
  const event: LedgerEvent = {
    kind: 'held',
    id: operation.id,
    at: operation.at,
    account: operation.account,
    key: operation.key,
    model: operation.model,
    amount: size.amount,
    price: operation.price,
    factorPpm: operation.factorPpm,
    inputTokens,
    outputTokens: size.outputTokens,
    ...periods,
  }
  apply(state, event)
  return { event, outputTokens: size.outputTokens, maximumTokens: size.maximumTokens }
}

function roomOfHold(state: LedgerState, held: Hold, caps: Caps): bigint {
  const account = ownerIn(ownerOf(state, accountOwner(held.account)), held)
  return roomOf(account, ownerIn(ownerOf(state, keyOwner(held.key)), held), caps).available
}

/**
 * Sets aside what the next tokens of a stream cost. `remaining`: output tokens it may still write.
 * `null` when nothing useful can be paid, or the hold has ended.
 */
export function extend(
  state: LedgerState,
  operation: { id: string; at: number; remaining: number; caps: Caps },
): Granted | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const terms: Terms = {
    ...held,
    results: 1,
    askedTokens: null,
    modelTokens: operation.remaining,
    manner: 'stream',
  }
  const tokens = sizeOfExtension(terms, roomOfHold(state, held, operation.caps), operation.remaining)
  if (tokens === 0) return null
  const outputTokens = held.outputTokens + tokens
  const amount = ceilingOf(held.price, held.inputTokens, outputTokens, held.factorPpm) - held.amount
  const event: LedgerEvent = { kind: 'extended', id: held.id, at: operation.at, amount, outputTokens }
  apply(state, event)
  return { event, outputTokens, maximumTokens: null }
}

/** Notes how much has come from the upstream. A mark never goes back; `null` when there is nothing to note. */
export function mark(
  state: LedgerState,
  operation: { id: string; at: number; inputTokens: number; outputTokens: number },
): LedgerEvent | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  if (held.mark && operation.outputTokens <= held.mark.outputTokens) return null
  const event: LedgerEvent = { kind: 'marked', ...operation }
  apply(state, event)
  return event
}

export interface Settlement {
  readonly event: LedgerEvent
  readonly charge: bigint
  readonly overrun: bigint
}

/**
 * Ends a hold with its bill. Above the hold, the rest is taken from what is available; what is not there is
 * not charged, and counts as overrun. `null` when the hold has ended before: nothing is charged twice.
 */
export function settle(
  state: LedgerState,
  operation: { id: string; at: number; usage: Usage; cause: SettleCause; caps: Caps },
): Settlement | null {
  const held = state.holds.get(operation.id)
  if (!held) return null
  const { id, at, usage, cause } = operation
  const cost = costOf(held.price, usage, held.factorPpm)
  const most = held.amount + roomOfHold(state, held, operation.caps)
  const charge = cost <= most ? cost : most
  const event: LedgerEvent = { kind: 'settled', id, at, cause, usage, charge, overrun: cost - charge }
  apply(state, event)
  return { event, charge, overrun: cost - charge }
}

/** Ends a hold that costs nothing; `null` when it has ended before. */
export function release(state: LedgerState, operation: { id: string; at: number }): LedgerEvent | null {
  if (!state.holds.has(operation.id)) return null
  const event: LedgerEvent = { kind: 'released', ...operation }
  apply(state, event)
  return event
}

/**
 * Ends the hold of a request whose relay is gone: charged at its last watermark, or released when nothing had
 * come. `null` when it has ended before.
 */
export function expire(
  state: LedgerState,
  operation: { id: string; at: number; caps: Caps },
): LedgerEvent | null {
  const held = state.holds.get(operation.id)
  if (!held?.mark) return release(state, { id: operation.id, at: operation.at })
  const usage: Usage = {
    input: held.mark.inputTokens,
    cachedInput: 0,
    cacheWrite: 0,
    output: held.mark.outputTokens,
    reasoning: 0,
  }
  return settle(state, { ...operation, usage, cause: 'mark' })?.event ?? null
}

export interface CreditOperation {
  /** Names the credit for good: the same one is entered once. */
  readonly id: string
  readonly at: number
  readonly account: string
  /** Nanos; negative takes back. */
  readonly amount: bigint
  readonly source: CreditKind
  readonly reason: string
}

/** Enters money, or takes it back, never below what is held. `known`: entered before. */
export function credit(state: LedgerState, operation: CreditOperation): LedgerEvent | 'known' | 'too-much' {
  if (state.credits.has(operation.id)) return 'known'
  const owner = state.owners.get(accountOwner(operation.account)) ?? emptyOwner()
  if (operation.amount < 0n && owner.balance + operation.amount < owner.held) return 'too-much'
  const event: LedgerEvent = { kind: 'credited', ...operation }
  apply(state, event)
  return event
}
