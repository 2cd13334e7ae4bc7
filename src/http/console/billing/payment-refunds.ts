/** An account's own refunds of payments. */
import { z } from 'zod'
import { formatMinor } from '../../../lib/currency.ts'
import { listRefunds } from '../../../payments/payment-refunds.ts'
import { decodeCursor, encodeCursor } from '../../api/json-values.ts'
import { money, pageFields, pageOf } from '../../api/json-schemas.ts'
import {
  paymentRefundSchema,
  refundCursor,
  refundFields,
  serializeRefund,
} from '../../api/payment-refunds.ts'
import { customer } from '../context.ts'
import { requireOwnOrder } from './payment-orders.ts'

export const refundEndpoints = {
  refundable: customer.get('/billing/orders/{id}/refundable', {
    response: z.object({ amount: money, currency: z.string() }),
    async handle(context) {
      await requireOwnOrder(context, context.params.id)
      const { maxMinor, currency } = await context.ctx.payments.refundable(context.params.id)
      return { amount: formatMinor(maxMinor, currency), currency }
    },
  }),
  requestRefund: customer.post('/billing/orders/{id}/refunds', {
    body: z.strictObject(refundFields),
    response: paymentRefundSchema,
    async handle(context) {
      const { ctx, by, params, body } = context
      await requireOwnOrder(context, params.id)
      const input = {
        order: params.id,
        amount: body.amount ?? null,
        reason: body.reason,
        by,
        isOperator: false,
      }
      return serializeRefund(await ctx.payments.requestRefund(input), ctx)
    },
  }),
  refunds: customer.get('/billing/refunds', {
    query: pageFields,
    response: pageOf(paymentRefundSchema),
    async handle({ ctx, accountId, query }) {
      const page = { limit: query.limit, cursor: decodeCursor(query.cursor, refundCursor) }
      const { data, next } = await listRefunds(ctx.db, { account: accountId }, page)
      return {
        data: await Promise.all(data.map((refund) => serializeRefund(refund, ctx))),
        next: encodeCursor(next),
      }
    },
  }),
}
