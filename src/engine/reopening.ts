/** Finds out what an owner spent in the periods that it enters after the clock was wrong. */
import type { Db } from '../db/db.ts'
import { addLeftPeriods } from '../db/left-periods.ts'
import {
  admittedDaysQuery,
  periodSpendingQuery,
  toPeriodSpending,
  type PeriodSpending,
  type PeriodSpendingRow,
} from '../db/period-spending.ts'
import type { PeriodEnds } from '../ledger/caps.ts'
import type { Reopened } from '../ledger/events.ts'
import { dayEndOf, dayStartOf, monthEndOf, monthStartOf } from '../ledger/periods.ts'
import { periodsLeft, type OwnerPeriods } from '../ledger/reopen.ts'

/** The event in the log. */
export const reopeningFailed = 'reading the spending of a period failed'

const nothing: PeriodSpending = { spent: 0n, requests: 0 }

export interface EnteringOwner {
  readonly id: string
  readonly timezone: string
  readonly at: number
  readonly periods: OwnerPeriods
}

export interface PeriodReading {
  readonly reopening: Omit<Reopened, 'kind'>
  /** The ends of later periods in which the owner has spent, as they were written to the database. */
  readonly left: readonly number[]
}

/**
 * Reads what an owner spent in the periods with these ends; those that it does not enter count as empty and stay unchanged.
 * If it leaves later periods, they are remembered first.
 */
export async function readReopening(
  db: Pick<Db, 'report' | 'write'>,
  { id, timezone, at, periods }: EnteringOwner,
  ends: PeriodEnds,
): Promise<PeriodReading> {
  const left = await readLeft(db, { id, timezone, at, periods }, ends)
  await addLeftPeriods(db, left)
  const readSpending = async (from: number, to: number): Promise<PeriodSpending> => {
    const [row] = await db.report<PeriodSpendingRow>(periodSpendingQuery(id, from, to))
    return toPeriodSpending(row)
  }
  const { dayEnd, monthEnd } = ends
  // Only requests per day are counted for a model.
  const hasMoney = !id.startsWith('m:')
  const day = dayEnd === periods.dayEnd ? nothing : await readSpending(dayStartOf(timezone, at), dayEnd)
  const isMonthRead = hasMoney && monthEnd !== periods.monthEnd
  const month = isMonthRead ? await readSpending(monthStartOf(timezone, at), monthEnd) : nothing
  const spent = { daySpent: hasMoney ? day.spent : 0n, monthSpent: month.spent }
  return { reopening: { id, at, dayEnd, monthEnd, dayRequests: day.requests, ...spent }, left }
}

async function readLeft(
  db: Pick<Db, 'report'>,
  { id, timezone, periods }: EnteringOwner,
  ends: PeriodEnds,
): Promise<number[]> {
  const left = periodsLeft(periods, ends)
  if (left.length === 0) return left
  const query = admittedDaysQuery(id, ends.dayEnd, Math.max(...left))
  for (const { at } of await db.report<{ at: number }>(query)) {
    left.push(dayEndOf(timezone, at))
    const monthEnd = monthEndOf(timezone, at)
    if (monthEnd > ends.monthEnd) left.push(monthEnd)
  }
  return [...new Set(left)]
}
