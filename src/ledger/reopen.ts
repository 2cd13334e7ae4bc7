/**
 * Periods that were opened while the clock was ahead, for example by forty days, and that have not begun now that it is
 * right again: the owner returns to the periods of the present. Pure like all operations; the caller reads what was spent.
 */
import { apply } from './apply.ts'
import type { PeriodEnds } from './caps.ts'
import type { Reopened } from './events.ts'
import { maxOpenDayMs, maxOpenMonthMs } from './periods.ts'
import type { LedgerState, Owner } from './state.ts'

/** The periods to return to; `null` if those of the owner have begun. `present`: the periods that contain `at`. */
export function periodsToReopen(
  owner: Pick<Owner, 'dayEnd' | 'monthEnd'>,
  at: number,
  present: PeriodEnds,
): PeriodEnds | null {
  const isDayAhead = owner.dayEnd - at > maxOpenDayMs
  const isMonthAhead = owner.monthEnd - at > maxOpenMonthMs
  if (!isDayAhead && !isMonthAhead) return null
  return {
    dayEnd: isDayAhead ? present.dayEnd : owner.dayEnd,
    monthEnd: isMonthAhead ? present.monthEnd : owner.monthEnd,
  }
}

/** Returns an owner to periods that it had left. */
export function reopen(state: LedgerState, reopened: Omit<Reopened, 'kind'>): Reopened {
  const event = { kind: 'reopened', ...reopened } as const
  apply(state, event)
  return event
}
