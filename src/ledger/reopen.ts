/**
 * What a change of the clock means for an owner's periods. Periods that were opened while the clock was ahead, for example
 * by forty days, have not begun now: the owner returns to those of the present. Whether the clock was ahead or is behind
 * cannot be told, so the later periods in which it has spent are remembered: when it enters one of them again, what was
 * spent in it counts. Pure like all operations; the caller remembers them, and reads what was spent.
 */
import { apply } from './apply.ts'
import { periodsForHold } from './caps.ts'
import type { Reopened } from './events.ts'
import type { HoldOperation } from './operations.ts'
import { maxOpenDayMs, maxOpenMonthMs, type PeriodEnds } from './periods.ts'
import { accountOwner, keyOwner, modelOwner, ownerOf, type LedgerState, type Owner } from './state.ts'

export type OwnerPeriods = Pick<Owner, 'dayEnd' | 'monthEnd' | 'past'>
/** A hold, with the periods that contain `at`. */
export type HoldPeriods = Pick<HoldOperation, 'account' | 'key' | 'model' | 'at' | 'dayEnd' | 'monthEnd'>

/** Clocks and time zones differ around the end of a month: the next one may be open a little early. */
const maxEarlyMs = maxOpenDayMs - 24 * 3_600_000

function isMonthAhead(end: number, at: number, present: PeriodEnds): boolean {
  if (end - at > maxOpenMonthMs) return true
  return end - present.monthEnd > maxOpenDayMs && present.monthEnd - at > maxEarlyMs
}

/** Whether owners have left a period before. The ends differ if an account has had another time zone. */
const wasLeft = (end: number, left: readonly number[]): boolean =>
  left.some((each) => Math.abs(each - end) < maxOpenDayMs)

function endsToRead(
  { dayEnd, monthEnd }: PeriodEnds,
  at: number,
  present: PeriodEnds,
  left: readonly number[],
): PeriodEnds | null {
  const isDay = dayEnd - at > maxOpenDayMs || (dayEnd <= at && wasLeft(present.dayEnd, left))
  const isMonth = isMonthAhead(monthEnd, at, present) || (monthEnd <= at && wasLeft(present.monthEnd, left))
  if (!isDay && !isMonth) return null
  return { dayEnd: isDay ? present.dayEnd : dayEnd, monthEnd: isMonth ? present.monthEnd : monthEnd }
}

/**
 * The owners that a hold must not use before what they spent is read, each with the periods to which it goes. `left`: the
 * ends of all periods that owners have left for earlier ones.
 */
export function periodsToRead(
  owners: ReadonlyMap<string, PeriodEnds>,
  hold: HoldPeriods,
  left: readonly number[],
): (readonly [owner: string, ends: PeriodEnds])[] {
  const { account, key, model, at } = hold
  const accountId = accountOwner(account)
  const found: (readonly [string, PeriodEnds])[] = []
  let present: PeriodEnds = hold
  for (const id of [accountId, keyOwner(key), modelOwner(account, model)]) {
    const owner = owners.get(id)
    if (owner === undefined) continue
    const ends = endsToRead(owner, at, present, left)
    if (ends !== null) found.push([id, ends])
    // A hold counts in the periods of its account, for the key and the model, too.
    if (id === accountId) present = periodsForHold(ends ?? owner, at, hold)
  }
  return found
}

/** The ends of the periods that an owner leaves before they are over, and of those in which its holds still count. */
export function periodsLeft({ dayEnd, monthEnd, past }: OwnerPeriods, ends: PeriodEnds): number[] {
  const left: number[] = []
  if (dayEnd > ends.dayEnd) left.push(dayEnd)
  if (monthEnd > ends.monthEnd) left.push(monthEnd)
  for (const { unit, end } of past) if (end > (unit === 'day' ? ends.dayEnd : ends.monthEnd)) left.push(end)
  return left
}

/** Periods that an owner enters, with what its request rows say that it spent in them. */
export interface Reopening extends Omit<Reopened, 'kind'> {
  /** What the owner had spent ever, before its rows were read. */
  readonly totalSpentBefore: bigint
}

/**
 * Returns an owner to periods that it had left. What was charged since its rows were read is added; it may be in them, and
 * rather counts twice than not at all.
 */
export function reopen(state: LedgerState, { totalSpentBefore, ...read }: Reopening): Reopened {
  const charged = ownerOf(state, read.id).totalSpent - totalSpentBefore
  const spent = { daySpent: read.daySpent + charged, monthSpent: read.monthSpent + charged }
  const event = { kind: 'reopened', ...read, ...spent } as const
  apply(state, event)
  return event
}
