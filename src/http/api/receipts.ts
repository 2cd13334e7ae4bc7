/** The receipt of a paid order: what was paid, by whom, what it credited, and what went back. */
import { z } from '@hono/zod-openapi'
import type { Account } from '../../accounts/accounts.ts'
import { apiError } from '../../errors.ts'
import { formatMinor } from '../../lib/currency.ts'
import { formatAmount } from '../../lib/money.ts'
import { listInvoiceTitles } from '../../payments/invoice-titles.ts'
import { invoiceOfOrder } from '../../payments/invoices.ts'
import type { Order } from '../../payments/payment-orders.ts'
import { refundsOfOrder } from '../../payments/payment-refunds.ts'
import { paymentOfOrder } from '../../payments/payments.ts'
import type { AppContext } from '../app-context.ts'
import { language, money, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'
import { paymentMethod } from './payment-orders.ts'

export const receiptSchema = z
  .object({
    number: z.string().meta({ description: 'The id of the order.' }),
    date: time.meta({ description: 'When it was paid.' }),
    timezone: z.string().meta({ description: 'Of the account.' }),
    account: z.object({ id: z.string(), email: z.string(), name: z.string() }),
    buyer: z
      .object({ title: z.string(), tax_number: z.string().nullable() })
      .nullable()
      .meta({ description: 'The title of the payment’s invoice, or the latest one of the account.' }),
    method: paymentMethod,
    transaction: z.string(),
    amount: money.meta({ description: 'What was paid, fee included.' }),
    currency: z.string(),
    fee: money,
    credit: money.meta({ description: 'In the platform’s currency, as the bonus.' }),
    bonus: money,
    platform_currency: z.string(),
    refunds: z.array(z.object({ id: z.string(), date: time, amount: money })),
    remaining: money.meta({ description: 'What was paid and did not go back.' }),
  })
  .openapi('Receipt')
export type Receipt = z.infer<typeof receiptSchema>

export const receiptQuery = { language: language.default('en') }

/** Throws 409 if the order is not paid. */
export async function readReceipt(
  { db, currency: platformCurrency }: Pick<AppContext, 'db' | 'currency'>,
  order: Order,
  { id, email, name, timezone }: Account,
): Promise<Receipt> {
  const payment = await paymentOfOrder(db, order.id)
  if (payment === undefined) throw apiError('conflict', { message: 'This order is not paid.' })
  const [refunds, invoice, titles] = await Promise.all([
    refundsOfOrder(db, order.id),
    invoiceOfOrder(db, order.id),
    listInvoiceTitles(db, id),
  ])
  const buyer = invoice?.buyer ?? titles[0]
  const { currency } = payment
  const done = refunds.filter(({ state }) => state === 'done')
  const refunded = done.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
  return {
    number: order.id,
    date: formatTime(payment.paidAt),
    timezone,
    account: { id, email, name },
    buyer: buyer === undefined ? null : { title: buyer.title, tax_number: buyer.taxNumber },
    method: payment.method,
    transaction: payment.transactionId,
    amount: formatMinor(payment.amountMinor, currency),
    currency,
    fee: formatMinor(order.feeMinor, currency),
    credit: formatAmount(payment.creditNanos),
    bonus: formatAmount(payment.bonusNanos),
    platform_currency: platformCurrency,
    refunds: done.map((refund) => ({
      id: refund.id,
      date: formatTime(refund.updatedAt),
      amount: formatMinor(refund.amountMinor, currency),
    })),
    remaining: formatMinor(payment.amountMinor - refunded, currency),
  }
}
