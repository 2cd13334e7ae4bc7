/** An account's own recharges by payment: methods, promotions, a preview, orders. */
import { renderSVG } from 'uqr'
import { z } from 'zod'
import { notFound } from '../../../errors.ts'
import { formatMinor } from '../../../lib/currency.ts'
import { formatAmount } from '../../../lib/money.ts'
import { listOrders, orderById, type Order } from '../../../payments/payment-orders.ts'
import { paymentOfOrder } from '../../../payments/payments.ts'
import { openPromotions } from '../../../payments/recharge-promotions.ts'
import { bonusTier } from '../../api/bonus-tiers.ts'
import { decodeCursor, encodeCursor, formatOptionalAmount, formatTime } from '../../api/json-values.ts'
import { money, pageFields, pageOf, time } from '../../api/json-schemas.ts'
import {
  methodSchema,
  orderFields,
  orderSchema,
  paymentMethod,
  serializeMethod,
  serializeOrder,
} from '../../api/payment-orders.ts'
import { customer, type ConsoleContext } from '../context.ts'

const previewSchema = z.object({
  currency: z.string(),
  amount: money,
  fee: money,
  credit: money,
  bonus: money,
})
export type OrderPreviewJson = z.infer<typeof previewSchema>

const offeredBonusSchema = z.object({
  name: z.string(),
  tiers: z.array(bonusTier),
  first_only: z.boolean(),
  ends_at: time.nullable(),
  /** What the account can still get; null: no limit per account. The budget of all accounts is the operator's. */
  left: money.nullable(),
})
export type OfferedBonus = z.infer<typeof offeredBonusSchema>

const ownOrderSchema = orderSchema.extend({
  /** The QR code as an SVG image, while the order can be paid by it. */
  qr_svg: z.string().nullable(),
})
export type OwnOrder = z.infer<typeof ownOrderSchema>

async function orderJson({ ctx }: ConsoleContext, order: Order): Promise<OwnOrder> {
  const payment = order.state === 'paid' ? await paymentOfOrder(ctx.db, order.id) : undefined
  const isShown = order.state === 'pending' && order.pay?.kind === 'qr'
  return {
    ...serializeOrder(order, payment?.transactionId ?? null),
    qr_svg: isShown ? renderSVG(order.pay.qr, { border: 2 }) : null,
  }
}

/** Throws 404 for an order of another account. */
export async function requireOwnOrder({ ctx, accountId }: ConsoleContext, id: string): Promise<Order> {
  const order = await orderById(ctx.db, id)
  if (order?.accountId !== accountId) throw notFound('Order')
  return order
}

export const orderEndpoints = {
  methods: customer.get('/billing/payment-methods', {
    response: z.object({ data: z.array(methodSchema) }),
    handle: async ({ ctx }) => ({ data: (await ctx.payments.methods()).map(serializeMethod) }),
  }),
  bonuses: customer.get('/billing/bonuses', {
    response: z.object({ data: z.array(offeredBonusSchema) }),
    async handle({ ctx, accountId }) {
      const open = await openPromotions(ctx.db, accountId, Date.now())
      const data = open.map(({ promotion, leftNanos }) => ({
        name: promotion.name,
        tiers: [...promotion.tiers],
        first_only: promotion.firstOnly === 1,
        ends_at: formatTime(promotion.endsAt),
        left: promotion.perAccountNanos === null ? null : formatOptionalAmount(leftNanos),
      }))
      return { data }
    },
  }),
  preview: customer.get('/billing/orders/preview', {
    query: { method: paymentMethod, amount: money },
    response: previewSchema,
    async handle({ ctx, accountId, query }) {
      const preview = await ctx.payments.preview({ account: accountId, ...query })
      const { currency, amountMinor, feeMinor, creditNanos, bonusNanos } = preview
      return {
        currency,
        amount: formatMinor(amountMinor, currency),
        fee: formatMinor(feeMinor, currency),
        credit: formatAmount(creditNanos),
        bonus: formatAmount(bonusNanos),
      }
    },
  }),
  orders: customer.get('/billing/orders', {
    query: pageFields,
    response: pageOf(ownOrderSchema),
    async handle(context) {
      const { ctx, accountId, query } = context
      const page = { limit: query.limit, cursor: decodeCursor(query.cursor, /^S[0-9A-Z]{26}$/) }
      const { data, next } = await listOrders(ctx.db, { account: accountId }, page)
      return {
        data: await Promise.all(data.map((order) => orderJson(context, order))),
        next: encodeCursor(next),
      }
    },
  }),
  createOrder: customer.post('/billing/orders', {
    body: z.strictObject({
      ...orderFields,
      /** The payer agrees to save the card for automatic recharges. */
      saves_card: z.boolean().optional(),
    }),
    response: ownOrderSchema,
    async handle(context) {
      const { ctx, accountId, by, body } = context
      const {
        method,
        product = null,
        amount,
        client_key: clientKey = null,
        saves_card: savesCard = false,
      } = body
      const bySession = context.user.role === 'customer'
      const input = { account: accountId, method, product, amount, clientKey, savesCard, bySession, by }
      return orderJson(context, (await ctx.payments.createOrder(input)).order)
    },
  }),
  order: customer.get('/billing/orders/{id}', {
    response: ownOrderSchema,
    handle: async (context) => orderJson(context, await requireOwnOrder(context, context.params.id)),
  }),
  checkOrder: customer.post('/billing/orders/{id}/check', {
    response: ownOrderSchema,
    async handle(context) {
      const { id } = await requireOwnOrder(context, context.params.id)
      return orderJson(context, await context.ctx.payments.checkOrder(id, context.by))
    },
  }),
  cancelOrder: customer.post('/billing/orders/{id}/cancel', {
    response: ownOrderSchema,
    async handle(context) {
      const { id } = await requireOwnOrder(context, context.params.id)
      return orderJson(context, await context.ctx.payments.cancelOrder(id, context.by))
    },
  }),
}
