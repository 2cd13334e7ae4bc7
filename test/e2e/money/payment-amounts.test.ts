// @backend both
/** Orders and refunds in a currency of which the provider takes whole units only, and calls that reach no provider. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { EpayServer } from '../../support/payments/epay-server.ts'
import { PaymentSteps } from '../../support/payments/payment-steps.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const stripe = await StripeServer.start()
const epay = await EpayServer.start(1)
after(() => Promise.all([stripe[Symbol.asyncDispose](), epay[Symbol.asyncDispose]()]))
const server = await sharedTestServer({
  env: {
    ...settingsOf([stripe, epay]),
    STRIPE_CURRENCY: 'ISK',
    PAYMENT_FEES: 'stripe:2.9%+1.50',
    BANK_TRANSFER: 'Acme Ltd',
    BANK_ACCOUNT: '1234',
  },
})
const steps = new PaymentSteps(server)
await expectResponse(server, 201, ['POST', '/payment-rates', { from: 'ISK', rate: '0.05' }])

describe('Maximum of a day', () => {
  test('orders at the same time – do not exceed it together', async () => {
    const account = await server.account()
    const order = ['POST', `/accounts/${account.id}/orders`, { method: 'bank', amount: '50000' }] as const
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => expectResponse(server, 201, order)),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 4)
    assert.equal(await expectError(server, 400, order), 'amount')
  })
})

describe('Currency whose amounts are whole units', () => {
  test('order – has a fee rounded up, and a whole amount', async () => {
    const account = await server.account()
    const order = await steps.order(stripe, account, { amount: '1000' })
    // 2.9 % and 1.50 are 30.50; 969 at 0.05.
    assert.deepEqual([order.state, order.fee, order.credit], ['pending', '31.00', '48.45'])
    const call = ['POST', `/accounts/${account.id}/orders`, { method: 'stripe', amount: '10.5' }] as const
    assert.equal(await expectError(server, 400, call), 'amount')
    const { data } = await expectResponse<List>(server, 200, ['GET', `/orders?account=${account.id}`])
    assert.equal(data.length, 1)
  })

  test('refund – is of all that can go back in whole units, or of a whole amount', async () => {
    const account = await server.account()
    const order = await steps.order(stripe, account, { amount: '1000' })
    stripe.pay(order.id)
    await steps.notify(stripe, order)
    const spent = { amount: '-0.026', reason: 'spent', idempotency_key: 'spent' }
    await expectResponse(server, 201, ['POST', `/accounts/${account.id}/credits`, spent])
    const path = `/orders/${order.id}/refunds`
    const part = { amount: '1.50', reason: 'unused' }
    assert.equal(await expectError(server, 400, ['POST', path, part]), 'amount')
    const refund: PaymentRefund = await steps.refund(order)
    assert.deepEqual([refund.state, refund.amount], ['done', '968.00'])
  })

  test('rate – is one of a currency that exists', async () => {
    const call = ['POST', '/payment-rates', { from: 'QQQ', rate: '1' }] as const
    assert.equal(await expectError(server, 400, call), 'from')
  })
})

test('Idempotency key – of a call that reached no provider can be used again', async () => {
  const account = await server.account()
  const send = () =>
    fetch(`${server.url}/api/admin/accounts/${account.id}/orders`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.relay.adminKey}`,
        'content-type': 'application/json',
        'idempotency-key': account.id,
      },
      body: JSON.stringify({ method: 'epay', product: 'alipay', amount: '10', client_key: 'once' }),
    })
  epay.faults = { create: 'unreachable' }
  const unreached = await send()
  const text = await unreached.text()
  assert.deepEqual([unreached.status, /payment_unavailable/.test(text)], [503, true], text)
  epay.faults = {}
  const responses = await Promise.all([await send(), await send()].map((each) => each.json()))
  const [order, again] = responses as [PaymentOrder, PaymentOrder]
  assert.equal(order.state, 'pending')
  assert.ok(text.includes(order.id))
  assert.deepEqual(again, order)
})

test('Comparison – of epay ends with yesterday in Shanghai', async () => {
  const day = (at: number) => new Date(at + 8 * 3_600_000).toISOString().slice(0, 10)
  const [yesterday, today] = [day(Date.now() - 86_400_000), day(Date.now())]
  const call = (to: string) =>
    ['POST', '/payments/reconcile', { method: 'epay', from: yesterday, to }] as const
  assert.equal(await expectError(server, 400, call(today)), 'to')
  assert.equal((await expectResponse(server, 200, call(yesterday)))['problem'], null)
})

test('Day of a transfer – is neither in the future nor before 2000', async () => {
  const account = await server.account()
  const body = { method: 'bank', amount: '10' }
  const { id } = await expectResponse(server, 201, ['POST', `/accounts/${account.id}/orders`, body])
  const confirm = (date: string) =>
    ['POST', `/orders/${String(id)}/confirm`, { received: '10', transaction: account.id, date }] as const
  for (const date of ['9999-12-31', '0001-01-01', '1999-12-31'])
    assert.equal(await expectError(server, 400, confirm(date)), 'date')
  await expectResponse(server, 200, confirm(new Date().toISOString().slice(0, 10)))
})
