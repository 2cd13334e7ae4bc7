/**
 * How much can still be held: the balance and every cap, in the hold's periods. A cap belongs to the period
 * of the hold, whatever the clock says when the hold is extended or settled.
 */
import { sizeOfHold, type HoldOptions } from './holds.ts'
import { longestDayMs, longestMonthMs, type PeriodEnds } from './periods.ts'
import {
  accountOwner,
  keyOwner,
  ownerOf,
  periodOf,
  type Hold,
  type LedgerState,
  type Owner,
} from './state.ts'

/** Spend caps in nanos and requests per day. `null`: no cap. */
export interface Caps {
  readonly accountDay: bigint | null
  readonly accountMonth: bigint | null
  readonly keyDay: bigint | null
  readonly keyMonth: bigint | null
  readonly keyTotal: bigint | null
  readonly accountRequestsPerDay: number | null
  readonly keyRequestsPerDay: number | null
  /** The account's requests per day for this model. Absent: no limit, and requests are not counted. */
  readonly modelRequestsPerDay?: number | null
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
  /** Only one request of the account may run: the response may cost all that it has. */
  | { readonly kind: 'one-at-a-time' }
  | { readonly kind: 'known' }

/**
 * A period that ends further ahead than any period can was opened by a wrong clock and does not count as
 * open.
 */
function isOpen(end: number, at: number, longestMs: number): boolean {
  return end > at && end - at <= longestMs
}

/** An owner as of `at`: ended periods count as empty. */
export function ownerAt(owner: Owner, at: number): Owner {
  const isDayOpen = isOpen(owner.dayEnd, at, longestDayMs)
  const isMonthOpen = isOpen(owner.monthEnd, at, longestMonthMs)
  if (isDayOpen && isMonthOpen) return owner
  const view = { ...owner }
  if (!isDayOpen) Object.assign(view, { daySpent: 0n, dayHeld: 0n, dayRequests: 0 })
  if (!isMonthOpen) Object.assign(view, { monthSpent: 0n, monthHeld: 0n })
  return view
}

type SpendLimit = CapName | 'balance'

/** What remains under each limit, the longest-lasting limit first. */
export function* remainingByLimit(
  account: Owner,
  key: Owner,
  caps: Caps,
): Generator<[limit: SpendLimit, remaining: bigint]> {
  yield ['balance', account.balance - account.held]
  if (caps.keyTotal !== null) yield ['keyTotal', caps.keyTotal - key.totalSpent - key.held]
  if (caps.accountMonth !== null)
    yield ['accountMonth', caps.accountMonth - account.monthSpent - account.monthHeld]
  if (caps.keyMonth !== null) yield ['keyMonth', caps.keyMonth - key.monthSpent - key.monthHeld]
  if (caps.accountDay !== null) yield ['accountDay', caps.accountDay - account.daySpent - account.dayHeld]
  if (caps.keyDay !== null) yield ['keyDay', caps.keyDay - key.daySpent - key.dayHeld]
}

const clampToZero = (nanos: bigint): bigint => (nanos > 0n ? nanos : 0n)

/**
 * How much can still be held, in nanos: the minimum over the balance and every cap, less what is spent and
 * held.
 */
export function availableNanos(account: Owner, key: Owner, caps: Caps): bigint {
  let available: bigint | null = null
  for (const [, remaining] of remainingByLimit(account, key, caps)) {
    if (available === null || remaining < available) available = remaining
  }
  return clampToZero(available ?? 0n)
}

function denialByLimit(limit: SpendLimit, periods: PeriodEnds): Denial {
  if (limit === 'balance') return { kind: 'balance' }
  if (limit === 'keyTotal') return { kind: 'cap', cap: limit, resumesAt: null }
  const daily = limit === 'accountDay' || limit === 'keyDay'
  return { kind: 'cap', cap: limit, resumesAt: daily ? periods.dayEnd : periods.monthEnd }
}

/** The periods that a new hold counts in: the open ones if there are any, otherwise the proposed ones. */
export function periodsForHold(
  account: PeriodEnds,
  at: number,
  { dayEnd, monthEnd }: PeriodEnds,
): PeriodEnds {
  return {
    dayEnd: isOpen(account.dayEnd, at, longestDayMs) ? account.dayEnd : dayEnd,
    monthEnd: isOpen(account.monthEnd, at, longestMonthMs) ? account.monthEnd : monthEnd,
  }
}

/**
 * An owner as of the given periods. `unknown` is what counts as spent in a period that is no longer known.
 */
export function ownerInPeriods(owner: Owner, { dayEnd, monthEnd }: PeriodEnds, unknown: bigint): Owner {
  if (owner.dayEnd === dayEnd && owner.monthEnd === monthEnd) return owner
  const unknownPeriod = { spent: unknown, held: 0n }
  const day = periodOf(owner, 'day', dayEnd) ?? unknownPeriod
  const month = periodOf(owner, 'month', monthEnd) ?? unknownPeriod
  return {
    ...owner,
    daySpent: day.spent,
    dayHeld: day.held,
    dayRequests: owner.dayEnd === dayEnd ? owner.dayRequests : 0,
    monthSpent: month.spent,
    monthHeld: month.held,
  }
}

/** The limit that forbids a hold. If there are several, the one that lasts longest. */
export function denialOf(
  options: HoldOptions,
  remainingAmounts: Iterable<readonly [limit: SpendLimit, remaining: bigint]>,
  periods: PeriodEnds,
): Denial {
  for (const [limit, remaining] of remainingAmounts) {
    if (sizeOfHold(options, clampToZero(remaining)) === null) return denialByLimit(limit, periods)
  }
  return { kind: 'balance' }
}

/**
 * More than any cap. After a restart the spending of an ended period is unknown, so its cap counts as
 * exhausted.
 */
const fullySpent = 1n << 62n

/** How much a hold can be extended by, within the caps of its own periods even if they have ended. */
export function availableForHold(state: LedgerState, held: Hold, caps: Caps): bigint {
  const account = ownerInPeriods(ownerOf(state, accountOwner(held.account)), held, fullySpent)
  return availableNanos(account, ownerInPeriods(ownerOf(state, keyOwner(held.key)), held, fullySpent), caps)
}
