/** `/payments/revenue`: what payments brought, by month and method. */
import { z } from '@hono/zod-openapi'
import { dateOf, monthEndOf } from '../../../ledger/periods.ts'
import { formatMinor } from '../../../lib/currency.ts'
import { formatAmount } from '../../../lib/money.ts'
import { firstSettledAt, revenueByMethod, type MethodRevenue } from '../../../payments/method-revenue.ts'
import { view } from '../../api/define-endpoints.ts'
import { parseTime } from '../../api/json-values.ts'
import { paymentMethod } from '../../api/payment-orders.ts'
import type { AppContext } from '../../app-context.ts'
import { admin } from '../admin-context.ts'
import { fieldColumns } from '../../csv-export.ts'
import { money, timeQuery } from '../schemas.ts'

export const revenueSchema = z
  .object({
    month: z.string().meta({ example: '2026-11', description: 'In the time zone of `TIME_ZONE`.' }),
    method: paymentMethod,
    currency: z.string().meta({ description: 'Of the method; credit and bonus are in the platform’s.' }),
    payments: z.int().meta({ description: 'Settled in this month.' }),
    amount: money.meta({ description: 'What was paid, with fees.' }),
    fees: money.meta({ description: 'The part of the amount that was not credited.' }),
    refunds: money.meta({
      description: 'Refunds that were done, and disputes that were lost, in this month.',
    }),
    net: money.meta({ description: 'amount − fees − refunds.' }),
    credit: money,
    bonus: money,
  })
  .openapi('PaymentRevenue')

interface MonthlyRevenue extends MethodRevenue {
  readonly month: string
}

const revenueView = view('sum', revenueSchema, (sums: MonthlyRevenue) => {
  const { month, method, currency, payments, amountMinor, feesMinor, returnedMinor } = sums
  return {
    month,
    method,
    currency,
    payments,
    amount: formatMinor(amountMinor, currency),
    fees: formatMinor(feesMinor, currency),
    refunds: formatMinor(returnedMinor, currency),
    net: formatMinor(amountMinor - feesMinor - returnedMinor, currency),
    credit: formatAmount(sums.creditNanos),
    bonus: formatAmount(sums.bonusNanos),
  }
})

interface Range {
  readonly from: number
  readonly to: number
}

/** Newest month first. */
async function revenueByMonth({ db, config }: AppContext, range: Range): Promise<MonthlyRevenue[]> {
  const first = await firstSettledAt(db)
  const months: MonthlyRevenue[] = []
  if (first === null) return months
  let start = Math.max(range.from, first)
  while (start < range.to) {
    const month = dateOf(config.timezone, start).slice(0, 7)
    const end = Math.min(monthEndOf(config.timezone, start), range.to)
    const sums = await revenueByMethod(db, start, end)
    months.unshift(...sums.map((each) => ({ ...each, month })))
    start = end
  }
  return months
}

export const paymentRevenueEndpoints = [
  admin.list('/payments/revenue', {
    summary: 'Get what payments brought by month and method, newest month first',
    item: revenueView,
    filters: {
      from: timeQuery.optional().meta({ description: 'Default: the first payment.' }),
      to: timeQuery.optional().meta({ description: 'Exclusive. Default: now.' }),
    },
    idOf: ({ month, method, currency }) => `${month} ${method} ${currency}`,
    csv: fieldColumns(revenueSchema),
    handle({ ctx, query }) {
      // A later end would only add months without payments.
      const now = Date.now()
      const [from, to] = [parseTime(query.from) ?? 0, parseTime(query.to) ?? now]
      return revenueByMonth(ctx, { from, to: Math.min(to, now + 1) })
    },
  }),
]
