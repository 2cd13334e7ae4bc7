/** `/payments/reconcile` and `/payments/differences`: what providers say, compared with what is here. */
import { z } from '@hono/zod-openapi'
import { differenceActions } from '../../../engine/payments/resolve-difference.ts'
import { formatMinor } from '../../../lib/currency.ts'
import { differenceKinds, listDifferences, type Difference } from '../../../payments/differences.ts'
import { orderById } from '../../../payments/payment-orders.ts'
import { listRuns, type PaymentRun } from '../../../payments/payment-runs.ts'
import { view } from '../../api/define-endpoints.ts'
import { formatTime } from '../../api/json-values.ts'
import { paymentMethod } from '../../api/payment-orders.ts'
import { admin } from '../admin-context.ts'
import { money, time } from '../schemas.ts'

const day = z.iso.date().meta({ description: 'A day in the provider’s time zone.' })

export const runSchema = z
  .object({
    id: z.string(),
    method: paymentMethod,
    from: z.string(),
    to: z.string(),
    state: z.enum(['done', 'failed']),
    problem: z.string().nullable().meta({ description: 'Why nothing, or not everything, was compared.' }),
    currency: z.string().nullable(),
    payments: z.int(),
    payments_amount: money.nullable(),
    refunds: z.int(),
    refunds_amount: money.nullable(),
    fees_amount: money.nullable(),
    repaired: z.int().meta({ description: 'Payments that were paid there, and are credited now.' }),
    differences: z.int().meta({ description: 'Those that wait for an operator.' }),
    started_at: time,
    ended_at: time.nullable(),
    by: z.string(),
  })
  .openapi('PaymentRun')

const runView = view('run', runSchema, async (run: PaymentRun, ctx) => {
  const currency = (await ctx.payments.currencyOf(run.method)) ?? null
  const amount = (minor: bigint) => (currency === null ? null : formatMinor(minor, currency))
  return {
    id: run.id,
    method: run.method,
    from: run.fromDay,
    to: run.toDay,
    state: run.state,
    problem: run.problem,
    currency,
    payments: run.payments,
    payments_amount: amount(run.paymentsMinor),
    refunds: run.refunds,
    refunds_amount: amount(run.refundsMinor),
    fees_amount: amount(run.feesMinor),
    repaired: run.repaired,
    differences: run.differences,
    started_at: formatTime(run.startedAt),
    ended_at: formatTime(run.endedAt),
    by: run.startedBy,
  }
})

export const differenceSchema = z
  .object({
    id: z.string(),
    kind: z.enum(differenceKinds),
    method: paymentMethod,
    merchant: z.string(),
    transaction: z.string().meta({ description: 'The provider’s id of the payment, refund or dispute.' }),
    order: z.string().nullable(),
    account: z.string().nullable(),
    currency: z.string(),
    amount: money.nullable().meta({ description: 'At the provider.' }),
    expected: money.nullable().meta({ description: 'Here, in `expected_currency`.' }),
    expected_currency: z.string().nullable().meta({ description: 'Of the order.' }),
    state: z.enum(['open', 'repaired', 'resolved']),
    at: time,
    found_at: time,
    resolved_at: time.nullable(),
    resolved_by: z.string().nullable(),
    action: z.string().nullable(),
    reason: z.string().nullable(),
  })
  .openapi('PaymentDifference')

const differenceView = view('difference', differenceSchema, async (difference: Difference, { db }) => {
  const { currency, orderId, amountMinor, expectedMinor } = difference
  const order = orderId === null || expectedMinor === null ? undefined : await orderById(db, orderId)
  const expectedCurrency = order?.currency ?? currency
  return {
    id: difference.id,
    kind: difference.kind,
    method: difference.method,
    merchant: difference.merchant,
    transaction: difference.reference,
    order: difference.orderId,
    account: difference.accountId,
    currency,
    amount: amountMinor === null ? null : formatMinor(amountMinor, currency),
    expected: expectedMinor === null ? null : formatMinor(expectedMinor, expectedCurrency),
    expected_currency: expectedMinor === null ? null : expectedCurrency,
    state: difference.state,
    at: formatTime(difference.at),
    found_at: formatTime(difference.foundAt),
    resolved_at: formatTime(difference.resolvedAt),
    resolved_by: difference.resolvedBy,
    action: difference.action,
    reason: difference.reason,
  }
})

export const paymentDifferenceEndpoints = [
  admin.post('/payments/reconcile', {
    summary: 'Compare a provider’s list of payments with what is here',
    body: z.strictObject({ method: paymentMethod, from: day, to: day }),
    response: runView,
    handle: ({ ctx, by, body }) => ctx.payments.reconcile({ ...body, by }),
  }),
  admin.list('/payments/runs', {
    summary: 'List the last 100 comparisons, newest first',
    item: runView,
    idOf: ({ id }) => id,
    handle: ({ ctx }) => listRuns(ctx.db, 100),
  }),
  admin.page('/payments/differences', {
    summary: 'List differences, newest first',
    item: differenceView,
    filters: {
      state: z.enum(['open', 'repaired', 'resolved']).optional(),
      method: paymentMethod.optional(),
      kind: z.enum(differenceKinds).optional(),
    },
    cursor: /^dif_[0-9a-z]+$/,
    csv: [
      'id',
      'kind',
      'method',
      'transaction',
      'order',
      'account',
      'amount',
      'currency',
      'expected',
      'expected_currency',
      'state',
      'at',
      'resolved_by',
      'reason',
    ],
    handle: ({ ctx, query: { state, method, kind }, page }) =>
      listDifferences(ctx.db, { state, method, kind }, page),
  }),
  admin.post('/payments/differences/{id}/resolve', {
    summary: 'Decide about a difference',
    body: z.strictObject({
      action: z.enum(differenceActions),
      account: z.string().optional().meta({ description: 'Whom to credit.' }),
      reason: z.string().trim().min(1).max(500),
    }),
    response: differenceView,
    handle: ({ ctx, by, params, body: { action, account = null, reason } }) =>
      ctx.payments.decideDifference(params.id, { action, account, reason, by }),
  }),
]
