/** `/payment-methods`, `/orders` and `/payment-rates`: recharges by payment. */
import { z } from '@hono/zod-openapi'
import type { Db } from '../../../db/db.ts'
import { invalidField } from '../../../errors.ts'
import { isCurrency } from '../../../lib/currency.ts'
import { formatFactor, parseRate } from '../../../lib/money.ts'
import { methodNames } from '../../../payments/payment-method.ts'
import { listOrders, orderById, type Order } from '../../../payments/payment-orders.ts'
import { lastRunsOf } from '../../../payments/payment-runs.ts'
import { paymentOfOrder } from '../../../payments/payments.ts'
import { addRate, listRates, rateStates, type DatedRate } from '../../../payments/rates.ts'
import { view } from '../../api/define-endpoints.ts'
import { formatTime, parseTime } from '../../api/json-values.ts'
import {
  methodSchema,
  orderFields,
  orderSchema,
  orderStates,
  paymentMethod,
  serializeMethod,
  serializeOrder,
  unconfiguredMethod,
  type PaymentMethodJson,
} from '../../api/payment-orders.ts'
import type { AppContext } from '../../app-context.ts'
import { requireAccount } from '../accounts/accounts.ts'
import { admin } from '../admin-context.ts'
import { money, onceView, time, timeInput, timeQuery } from '../schemas.ts'

async function orderJson(ctx: Pick<AppContext, 'db'>, order: Order) {
  const payment = order.state === 'paid' ? await paymentOfOrder(ctx.db, order.id) : undefined
  return serializeOrder(order, payment?.transactionId ?? null)
}

const orderView = view('order', orderSchema, (order: Order, ctx) => orderJson(ctx, order))

/** Where the day begins first, it is tomorrow's. */
function isArrivalDay(day: string): boolean {
  return day >= '2000-01-01' && Date.parse(day) <= Date.now() + 86_400_000
}

const transferInput = z.strictObject({
  received: money.meta({ description: 'The amount that arrived, in the order’s currency.' }),
  transaction: z.string().trim().min(1).max(100).meta({ description: 'The bank’s serial number.' }),
  date: z.iso
    .date()
    .refine(isArrivalDay, { error: 'must be a day from 2000 until today' })
    .meta({ description: 'The day on which it arrived.' }),
  payer: z.string().trim().min(1).max(200).optional(),
  note: z.string().trim().max(500).optional(),
  if_different: z.enum(['credit', 'return']).optional().meta({
    description: 'If another amount arrived: credit what came, without a bonus, or return it.',
  }),
})

const rateInput = z.strictObject({
  from: z.string().refine(isCurrency, { error: 'must be an ISO 4217 code such as "USD"' }),
  rate: z.string().max(64).meta({ description: 'The price of one unit, such as `7.1`.' }),
  effective_from: timeInput.optional().meta({ description: 'Default: now.' }),
})
export const rateSchema = z
  .object({
    from: z.string(),
    to: z.string(),
    rate: z.string(),
    effective_from: time,
    state: z.enum(rateStates).meta({ description: '`current`: orders that are made now use it.' }),
  })
  .openapi('PaymentRate')

const rateView = view('rate', rateSchema, ({ currency, ratePpm, effectiveFrom, state }: DatedRate, ctx) => ({
  from: currency,
  to: ctx.currency,
  rate: formatFactor(ratePpm),
  effective_from: formatTime(effectiveFrom),
  state,
}))

export const adminMethodSchema = methodSchema
  .extend({
    comparison: z
      .object({
        day: z.string().nullable().meta({ description: 'The newest day of the last one that was complete.' }),
        at: time.nullable().meta({ description: 'When it ended.' }),
        problem: z.string().nullable().meta({ description: 'Why the last one failed; null: it did not.' }),
      })
      .nullable()
      .meta({ description: 'Of the provider’s list of payments; null: there was none yet.' }),
  })
  .openapi('AdminPaymentMethod')

async function withComparison(db: Db, method: PaymentMethodJson) {
  const { last, lastDone } = await lastRunsOf(db, method.method)
  if (last === undefined) return { ...method, comparison: null }
  const [day, at] = [lastDone?.toDay ?? null, formatTime(lastDone?.endedAt ?? null)]
  return { ...method, comparison: { day, at, problem: last.problem } }
}

export const paymentOrderEndpoints = [
  admin.list('/payment-methods', {
    summary: 'List payment methods, and whether their providers accept the credentials',
    item: adminMethodSchema,
    idOf: ({ method }) => method,
    async handle({ ctx }) {
      const configured = await ctx.payments.methods()
      const others = methodNames.filter((name) => !configured.some(({ method }) => method === name))
      const methods = [...configured.map(serializeMethod), ...others.map(unconfiguredMethod)]
      return Promise.all(methods.map((method) => withComparison(ctx.db, method)))
    },
  }),
  admin.create('/accounts/{id}/orders', {
    summary: 'Order a recharge for an account',
    description: 'The order is stored first, and then begun at its provider.',
    body: z.strictObject(orderFields),
    response: onceView(orderSchema),
    returns: 'The order; `pay` says how to pay it.',
    existing: 'The order that was made with the same `client_key`.',
    async handle({ ctx, by, params, body }) {
      const { id: account } = await requireAccount(ctx.db, params.id)
      const { method, product = null, amount, client_key: clientKey = null } = body
      const input = { account, method, product, amount, clientKey, by }
      const { order, isNew } = await ctx.payments.createOrder(input)
      return { isNew, json: await orderJson(ctx, order) }
    },
  }),
  admin.page('/orders', {
    summary: 'List orders of recharges, newest first',
    item: orderView,
    filters: {
      q: z.string().trim().max(200).optional().meta({
        description: 'An id, the reference of a bank transfer, or the provider’s number of the payment.',
      }),
      account: z.string().optional(),
      state: z.enum(orderStates).optional(),
      method: paymentMethod.optional(),
      from: timeQuery.optional().meta({ description: 'Created at or after.' }),
      to: timeQuery.optional().meta({ description: 'Created before.' }),
    },
    cursor: /^S[0-9A-Z]{26}$/,
    csv: [
      'id',
      'account',
      'method',
      'state',
      'amount',
      'currency',
      'fee',
      'credit',
      'bonus',
      'created_at',
      'paid_at',
      'transaction',
    ],
    handle: ({ ctx, query: { q: search, from, to, ...filter }, page }) =>
      listOrders(ctx.db, { ...filter, search, from: parseTime(from), to: parseTime(to) }, page),
  }),
  admin.get('/orders/{id}', {
    summary: 'Get an order',
    response: orderView,
    handle: ({ ctx, params }) => orderById(ctx.db, params.id),
  }),
  admin.post('/orders/{id}/check', {
    summary: 'Ask the provider about an order now',
    response: orderView,
    handle: ({ ctx, by, params }) => ctx.payments.checkOrder(params.id, by),
  }),
  admin.post('/orders/{id}/cancel', {
    summary: 'Cancel an unpaid order, at its provider too where that is possible',
    response: orderView,
    handle: ({ ctx, by, params }) => ctx.payments.cancelOrder(params.id, by),
  }),
  admin.post('/orders/{id}/confirm', {
    summary: 'Confirm a bank transfer',
    body: transferInput,
    response: orderView,
    handle({ ctx, by, params, body }) {
      const { payer = null, note = null, if_different: ifDifferent = null, ...rest } = body
      const transfer = { ...rest, payer, note, ifDifferent }
      return ctx.payments.confirmOrder(params.id, transfer, by)
    },
  }),
  admin.create('/payment-rates', {
    summary: 'Set the rate of a currency into the platform’s, from a time on',
    body: rateInput,
    response: rateView,
    handle({ ctx, by, body: { from, rate, effective_from: effectiveFrom } }) {
      if (from === ctx.currency) throw invalidField('from', 'must be another currency')
      const ratePpm = parseRate(rate, 'rate')
      if (ratePpm === 0) throw invalidField('rate', 'must be greater than 0')
      const at = parseTime(effectiveFrom) ?? Date.now()
      return addRate(ctx.db, { currency: from, ratePpm, effectiveFrom: at }, by)
    },
  }),
  admin.list('/payment-rates', {
    summary: 'List rates, newest first',
    item: rateView,
    idOf: ({ currency, effectiveFrom }) => `${currency} ${effectiveFrom}`,
    handle: ({ ctx }) => listRates(ctx.db, Date.now()),
  }),
]
