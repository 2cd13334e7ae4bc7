/** `/requests/{id}/refund`: refunds the cost of a request. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { admin } from '../admin-context.ts'
import { onceView, money } from '../schemas.ts'
import { orderRefund, refundedNanos } from '../../../ledger/credits/refunds.ts'
import { newId } from '../../../lib/ids.ts'
import { parseAmount } from '../../../lib/money.ts'

const refundInput = z.strictObject({
  reason: z.string().trim().min(1).max(500),
  amount: money.optional().meta({ description: 'Default: everything not yet refunded.' }),
  idempotency_key: z.string().min(1).max(200).optional().meta({
    description: 'Repeating a key does not refund again. Without a key, every call is a separate refund.',
  }),
})
export const refundSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the credit: the reference of its ledger entry.' }),
    request_id: z.string(),
    account: z.string(),
    amount: money,
    cost: money.meta({ description: 'The cost of the request.' }),
    refunded: money.meta({
      description: 'Total refunded for the request, including this refund; at most its cost.',
    }),
    balance: money.meta({ description: 'The balance of the account after this refund.' }),
  })
  .openapi('Refund')

export const refundEndpoints = [
  admin.create('/requests/{id}/refund', {
    summary: 'Refund the cost of a request, in full or in part',
    body: refundInput,
    response: onceView(refundSchema),
    returns: 'Entered durably.',
    existing: 'Already entered with the same key.',
    async handle({ ctx, by, params: { id: requestId }, body: { reason, amount, idempotency_key: key } }) {
      const amountNanos = amount === undefined ? null : parseAmount(amount, 'amount')
      const idempotencyKey = key ?? newId('ref')
      const order = { requestId, amountNanos, reason, idempotencyKey, at: Date.now(), by }
      const ordered = await orderRefund(ctx.db, order)
      const { balance } = await ctx.applyCreditOrder(ordered.creditId)
      const amounts = { refundedNanos: await refundedNanos(ctx.db, requestId), balanceNanos: balance }
      const json = { ...jsonFields({ ...ordered, ...amounts, requestId }), id: ordered.creditId }
      return { isNew: ordered.isNew, json }
    },
  }),
]
