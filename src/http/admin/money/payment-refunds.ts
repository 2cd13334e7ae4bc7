/** `/orders/{id}/refunds` and `/refunds`: unused balance goes back the way it came. */
import { z } from '@hono/zod-openapi'
import { listRefunds, refundById, type Refund } from '../../../payments/payment-refunds.ts'
import { view } from '../../api/define-endpoints.ts'
import {
  paymentRefundSchema,
  refundCursor,
  refundFields,
  refundStates,
  serializeRefund,
} from '../../api/payment-refunds.ts'
import { admin } from '../admin-context.ts'

const refundView = view('refund', paymentRefundSchema, (refund: Refund, ctx) => serializeRefund(refund, ctx))

export const paymentRefundEndpoints = [
  admin.create('/orders/{id}/refunds', {
    summary: 'Refund a payment: requested and approved in one',
    body: z.strictObject(refundFields),
    response: refundView,
    returns: 'The refund, after its provider was asked.',
    handle({ ctx, by, params, body: { amount = null, reason } }) {
      return ctx.payments.requestRefund({ order: params.id, amount, reason, by, isOperator: true })
    },
  }),
  admin.page('/refunds', {
    summary: 'List refunds of payments, those of the newest orders first',
    item: refundView,
    filters: {
      account: z.string().optional(),
      order: z.string().optional(),
      state: z.enum(refundStates).optional(),
    },
    cursor: refundCursor,
    csv: [
      'id',
      'order',
      'account',
      'state',
      'amount',
      'currency',
      'credit',
      'bonus',
      'reason',
      'created_at',
      'transaction',
    ],
    handle: ({ ctx, query: { account, order, state }, page }) =>
      listRefunds(ctx.db, { account, order, state }, page),
  }),
  admin.get('/refunds/{id}', {
    summary: 'Get a refund',
    response: refundView,
    handle: ({ ctx, params }) => refundById(ctx.db, params.id),
  }),
  admin.post('/refunds/{id}/approve', {
    summary: 'Approve a requested refund, and send it to the provider',
    response: refundView,
    handle: ({ ctx, by, params }) => ctx.payments.approveRefund(params.id, by),
  }),
  admin.post('/refunds/{id}/refuse', {
    summary: 'Refuse a refund, or a bank transfer that came back: the balance is given back',
    body: z.strictObject({ reason: z.string().trim().min(1).max(500) }),
    response: refundView,
    handle: ({ ctx, by, params, body }) => ctx.payments.refuseRefund(params.id, body.reason, by),
  }),
  admin.post('/refunds/{id}/done', {
    summary: 'Record that the money was sent: for bank transfers, and for refunds whose state is not known',
    body: z.strictObject({ transaction: z.string().trim().min(1).max(100) }),
    response: refundView,
    handle: ({ ctx, by, params, body }) => ctx.payments.completeRefund(params.id, body.transaction, by),
  }),
]
