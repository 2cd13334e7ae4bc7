/**
 * Monthly statements: opening + credits − charges = closing, to the last digit. A charge counts in the month in which its
 * request was admitted, as in caps and usage. So the sums come from the roll-ups, and no page reads a month of entries.
 */
import { z } from 'zod'
import type { Account } from '../../../accounts/accounts.ts'
import { apiError } from '../../../errors.ts'
import { dateOf, monthEndOf } from '../../../ledger/periods.ts'
import { formatAmount } from '../../../lib/money.ts'
import { usageBetween, usageBy, usageByDay } from '../../../usage/reports.ts'
import { creditsBetween, firstMovementAt } from '../../../usage/statement.ts'
import { money, sums, time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { serializeSums } from '../usage/usage-sums.ts'
import { monthStartOf } from '../../api/time-buckets.ts'
import { customer, type ConsoleContext } from '../context.ts'

const statementSchema = z.object({
  /** `2026-11`, in the account's time zone. */
  month: z.string(),
  timezone: z.string(),
  from: time,
  to: time,
  /** The month is over and its figures no longer change. */
  final: z.boolean(),
  account: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  currency: z.string(),
  /** opening + credits − charges = closing, to the last digit. */
  opening: money,
  credits: money,
  charges: money,
  closing: money,
  /** Every credit of the month, oldest first. */
  credit_lines: z.array(
    z.object({ time, source: z.string().nullable(), reason: z.string().nullable(), amount: money }),
  ),
  models: z.array(sums.extend({ model: z.string() })),
  days: z.array(sums.extend({ day: z.string() })),
})
export type Statement = z.infer<typeof statementSchema>

/** By then, requests that were open at the end of the month have been settled. */
const finalAfterMs = 24 * 3_600_000

/** The start and end of a month in the account's time zone. Throws 404 for a future month, or one before the account. */
function getMonthRange({ timezone, createdAt }: Account, month: string): readonly [number, number] {
  const middle = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-15T12:00:00Z`) : NaN
  if (!Number.isNaN(middle)) {
    const [from, to] = [monthStartOf(timezone, middle), monthEndOf(timezone, middle)]
    if (from <= Date.now() && to > createdAt) return [from, to]
  }
  throw apiError('not_found', { message: 'Statement not found for this month.' })
}

function sumNanos(credits: readonly { readonly amountNanos: bigint }[]): bigint {
  return credits.reduce((sum, { amountNanos }) => sum + amountNanos, 0n)
}

async function readStatement({ ctx, account }: ConsoleContext, month: string): Promise<Statement> {
  const { db } = ctx
  const { id, email, name, timezone } = account
  const [from, to] = getMonthRange(account, month)
  const filter = { account: id, from, to }
  const [{ balance }, credits, laterCredits, used, later, models, days] = await Promise.all([
    ctx.wallet(id, null),
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
    from: formatTime(from),
    to: formatTime(to),
    final: Date.now() > to + finalAfterMs,
    account: { id, email, name },
    currency: ctx.currency,
    opening: formatAmount(closing - credited + used.costNanos),
    credits: formatAmount(credited),
    charges: formatAmount(used.costNanos),
    closing: formatAmount(closing),
    credit_lines: credits.map(({ at, source, reason, amountNanos }) => ({
      time: formatTime(at),
      source,
      reason,
      amount: formatAmount(amountNanos),
    })),
    models: models.map((sums) => ({ model: sums.name, ...serializeSums(sums) })),
    days: days.map((sums) => ({ day: sums.name, ...serializeSums(sums) })),
  }
}

export const statementEndpoints = {
  /** The months with a statement, newest first. */
  statements: customer.get('/billing/statements', {
    response: z.object({ data: z.array(z.string()) }),
    handle: async ({ ctx, account: { id, timezone } }) => {
      const first = await firstMovementAt(ctx.db, id)
      const data: string[] = []
      if (first === null) return { data }
      for (let at = monthStartOf(timezone, first); at <= Date.now(); at = monthEndOf(timezone, at))
        data.unshift(dateOf(timezone, at).slice(0, 7))
      return { data }
    },
  }),
  statement: customer.get('/billing/statements/{month}', {
    response: statementSchema,
    handle: (context) => readStatement(context, context.params.month),
  }),
}
