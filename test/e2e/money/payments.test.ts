// @backend both
/** Recharges by payment, over every method: money comes in exactly once, and goes back the way it came. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { dateOf } from '../../../src/ledger/periods.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { deliverNotice, type ScriptedProvider } from '../../support/payments/scripted-provider.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const providers: readonly ScriptedProvider[] = await Promise.all(
  Object.values(startProvider).map((start) => start()),
)
const server = await sharedTestServer({ env: settingsOf(providers) })
after(() => Promise.all(providers.map((provider) => provider[Symbol.asyncDispose]())))

const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
await server.model('m', { upstreams: [upstream], prices: ['1', '1'] })

async function orderWith(
  { method }: ScriptedProvider,
  account: Account,
  fields: object = {},
): Promise<PaymentOrder> {
  const body = { method, amount: '10', ...fields }
  return expectResponse<PaymentOrder>(server, 201, ['POST', `/accounts/${account.id}/orders`, body])
}

const read = (order: PaymentOrder): Promise<PaymentOrder> =>
  expectResponse<PaymentOrder>(server, 200, ['GET', `/orders/${order.id}`])
const check = (order: PaymentOrder): Promise<PaymentOrder> =>
  expectResponse<PaymentOrder>(server, 200, ['POST', `/orders/${order.id}/check`])
const notify = (provider: ScriptedProvider, order: PaymentOrder) =>
  deliverNotice(server.url, provider.method, provider.notice(order.id))

async function paymentsOf(account: Account) {
  const { data } = await expectResponse<List>(server, 200, ['GET', `/accounts/${account.id}/entries`])
  return data.filter(({ source }) => source === 'payment')
}

/** An order that is paid and credited. */
async function paidOrder(provider: ScriptedProvider, account: Account): Promise<PaymentOrder> {
  const order = await orderWith(provider, account)
  provider.pay(order.id)
  const { status } = await notify(provider, order)
  assert.ok(status === 200 || status === 204)
  return read(order)
}

const refund = (order: PaymentOrder, body: object = {}) =>
  expectResponse<PaymentRefund>(server, 201, [
    'POST',
    `/orders/${order.id}/refunds`,
    { reason: 'unused', ...body },
  ])

for (const provider of providers) {
  const { method } = provider

  describe(`Payments by ${method}`, () => {
    test('notice – credits a paid order once, however often it comes', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      assert.deepEqual(
        [order.state, order.amount, order.credit, order.fee],
        ['pending', '10.00', '10', '0.00'],
      )
      assert.ok(order.pay)
      // Alipay has no trade before the payer opens it, and so no notice.
      const early = method === 'alipay' ? null : await notify(provider, order)
      assert.ok(early === null || early.status >= 400 || /fail/i.test(early.body))
      assert.equal(await account.balance(), '0')
      const transaction = provider.pay(order.id)
      const notices = await Promise.all(Array.from({ length: 20 }, () => notify(provider, order)))
      // One whose read takes too long is asked to come again.
      assert.ok(notices.every(({ status }) => [200, 204, 503].includes(status)))
      const again = await notify(provider, order)
      assert.ok(again.status === 200 || again.status === 204)
      assert.equal(await account.balance(), '10')
      assert.partialDeepStrictEqual(await read(order), { state: 'paid', transaction })
      const entries = await paymentsOf(account)
      assert.equal(entries.length, 1)
      assert.match(String(entries[0]?.['reference']), new RegExp(`^payment:${method}:.+:${transaction}$`))
    })

    test('lost notice – is found by a check; a check before it changes nothing', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      assert.equal((await check(order)).state, 'pending')
      provider.pay(order.id)
      const paid = await waitUntil(async () => {
        const checked = await check(order)
        return checked.state === 'paid' ? checked : undefined
      }, 'the order to be read as paid')
      assert.equal(paid.credit, '10')
      assert.equal(await account.balance(), '10')
    })

    test('client_key – twenty calls at once are one order; another amount or method is 409', async () => {
      const account = await server.account()
      const body = { method, amount: '10', client_key: 'click' }
      const responses = await Promise.all(
        Array.from({ length: 20 }, () =>
          server.relay.adminResponse('POST', `/accounts/${account.id}/orders`, body),
        ),
      )
      const orders = await Promise.all(responses.map(async (each) => (await each.json()) as PaymentOrder))
      assert.equal(new Set(orders.map(({ id }) => id)).size, 1)
      assert.deepEqual(new Set(orders.map(({ pay }) => pay === null)), new Set([false]))
      assert.ok(responses.every(({ status }) => status === 200 || status === 201))
      const other = { ...body, amount: '11' }
      const path = `/accounts/${account.id}/orders`
      await expectError(server, 409, ['POST', path, other])
      const another = providers.find((each) => each.method !== method)?.method
      // Three decimals are those of another method’s currency.
      const precise = { ...body, method: another, amount: '10.001' }
      assert.equal(await expectError(server, 409, ['POST', path, precise]), 'client_key')
    })

    test('amount that differs by one unit – is listed and not credited', async () => {
      const account = await server.account()
      for (const amountMinor of [999n, 1001n]) {
        const order = await orderWith(provider, account)
        const transaction = provider.pay(order.id, { amountMinor })
        await notify(provider, order)
        assert.equal((await read(order)).state, 'pending')
        const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?kind=amount'])
        assert.ok(data.some((each) => each['transaction'] === transaction && each['order'] === order.id))
      }
      assert.equal(await account.balance(), '0')
    })

    test('forged notice – is rejected, and credits nothing', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      provider.pay(order.id)
      for (const fault of ['wrong-key', 'altered-body', 'no-signature'] as const) {
        const { status, body } = await deliverNotice(server.url, method, provider.notice(order.id, fault))
        assert.ok(status === 400 || status === 401 || /fail/i.test(body), fault)
      }
      assert.equal((await read(order)).state, 'pending')
    })

    test('provider that does not respond – ends no order: it is paid later', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      provider.faults = { query: 'server-error' }
      assert.equal((await check(order)).state, 'pending')
      provider.pay(order.id)
      assert.notEqual((await notify(provider, order)).body, 'success')
      assert.equal(await account.balance(), '0')
      provider.faults = {}
      await notify(provider, order)
      assert.equal(await account.balance(), '10')
    })

    test('canceled order – is credited all the same if it is paid', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      provider.faults = { close: 'says-paid' }
      const response = await server.relay.adminResponse('POST', `/orders/${order.id}/cancel`)
      provider.faults = {}
      if (response.status === 409) assert.equal((await read(order)).state, 'paid')
      else {
        assert.equal(response.status, 200)
        provider.pay(order.id)
        await notify(provider, order)
      }
      assert.equal(await account.balance(), '10')
    })

    test('reconciliation – settles what was paid and never noticed, and lists it as repaired', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      const transaction = provider.pay(order.id)
      const day = dateOf(method === 'stripe' ? 'UTC' : 'Asia/Shanghai', Date.now())
      const response = await server.relay.adminResponse('POST', '/payments/reconcile', {
        method,
        from: day,
        to: day,
      })
      if (response.status === 400) return
      assert.partialDeepStrictEqual(await response.json(), { state: 'done', problem: null })
      assert.equal(await account.balance(), '10')
      const path = '/payments/differences?state=repaired'
      const { data } = await expectResponse<List>(server, 200, ['GET', path])
      assert.ok(
        data.some((each) => each['transaction'] === transaction && each['kind'] === 'paid_there_only'),
      )
    })

    test('refund – takes the balance back, and never what was spent or came from a voucher', async () => {
      const account = await server.account()
      const order = await paidOrder(provider, account)
      const part = await refund(order, { amount: '4' })
      assert.deepEqual([part.state, part.amount, part.credit], ['done', '4.00', '4'])
      assert.equal(await account.balance(), '6')
      const { codes } = await expectResponse<{ codes: string[] }>(server, 201, [
        'POST',
        '/vouchers',
        { count: 1, amount: '5' },
      ])
      await expectResponse(server, 201, ['POST', `/accounts/${account.id}/vouchers`, { code: codes[0] }])
      assert.equal((await account.post(chatRequest('m'))).status, 200)
      assert.equal(await account.balance(), '9')
      await expectError(server, 409, ['POST', `/orders/${order.id}/refunds`, { amount: '4.01', reason: 'x' }])
      const rest = await refund(order)
      assert.equal(rest.amount, '4.00')
      assert.equal(await account.balance(), '5')
      await expectError(server, 409, ['POST', `/orders/${order.id}/refunds`, { reason: 'x' }])
      const genuine = provider.payments.find((each) => each.order === order.id)
      assert.equal(genuine?.refundedMinor, 800n)
    })

    test('refund that the provider refuses – gives the balance back', async () => {
      const account = await server.account()
      const order = await paidOrder(provider, account)
      provider.faults = { refund: 'refused' }
      const refused = await refund(order)
      provider.faults = {}
      assert.equal(refused.state, 'failed')
      assert.equal(await account.balance(), '10')
    })

    test('another method’s notice – does not settle the order', async () => {
      const account = await server.account()
      const order = await orderWith(provider, account)
      for (const other of providers.filter((each) => each !== provider)) {
        other.pay(order.id, { amountMinor: 1000n })
        await notify(other, order)
      }
      assert.equal((await read(order)).state, 'pending')
      assert.equal(await account.balance(), '0')
    })
  })
}

describe('Payment methods', () => {
  test('method that is not configured – has no route and no order', async () => {
    const account = await server.account()
    const { data } = await expectResponse<List>(server, 200, ['GET', '/payment-methods'])
    const missing = data.filter(({ configured }) => configured === false).map(({ method }) => String(method))
    for (const method of [...missing, 'paypal']) {
      const notice = await fetch(`${server.url}/api/payments/${method}/notice`, { method: 'POST', body: 'x' })
      assert.equal(notice.status, 404)
    }
    for (const method of missing)
      await expectError(server, 400, ['POST', `/accounts/${account.id}/orders`, { method, amount: '10' }])
  })

  test('amount – is checked by a strict pattern and the bounds', async () => {
    const account = await server.account()
    for (const amount of ['0', '0.99', '50000.01', '1.001', '1e3', '-5', '١٠', ' 10'])
      await expectError(server, 400, [
        'POST',
        `/accounts/${account.id}/orders`,
        { method: providers[0]?.method, amount },
      ])
  })
})
