/** Refunds of payments in the JSON of the admin API and the console API. */
import { z } from '@hono/zod-openapi'
import { formatMinor } from '../../lib/currency.ts'
import { formatAmount } from '../../lib/money.ts'
import { needsCreditNote } from '../../payments/invoices.ts'
import { orderById } from '../../payments/payment-orders.ts'
import type { Refund } from '../../payments/payment-refunds.ts'
import type { AppContext } from '../app-context.ts'
import { money, time } from './json-schemas.ts'
import { formatTime } from './json-values.ts'

export const refundStates = ['requested', 'debited', 'sent', 'done', 'failed', 'refused', 'unknown'] as const

export const paymentRefundSchema = z
  .object({
    id: z.string(),
    order: z.string(),
    account: z.string(),
    method: z.string(),
    state: z.enum(refundStates),
    amount: money.meta({ description: 'What goes back to the payer, in the order’s currency.' }),
    currency: z.string(),
    credit: money.meta({ description: 'What was taken of the credit, in the platform’s currency.' }),
    bonus: money.meta({ description: 'What was taken of the bonus, in the platform’s currency.' }),
    reason: z.string(),
    problem: z.string().nullable().meta({ description: 'Why it was refused, failed, or is not known.' }),
    transaction: z.string().nullable().meta({ description: 'The provider’s id, or that of the transfer.' }),
    credit_note_first: z.boolean().meta({
      description: 'The payment is invoiced: the invoice must be reversed before the refund can be approved.',
    }),
    created_at: time,
    updated_at: time,
  })
  .openapi('PaymentRefund')
export type PaymentRefund = z.infer<typeof paymentRefundSchema>

export async function serializeRefund(
  refund: Refund,
  { db }: Pick<AppContext, 'db'>,
): Promise<PaymentRefund> {
  const order = await orderById(db, refund.orderId)
  const currency = order?.currency ?? ''
  return {
    id: refund.id,
    order: refund.orderId,
    account: refund.accountId,
    method: order?.method ?? '',
    state: refund.state,
    amount: formatMinor(refund.amountMinor, currency),
    currency,
    credit: formatAmount(refund.paymentNanos),
    bonus: formatAmount(refund.bonusNanos),
    reason: refund.reason,
    problem: refund.problem,
    transaction: refund.reference,
    credit_note_first: refund.state === 'requested' && (await needsCreditNote(db, refund.orderId)),
    created_at: formatTime(refund.createdAt),
    updated_at: formatTime(refund.updatedAt),
  }
}

export const refundFields = {
  amount: money.optional().meta({ description: 'In the order’s currency. Default: all that can go back.' }),
  reason: z.string().trim().min(1).max(500),
}
/** The pattern of cursors of a list of refunds. */
export const refundCursor = /^S[0-9A-Z]{26}[DR][0-9A-Z]+$/
