// @backend both
/** Payments that a person decides about: refunds that customers request, differences, disputes; and rates. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from '../../../src/db/schema/schema.ts'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { refundEndpoints } from '../../../src/http/console/billing/payment-refunds.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { signUpCustomer } from '../../support/console/console-session.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { openDatabase } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitUntil } from '../../support/wait.ts'

const provider = await StripeServer.start()
after(() => provider[Symbol.asyncDispose]())
const server = await sharedTestServer({
  env: { ...settingsOf([provider]), STRIPE_CURRENCY: 'USD', PAYMENT_FEES: 'stripe:2.9%+0.30' },
})
const addRate = (rate: string, effectiveFrom: string) =>
  ['POST', '/payment-rates', { from: 'USD', rate, effective_from: effectiveFrom }] as const

test('Rate – is needed for another currency, dated, and frozen with the order', async () => {
  const account = await server.account()
  const path = `/accounts/${account.id}/orders`
  const body = { method: 'stripe', amount: '10' }
  assert.equal(await expectError(server, 400, ['POST', path, body]), 'method')
  await expectResponse(server, 201, addRate('7.1', '2026-01-01T00:00:00Z'))
  assert.equal(await expectError(server, 409, addRate('7.2', '2026-01-01T00:00:00Z')), 'effective_from')
  const order = await expectResponse<PaymentOrder>(server, 201, ['POST', path, body])
  // 2.9 % of 10.00 and 0.30; 9.41 at 7.1.
  assert.deepEqual([order.currency, order.fee, order.credit], ['USD', '0.59', '66.811'])
  await expectResponse(server, 201, addRate('8', new Date().toISOString()))
  provider.pay(order.id)
  await deliverNotice(server.url, 'stripe', provider.notice(order.id))
  assert.equal(await account.balance(), '66.811')
  const { data } = await expectResponse<List>(server, 200, ['GET', '/payment-rates'])
  assert.deepEqual(
    data.map(({ from, to, rate, state }) => [from, to, rate, state]),
    [
      ['USD', 'CNY', '8', 'current'],
      ['USD', 'CNY', '7.1', 'past'],
    ],
  )
  const listed = await expectResponse<List>(server, 200, ['GET', `/orders?account=${account.id}&state=paid`])
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    [order.id],
  )
})

describe('Decisions about payments', () => {
  test('Refund that a customer requests – takes the balance at once; refused, it is back', async () => {
    const customer = await signUpCustomer(server, 'refund@example.com')
    const input = { method: 'stripe', amount: '10' } as const
    const order = await customer.call(orderEndpoints.createOrder, { body: input })
    provider.pay(order.id)
    await customer.call(orderEndpoints.checkOrder, { id: order.id })
    const balance = async (): Promise<unknown> => {
      const account = await expectResponse(server, 200, ['GET', `/accounts/${order.account}`])
      return account['balance']
    }
    assert.equal(await balance(), order.credit)
    const request = (amount: string) =>
      customer.call(refundEndpoints.requestRefund, {
        id: order.id,
        body: { amount, reason: 'unused' },
      })
    const first = await request('9.41')
    assert.deepEqual([first.state, await balance()], ['requested', '0'])
    const refused = await expectResponse<PaymentRefund>(server, 200, [
      'POST',
      `/refunds/${first.id}/refuse`,
      { reason: 'talk to us' },
    ])
    assert.deepEqual(
      [refused.state, refused.problem, await balance()],
      ['refused', 'talk to us', order.credit],
    )
    // Two at once: one is open, and the other one has to wait.
    const both = await Promise.all(
      ['4.00', '4.00'].map((amount) =>
        customer.send(refundEndpoints.requestRefund, {
          id: order.id,
          body: { amount, reason: 'unused' },
        }),
      ),
    )
    assert.deepEqual(both.map(({ status }) => String(status)).toSorted(), ['200', '409'])
    const { data } = await expectResponse<List>(server, 200, [
      'GET',
      `/refunds?order=${order.id}&state=requested`,
    ])
    assert.equal(data.length, 1)
    const [second] = data
    assert.ok(second)
    const approve = ['POST', `/refunds/${String(second['id'])}/approve`] as const
    await expectResponse(server, 200, approve)
    await expectError(server, 409, approve)
    const done = await expectResponse<PaymentRefund>(server, 200, ['GET', `/refunds/${String(second['id'])}`])
    assert.deepEqual([done.state, done.amount], ['done', '4.00'])
    const path = `/notices?account=${order.account}`
    const notices = await expectResponse<List>(server, 200, ['GET', path])
    const texts = notices.data.map(({ code, text }) => [code, text])
    assert.deepEqual(
      texts.filter(([code]) => String(code).startsWith('refund_')),
      [
        [
          'refund_done',
          `For order ${order.id}. It goes back the way you paid, and may take a few days to arrive.`,
        ],
        ['refund_refused', `For order ${order.id}. The amount is back on your balance. Reason: talk to us`],
      ],
    )
    assert.equal(provider.payments.find((each) => each.order === order.id)?.refundedMinor, 400n)
  })

  test('Difference – is credited once under its transaction, or dismissed, each by one decision', async () => {
    const account = await server.account()
    const orders: PaymentOrder[] = []
    for (const amountMinor of [900n, 1100n]) {
      const body = { method: 'stripe', amount: '10' }
      const order = await expectResponse<PaymentOrder>(server, 201, [
        'POST',
        `/accounts/${account.id}/orders`,
        body,
      ])
      provider.pay(order.id, { amountMinor })
      await deliverNotice(server.url, 'stripe', provider.notice(order.id))
      orders.push(order)
    }
    const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?state=open'])
    const idOf = (order: PaymentOrder | undefined) => data.find((each) => each['order'] === order?.id)?.['id']
    const path = `/payments/differences/${String(idOf(orders[0]))}/resolve`
    assert.equal(await expectError(server, 409, ['POST', path, { action: 'settle', reason: 'x' }]), 'action')
    const toNobody = { action: 'credit', account: 'acc_unknown', reason: 'x' }
    assert.equal(await expectError(server, 404, ['POST', path, toNobody]), 'account')
    await expectResponse(server, 200, ['POST', path, { action: 'credit', reason: 'paid less' }])
    await expectError(server, 409, ['POST', path, { action: 'credit', reason: 'again' }])
    // 9.00 at the rate of now.
    assert.equal(await account.balance(), '72')
    const other = `/payments/differences/${String(idOf(orders[1]))}/resolve`
    await expectResponse(server, 200, ['POST', other, { action: 'dismiss', reason: 'returned' }])
    assert.equal(await account.balance(), '72')
    const audit = await expectResponse<List>(server, 200, ['GET', `/audit?object=${String(idOf(orders[0]))}`])
    assert.partialDeepStrictEqual(audit.data, [{ action: 'payment-difference.resolve' }])
  })

  test('Dispute – takes what is there, and gives it back when it is won', async () => {
    const account = await server.account()
    const order = await expectResponse<PaymentOrder>(server, 201, [
      'POST',
      `/accounts/${account.id}/orders`,
      { method: 'stripe', amount: '10' },
    ])
    provider.pay(order.id)
    await deliverNotice(server.url, 'stripe', provider.notice(order.id))
    const reference = provider.dispute(order.id)
    for (let times = 0; times < 3; times += 1)
      await deliverNotice(server.url, 'stripe', provider.disputeNotice(reference))
    assert.equal(await account.balance(), '0')
    const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?kind=dispute'])
    assert.partialDeepStrictEqual(data, [{ transaction: reference, order: order.id }])
    const dispute = provider.state.disputes.find(({ id }) => id === reference)
    assert.ok(dispute)
    dispute.status = 'won'
    await deliverNotice(server.url, 'stripe', provider.disputeNotice(reference, 'charge.dispute.closed'))
    assert.equal(await account.balance(), order.credit)
  })

  test('Dispute of spent credit – is owed: on the account, in the list, to the customer', async () => {
    const customer = await signUpCustomer(server, 'owing@example.com')
    const order = await customer.call(orderEndpoints.createOrder, {
      body: { method: 'stripe', amount: '10' },
    })
    provider.pay(order.id)
    await customer.call(orderEndpoints.checkOrder, { id: order.id })
    const debit = { amount: '-5', reason: 'spent', idempotency_key: 'spent' }
    await expectResponse(server, 201, ['POST', `/accounts/${order.account}/credits`, debit])
    await deliverNotice(server.url, 'stripe', provider.disputeNotice(provider.dispute(order.id)))
    const account = await expectResponse(server, 200, ['GET', `/accounts/${order.account}`])
    assert.deepEqual([account['balance'], account['receivable']], ['0', '5'])
    assert.equal((await customer.call(billingEndpoints.wallet)).receivable, '5')
    const find = async (query: string) => {
      const { data } = await expectResponse<List>(server, 200, ['GET', `/accounts?${query}`])
      return data.map(({ id }) => id)
    }
    assert.deepEqual(await find('receivable=true'), [order.account])
    assert.deepEqual(await find('receivable=true&q=owing'), [order.account])
    assert.deepEqual(await find('receivable=false&email=owing@example.com'), [])
    assert.ok(!(await find('receivable=false')).includes(order.account))
  })

  test('Ended order – is asked about once more after its time, and then no longer', async () => {
    const account = await server.account()
    const path = `/accounts/${account.id}/orders`
    const order = await expectResponse<PaymentOrder>(server, 201, [
      'POST',
      path,
      { method: 'stripe', amount: '10' },
    ])
    await expectResponse(server, 200, ['POST', `/orders/${order.id}/cancel`])
    const store = await openDatabase(server.relay)
    const table = sql.updateTable('payment_orders').set({ expires_at: 1, next_check_at: 1 })
    await store.db.write(table.where('id', '=', order.id))
    await waitUntil(async () => {
      const row = await store.db.first(
        sql.selectFrom('payment_orders').select('next_check_at').where('id', '=', order.id),
      )
      return row?.next_check_at === null
    }, 'the last check')
    await store.close()
  })
})
