/**
 * Monthly statements: opening + credits − charges = closing, to the last digit. A charge counts to the month in which
 * its request was admitted, as caps and usage have it; so the sums come from the roll-ups, and no page reads a month of
 * entries.
 */
import { refuse } from '../../../errors.ts'
import { dateOf, monthEndOf } from '../../../ledger/periods.ts'
import { decimalOf } from '../../../lib/money.ts'
import { currency } from '../../../usage/request-records.ts'
import { usageBetween, usageBy, usageByDay } from '../../../usage/reports.ts'
import { creditsBetween, firstMovementAt } from '../../../usage/statement.ts'
import { timeOf } from '../../admin/schemas.ts'
import { billingCalls, type Statement } from '../contract/billing.ts'
import { sumsView } from '../usage/usage-sums.ts'
import { monthStartOf } from '../../api/time-buckets.ts'
import { bound, type Bound, type Visit } from '../visit.ts'

/** Requests that ran over the end of the month have settled by then. */
const finalAfterMs = 24 * 3_600_000

function monthOf(timezone: string, at: number): string {
  return dateOf(timezone, at).slice(0, 7)
}

async function months({ house, account }: Visit) {
  const first = await firstMovementAt(house.db, account.id)
  const names: string[] = []
  if (first === null) return { data: names }
  const { timezone } = account
  for (let at = monthStartOf(timezone, first); at <= Date.now(); at = monthEndOf(timezone, at)) {
    names.unshift(monthOf(timezone, at))
  }
  return { data: names }
}

/** The start and the end of a month of a zone. Throws 404 for what is no month, or lies ahead. */
function spanOf(timezone: string, month: string): readonly [number, number] {
  const middle = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-15T12:00:00Z`) : NaN
  if (Number.isNaN(middle) || monthStartOf(timezone, middle) > Date.now()) {
    throw refuse('not_found', { message: 'There is no statement of this month.' })
  }
  return [monthStartOf(timezone, middle), monthEndOf(timezone, middle)]
}

function sumNanos(credits: readonly { readonly amountNanos: bigint }[]): bigint {
  return credits.reduce((sum, { amountNanos }) => sum + amountNanos, 0n)
}

async function statement(visit: Visit): Promise<Statement> {
  const { house, account } = visit
  const { db } = house
  const { id, email, name, timezone } = account
  const month = visit.param('month')
  const [from, to] = spanOf(timezone, month)
  const filter = { account: id, from, to }
  const [{ balance }, credits, laterCredits, used, later, models, days] = await Promise.all([
    house.wallet(id, null),
    creditsBetween(db, id, from, to),
    creditsBetween(db, id, to, Number.MAX_SAFE_INTEGER),
    usageBetween(db, id, from, to),
    usageBetween(db, id, to),
    usageBy(db, 'model', filter),
    usageByDay(db, filter, (at) => dateOf(timezone, at)),
  ])
  const closing = balance - sumNanos(laterCredits) + later.costNanos
  const credited = sumNanos(credits)
  return {
    month,
    timezone,
    from: timeOf(from),
    to: timeOf(to),
    final: Date.now() > to + finalAfterMs,
    account: { id, email, name },
    currency,
    opening: decimalOf(closing - credited + used.costNanos),
    credits: decimalOf(credited),
    charges: decimalOf(used.costNanos),
    closing: decimalOf(closing),
    credit_lines: credits.map(({ at, source, reason, amountNanos }) => ({
      time: timeOf(at),
      source,
      reason,
      amount: decimalOf(amountNanos),
    })),
    models: models.map((sums) => ({ model: sums.name, ...sumsView(sums) })),
    days: days.map((sums) => ({ day: sums.name, ...sumsView(sums) })),
  }
}

export const statementCalls: readonly Bound[] = [
  bound(billingCalls.statements, months),
  bound(billingCalls.statement, statement),
]
