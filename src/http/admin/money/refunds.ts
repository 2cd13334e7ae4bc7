/** `/requests/{id}/refund`: refunds the cost of a request. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { orderRefund, refundedNanos } from '../../../ledger/credits/refunds.ts'
import { newId } from '../../../lib/ids.ts'
import { formatAmount, parseAmount } from '../../../lib/money.ts'
import type { AdminContext } from '../admin-context.ts'
import { jsonBody, idempotentResponse, idParams, money } from '../schemas.ts'

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

const refund = createRoute({
  method: 'post',
  path: '/requests/{id}/refund',
  summary: 'Refund the cost of a request, in full or in part',
  request: { params: idParams, body: jsonBody(refundInput) },
  responses: idempotentResponse(refundSchema, ['Entered durably.', 'Already entered with the same key.']),
})

export function refundRoutes({ ctx, by }: AdminContext): OpenAPIHono {
  const { db } = ctx
  const app = new OpenAPIHono()
  app.openapi(refund, async (c) => {
    const { id: requestId } = c.req.valid('param')
    const { reason, amount, idempotency_key: key } = c.req.valid('json')
    const amountNanos = amount === undefined ? null : parseAmount(amount, 'amount')
    const idempotencyKey = key ?? newId('ref')
    const order = { requestId, amountNanos, reason, idempotencyKey, at: Date.now(), by }
    const ordered = await orderRefund(db, order)
    const { balance } = await ctx.applyCreditOrder(ordered.creditId)
    const body = {
      id: ordered.creditId,
      request_id: requestId,
      account: ordered.account,
      amount: formatAmount(ordered.amountNanos),
      cost: formatAmount(ordered.costNanos),
      refunded: formatAmount(await refundedNanos(db, requestId)),
      balance: formatAmount(balance),
    }
    return ordered.isNew ? c.json(body, 201) : c.json(body, 200)
  })
  return app
}
