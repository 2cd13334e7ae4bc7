/** Finds out what an owner spent in the present periods, to which it returns after the clock was ahead. */
import {
  periodSpendingQuery,
  toPeriodSpending,
  type PeriodSpending,
  type PeriodSpendingRow,
} from '../../db/period-spending.ts'
import type { Statement } from '../../db/statement.ts'
import type { PeriodEnds } from '../../ledger/caps.ts'
import type { Reopened } from '../../ledger/events.ts'
import { dayStartOf, monthStartOf } from '../../ledger/periods.ts'

export type ReadSpending = (query: Statement) => Promise<PeriodSpendingRow | undefined>

export async function readReopening(
  read: ReadSpending,
  owner: { readonly id: string; readonly timezone: string; readonly at: number },
  ends: PeriodEnds,
): Promise<Omit<Reopened, 'kind'>> {
  const { id, timezone, at } = owner
  const spendingIn = async (from: number, to: number): Promise<PeriodSpending> =>
    toPeriodSpending(await read(periodSpendingQuery(id, from, to)))
  const day = await spendingIn(dayStartOf(timezone, at), ends.dayEnd)
  const month = await spendingIn(monthStartOf(timezone, at), ends.monthEnd)
  // Only requests per day are counted for a model.
  const hasMoney = !id.startsWith('m:')
  const daySpent = hasMoney ? day.spent : 0n
  return { id, at, ...ends, daySpent, dayRequests: day.requests, monthSpent: hasMoney ? month.spent : 0n }
}
