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
import type { Reopened } from '../ledger/events.ts'
import { dayEndOf, dayStartOf, monthEndOf, monthStartOf, type PeriodEnds } from '../ledger/periods.ts'
import { periodsLeft, type OwnerPeriods } from '../ledger/reopen.ts'
import { errorMessage } from '../lib/error-message.ts'

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

/** Reads what each owner spent once at a time. If it cannot be read, the next request of the owner tries again. */
export class SingleReadings {
  readonly #onError: (why: string) => void
  readonly #running = new Map<string, Promise<boolean>>()
  #hasFailed = false

  /** `onError`: called once until an owner can be read. */
  constructor(onError: (why: string) => void) {
    this.#onError = onError
  }

  /** Resolves to whether the spending of the owner was read, by this call or one that is running. */
  run(owner: string, read: () => Promise<void>): Promise<boolean> {
    const reading = this.#running.get(owner) ?? this.#run(owner, read)
    this.#running.set(owner, reading)
    return reading
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #run(owner: string, read: () => Promise<void>): Promise<boolean> {
    try {
      await read()
      this.#hasFailed = false
      return true
    } catch (error) {
      if (!this.#hasFailed) this.#onError(errorMessage(error))
      this.#hasFailed = true
      return false
    } finally {
      this.#running.delete(owner)
    }
  }
}
