// @backend both
/** Revenue by month and method: payments by when they were settled, refunds and lost disputes by when they were. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { z } from 'zod'
import type { revenueSchema } from '../../../src/http/admin/money/payment-revenue.ts'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { expectResponse, type List } from '../../support/client/admin-api.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

type Revenue = z.infer<typeof revenueSchema>

const provider = await StripeServer.start()
after(() => provider[Symbol.asyncDispose]())
const server = await sharedTestServer({
  env: {
    ...settingsOf([provider]),
    STRIPE_CURRENCY: 'USD',
    TIME_ZONE: 'Asia/Shanghai',
    PAYMENT_FEES: 'stripe:1%,bank:2',
    BANK_TRANSFER: 'Sluice Ltd, Bank of Examples',
    BANK_ACCOUNT: '6222000012345678',
  },
})
await expectResponse(server, 201, [
  'POST',
  '/payment-rates',
  { from: 'USD', rate: '7', effective_from: '2024-01-01T00:00:00Z' },
])
const account = await server.account()

async function order(method: 'stripe' | 'bank', amount: string): Promise<PaymentOrder> {
  const body = { method, amount }
  return expectResponse<PaymentOrder>(server, 201, ['POST', `/accounts/${account.id}/orders`, body])
}

/** A payment by card that was settled at this time. */
async function pay(amount: string, settledAt: number): Promise<PaymentOrder> {
  const made = await order('stripe', amount)
  provider.pay(made.id)
  await deliverNotice(server.url, 'stripe', provider.notice(made.id))
  const set = `update payments set settled_at = ${settledAt} where order_id = '${made.id}'`
  await executeSql(server.relay, set)
  return made
}

const revenue = async (query = '') =>
  (await expectResponse<List<Revenue>>(server, 200, ['GET', `/payments/revenue${query}`])).data
const monthOf = (at: number): string =>
  new Intl.DateTimeFormat('sv', { timeZone: 'Asia/Shanghai' }).format(at).slice(0, 7)

describe('Revenue by method', () => {
  test('months – are those of TIME_ZONE; every sum is in its own currency', async () => {
    assert.deepEqual(await revenue(), [])
    // One minute before midnight in Shanghai, and midnight.
    await pay('100', Date.UTC(2025, 0, 31, 15, 59))
    await pay('50', Date.UTC(2025, 0, 31, 16))
    const returned = await pay('200', Date.UTC(2025, 1, 10))
    await expectResponse(server, 201, [
      'POST',
      `/orders/${returned.id}/refunds`,
      { amount: '20', reason: 'x' },
    ])
    const transfer = await order('bank', '300')
    const received = { received: '300', transaction: 'B-1', date: '2026-11-28' }
    await expectResponse(server, 200, ['POST', `/orders/${transfer.id}/confirm`, received])
    const now = Date.now()
    const sums = { payments: 0, amount: '0.00', fees: '0.00', refunds: '0.00', credit: '0', bonus: '0' }
    const all = [
      {
        ...sums,
        month: monthOf(now),
        method: 'bank',
        currency: 'CNY',
        payments: 1,
        amount: '300.00',
        fees: '2.00',
        net: '298.00',
        credit: '298',
      },
      // The refund is of this month, its payment is not.
      { ...sums, month: monthOf(now), method: 'stripe', currency: 'USD', refunds: '20.00', net: '-20.00' },
      {
        ...sums,
        month: '2025-02',
        method: 'stripe',
        currency: 'USD',
        payments: 2,
        amount: '250.00',
        fees: '2.50',
        net: '247.50',
        credit: '1732.5',
      },
      {
        ...sums,
        month: '2025-01',
        method: 'stripe',
        currency: 'USD',
        payments: 1,
        amount: '100.00',
        fees: '1.00',
        net: '99.00',
        credit: '693',
      },
    ]
    assert.deepEqual(await revenue(), all)
    assert.deepEqual(await revenue('?from=2025-02-01T00:00:00%2B08:00&to=2025-03-01T00:00:00%2B08:00'), [
      all[2],
    ])
  })

  test('dispute – counts as returned once it is lost', async () => {
    const made = await pay('10', Date.UTC(2025, 2, 10))
    const reference = provider.dispute(made.id)
    await deliverNotice(server.url, 'stripe', provider.disputeNotice(reference))
    const returned = async () => (await revenue()).find(({ method }) => method === 'stripe')?.refunds
    assert.equal(await returned(), '20.00')
    const dispute = provider.state.disputes.find(({ id }) => id === reference)
    assert.ok(dispute)
    dispute.status = 'lost'
    await deliverNotice(server.url, 'stripe', provider.disputeNotice(reference, 'charge.dispute.closed'))
    // Without the fee, which was never credited.
    assert.equal(await returned(), '29.90')
  })
})
