/**
 * What can still be set aside: the balance and every cap, in the periods that a hold counts in. A cap belongs to
 * the period of the hold, whatever the clock says when the hold is extended or settled.
 */
import { sizeOfHold, type Terms } from './holds.ts'
import { longestDayMs, longestMonthMs } from './periods.ts'
import {
  accountOwner,
  keyOwner,
  ownerOf,
  periodOf,
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
  /** Of the account for the model; absent: none, and they are not counted. */
  readonly modelRequestsPerDay?: number | null
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
  | {
      readonly kind: 'requests-per-day'
      readonly of: 'account' | 'key' | 'model'
      readonly resumesAt: number
    }
  | { readonly kind: 'known' }

/** A period whose end lies further ahead than any can was opened by a clock that was wrong, and is not open. */
function isOpen(end: number, at: number, longestMs: number): boolean {
  return end > at && end - at <= longestMs
}

/** An owner as a time sees it: periods that are over count nothing. */
export function ownerAt(owner: Owner, at: number): Owner {
  const isDay = isOpen(owner.dayEnd, at, longestDayMs)
  const isMonth = isOpen(owner.monthEnd, at, longestMonthMs)
  if (isDay && isMonth) return owner
  const view = { ...owner }
  if (!isDay) Object.assign(view, { daySpent: 0n, dayHeld: 0n, dayRequests: 0 })
  if (!isMonth) Object.assign(view, { monthSpent: 0n, monthHeld: 0n })
  return view
}

type Limit = CapName | 'balance'

/** What each limit still leaves to be set aside; the one that lasts longest first. */
export function* roomsOf(account: Owner, key: Owner, caps: Caps): Generator<[limit: Limit, room: bigint]> {
  yield ['balance', account.balance - account.held]
  if (caps.keyTotal !== null) yield ['keyTotal', caps.keyTotal - key.totalSpent - key.held]
  if (caps.accountMonth !== null)
    yield ['accountMonth', caps.accountMonth - account.monthSpent - account.monthHeld]
  if (caps.keyMonth !== null) yield ['keyMonth', caps.keyMonth - key.monthSpent - key.monthHeld]
  if (caps.accountDay !== null) yield ['accountDay', caps.accountDay - account.daySpent - account.dayHeld]
  if (caps.keyDay !== null) yield ['keyDay', caps.keyDay - key.daySpent - key.dayHeld]
}

const positive = (nanos: bigint): bigint => (nanos > 0n ? nanos : 0n)

/** What can still be set aside, in nanos: the smallest of the balance and every cap, less what is spent and held. */
export function availableOf(account: Owner, key: Owner, caps: Caps): bigint {
  let available: bigint | null = null
  for (const [, room] of roomsOf(account, key, caps)) {
    if (available === null || room < available) available = room
  }
  return positive(available ?? 0n)
}

function denialBy(limit: Limit, periods: Periods): Denial {
  if (limit === 'balance') return { kind: 'balance' }
  if (limit === 'keyTotal') return { kind: 'cap', cap: limit, resumesAt: null }
  const daily = limit === 'accountDay' || limit === 'keyDay'
  return { kind: 'cap', cap: limit, resumesAt: daily ? periods.dayEnd : periods.monthEnd }
}

/** The periods a new hold counts in: those already open, else the ones proposed. */
export function periodsOf(account: Owner, at: number, { dayEnd, monthEnd }: Periods): Periods {
  return {
    dayEnd: isOpen(account.dayEnd, at, longestDayMs) ? account.dayEnd : dayEnd,
    monthEnd: isOpen(account.monthEnd, at, longestMonthMs) ? account.monthEnd : monthEnd,
  }
}

/** An owner as these periods see it, which `unknown` stands for where nothing is known of them. */
export function ownerIn(owner: Owner, { dayEnd, monthEnd }: Periods, unknown: bigint): Owner {
  if (owner.dayEnd === dayEnd && owner.monthEnd === monthEnd) return owner
  const nothing = { spent: unknown, held: 0n }
  const day = periodOf(owner, 'day', dayEnd) ?? nothing
  const month = periodOf(owner, 'month', monthEnd) ?? nothing
  return {
    ...owner,
    daySpent: day.spent,
    dayHeld: day.held,
    dayRequests: owner.dayEnd === dayEnd ? owner.dayRequests : 0,
    monthSpent: month.spent,
    monthHeld: month.held,
  }
}

/** Says which limit forbids a hold: of several, the one that forbids it longest. */
export function denialOf(
  terms: Terms,
  rooms: Iterable<readonly [limit: Limit, room: bigint]>,
  periods: Periods,
): Denial {
  for (const [limit, room] of rooms) {
    if (sizeOfHold(terms, positive(room)) === null) return denialBy(limit, periods)
  }
  return { kind: 'balance' }
}

/** More than any cap: of a period of before a start, nobody knows what is left. */
const spentUp = 1n << 62n

/** What can be added to a hold, within the caps of the periods that it counts in, though they may be over. */
export function roomOfHold(state: LedgerState, held: Hold, caps: Caps): bigint {
  const account = ownerIn(ownerOf(state, accountOwner(held.account)), held, spentUp)
  return availableOf(account, ownerIn(ownerOf(state, keyOwner(held.key)), held, spentUp), caps)
}
