/** `/requests/{id}/refund`: money of one request that is given back. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { orderRefund, refundedNanos } from '../../../ledger/credits/refunds.ts'
import { newId } from '../../../lib/ids.ts'
import { decimalOf, nanosOf } from '../../../lib/money.ts'
import type { Desk } from '../desk.ts'
import { bodyOf, enteredAnswer, idPath, money } from '../schemas.ts'

const refundIn = z.strictObject({
  reason: z.string().trim().min(1).max(500),
  amount: money.optional().meta({ description: 'Default: all that has not been given back.' }),
  idempotency_key: z.string().min(1).max(200).optional().meta({
    description: 'The same key gives back once; without one every call is a refund of its own.',
  }),
})
export const refundOut = z
  .object({
    id: z.string().meta({ description: 'Of the credit: the entry’s reference.' }),
    request_id: z.string(),
    account: z.string(),
    amount: money,
    cost: money.meta({ description: 'Of the request.' }),
    refunded: money.meta({ description: 'Of the request, with this; never above its cost.' }),
    balance: money.meta({ description: 'Of the account, with this.' }),
  })
  .openapi('Refund')

const refund = createRoute({
  method: 'post',
  path: '/requests/{id}/refund',
  summary: 'Give a request’s cost back, all of it or a part',
  request: { params: idPath, body: bodyOf(refundIn) },
  responses: enteredAnswer(refundOut, ['Entered, and durable.', 'Was entered before, by the same key.']),
})

export function refundRoutes({ house, by }: Desk): OpenAPIHono {
  const { db } = house
  const app = new OpenAPIHono()
  app.openapi(refund, async (c) => {
    const { id: requestId } = c.req.valid('param')
    const { reason, amount, idempotency_key: key } = c.req.valid('json')
    const amountNanos = amount === undefined ? null : nanosOf(amount, 'amount')
    const idempotencyKey = key ?? newId('ref')
    const order = { requestId, amountNanos, reason, idempotencyKey, at: Date.now(), by }
    const ordered = await orderRefund(db, order)
    const { balance } = await house.enterOrder(ordered.creditId)
    const body = {
      id: ordered.creditId,
      request_id: requestId,
      account: ordered.account,
      amount: decimalOf(ordered.amountNanos),
      cost: decimalOf(ordered.costNanos),
      refunded: decimalOf(await refundedNanos(db, requestId)),
      balance: decimalOf(balance),
    }
    return ordered.isNew ? c.json(body, 201) : c.json(body, 200)
  })
  return app
}
