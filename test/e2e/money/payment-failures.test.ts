// @backend both
/** What has gone wrong with payments elsewhere, over every method: each failure costs nobody money. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { refundEndpoints } from '../../../src/http/console/billing/payment-refunds.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { signUpCustomer } from '../../support/console/console-session.ts'
import { AlipayServer } from '../../support/payments/alipay-server.ts'
import { EpayServer } from '../../support/payments/epay-server.ts'
import { NoticeForwarder } from '../../support/payments/notice-forwarder.ts'
import { PaymentSteps } from '../../support/payments/payment-steps.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import type { PaymentChanges, ScriptedProvider } from '../../support/payments/scripted-provider.ts'
import { sessionJson } from '../../support/payments/stripe-objects.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { WechatServer } from '../../support/payments/wechat-server.ts'
import { Account, chatRequest } from '../../support/server/account.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const starts = {
  stripe: () => StripeServer.start(),
  alipay: () => AlipayServer.start(),
  wechat: () => WechatServer.start(),
  epay: () => EpayServer.start(2),
} as const
const stripe = await starts.stripe()
const providers: readonly ScriptedProvider[] = [
  stripe,
  ...(await Promise.all([starts.alipay(), starts.wechat(), starts.epay()])),
]
const forwarder = await NoticeForwarder.start()
const server = await sharedTestServer({
  env: {
    ...settingsOf(providers),
    PUBLIC_URL: forwarder.url,
    LOG_LEVEL: 'debug',
    TRUST_PROXY: '127.0.0.1',
  },
})
forwarder.target = () => server.url
after(() => Promise.all([...providers, forwarder].map((each) => each[Symbol.asyncDispose]())))

/** Of a key, one line of its PEM text. */
function partsOfSecret(value: string): string[] {
  const text = value.replaceAll(/-----[^-]+-----|\s/g, '')
  return text.length > 256 ? [text.slice(192, 252)] : text.split(',')
}

const steps = new PaymentSteps(server)
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
await server.model('m', { upstreams: [upstream], prices: ['1', '1'] })

for (const provider of providers) {
  const { method } = provider

  describe(`Failures of payments by ${method}`, () => {
    test('other currency or merchant – is listed and not credited', async () => {
      const account = await server.account()
      const changes: PaymentChanges[] = [
        ...(method === 'epay' ? [] : [{ currency: 'HKD' }]),
        // Alipay’s query names no seller.
        ...(method === 'alipay' ? [] : [{ merchant: '9999' }]),
      ]
      for (const change of changes) {
        const order = await steps.order(provider, account)
        const transaction = provider.pay(order.id, change)
        await steps.notify(provider, order)
        await expectResponse(server, 200, ['POST', `/orders/${order.id}/check`])
        assert.equal((await steps.read(order)).state, 'pending')
        const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?kind=amount'])
        assert.ok(data.some((each) => each['transaction'] === transaction && each['order'] === order.id))
      }
      assert.equal(await account.balance(), '0')
    })

    test('coupon of the provider – the whole order is credited', async () => {
      const account = await server.account()
      const order = await steps.order(provider, account)
      provider.pay(order.id, { couponMinor: 100n })
      assert.ok(await steps.notify(provider, order))
      assert.equal(await account.balance(), '10')
    })

    test('notice that says paid – changes nothing while the provider says unpaid', async () => {
      const account = await server.account()
      const order = await steps.order(provider, account)
      // Somebody with the provider’s keys.
      await using twin: ScriptedProvider = await starts[method as keyof typeof starts]()
      twin.pay(order.id, { amountMinor: 1000n })
      assert.equal(await steps.notify(provider, order, twin.notice(order.id)), false)
      assert.equal((await steps.read(order)).state, 'pending')
      assert.equal(await account.balance(), '0')
    })

    test('payment before the response of create – is credited by its notice', async () => {
      const account = await server.account()
      provider.faults = { create: 'notice-first' }
      const order = await steps.order(provider, account)
      provider.faults = {}
      assert.equal((await steps.waitForState(order, 'paid')).credit, '10')
      assert.equal(await account.balance(), '10')
    })

    test('payment a day after the end of its order – is credited', async () => {
      const account = await server.account()
      const order = await steps.order(provider, account)
      await steps.expire(order)
      await steps.waitForState(order, 'expired')
      provider.pay(order.id)
      assert.ok(await steps.notify(provider, order))
      assert.equal((await steps.read(order)).state, 'paid')
      assert.equal(await account.balance(), '10')
    })

    test('reads that fail – end no order, even after its time', async () => {
      const account = await server.account()
      for (const query of ['html', 'server-error', 'timeout'] as const) {
        const order = await steps.order(provider, account)
        provider.faults = { query }
        await steps.expire(order)
        await steps.waitForChecks(order, 1)
        assert.equal((await steps.read(order)).state, 'pending', query)
        provider.faults = {}
        provider.pay(order.id)
        assert.ok(await steps.notify(provider, order))
      }
      assert.equal(await account.balance(), '30')
    })

    test('refund with an unclear response – is not given back', async () => {
      const account = await server.account()
      const order = await steps.paidOrder(provider, account)
      provider.faults = { refund: 'odd-code' }
      const refund = await steps.refund(order, { amount: '4' })
      provider.faults = {}
      assert.ok(['unknown', 'sent', 'done'].includes(refund.state), refund.state)
      assert.equal(await account.balance(), '6')
    })

    test('flood of forged notices – has few log lines, and keeps no genuine notice out', async () => {
      const account = await server.account()
      const order = await steps.order(provider, account)
      provider.pay(order.id)
      const forged = Array.from({ length: 30 }, () => provider.notice(order.id, 'wrong-key'))
      const accepted = await Promise.all(
        forged.map((notice) => steps.deliverFrom('203.0.113.7', provider, notice)),
      )
      assert.ok(!accepted.includes(true))
      assert.ok(await steps.notify(provider, order))
      assert.equal(await account.balance(), '10')
      const lines = server.log.filter(
        (line) => line.includes('wrong signature') && line.includes(`"${method}"`),
      )
      assert.ok(lines.length <= 10, `${lines.length} lines`)
    })
  })
}

describe('Failures of payments', () => {
  test('complete and unpaid – is processing, and nothing is credited if it fails', async () => {
    const account = await server.account()
    const order = await steps.order(stripe, account)
    stripe.process(order.id)
    assert.ok(await steps.notify(stripe, order))
    assert.equal((await steps.read(order)).state, 'pending')
    await expectError(server, 409, ['POST', `/orders/${order.id}/cancel`])
    const session = stripe.state.sessions.find((each) => each.order === order.id)
    assert.ok(session?.intent)
    session.intent.status = 'requires_payment_method'
    const failed = stripe.event('checkout.session.async_payment_failed', sessionJson(session, false))
    assert.ok(await steps.notify(stripe, order, failed))
    assert.equal((await steps.read(order)).state, 'expired')
    assert.equal(await account.balance(), '0')
  })

  test('calls between the request of a refund and its approval – neither shrink nor overspend it', async () => {
    const customer = await signUpCustomer(server, 'spender@example.com')
    const order = await customer.call(orderEndpoints.createOrder, {
      body: { method: 'stripe', amount: '10' },
    })
    const account = new Account(server, order.account)
    await account.newKey()
    stripe.pay(order.id)
    await customer.call(orderEndpoints.checkOrder, { id: order.id })
    const body = { amount: '7', reason: 'unused' }
    const requested = await customer.call(refundEndpoints.requestRefund, { id: order.id, body })
    // Costs 2 of the 3 that are left.
    assert.equal((await account.post(chatRequest('m'))).status, 200)
    await expectError(server, 409, [
      'POST',
      `/orders/${order.id}/refunds`,
      { amount: '1.01', reason: 'unused' },
    ])
    const approved = await expectResponse<PaymentRefund>(server, 200, [
      'POST',
      `/refunds/${requested.id}/approve`,
    ])
    assert.deepEqual([approved.state, approved.amount], ['done', '7.00'])
    assert.equal(stripe.payments.find((each) => each.order === order.id)?.refundedMinor, 700n)
    assert.equal(await account.balance(), '1')
  })

  test('secrets and payers – are in no log line, no response and no row', async () => {
    const secrets = providers.flatMap(({ settings }) =>
      Object.entries(settings)
        .filter(([name]) => /KEY|SECRET/.test(name) && !name.includes('PUBLIC'))
        .flatMap(([, value]) => partsOfSecret(value)),
    )
    assert.ok(secrets.length >= 6)
    const payers = [
      'erika@payer.example',
      'Mustermann',
      '2088102116773037',
      'oUpF8uMuAJO',
      '138****0000',
      'buyer-1',
    ]
    const paths = [
      '/payment-methods',
      '/settings',
      '/orders',
      '/payments/differences',
      '/audit',
      '/notifications',
    ]
    const responses = await Promise.all(
      paths.map(async (path) => (await server.relay.adminResponse('GET', path)).text()),
    )
    const rows = (await readDatabaseBytes(server.relay)).toString('latin1')
    for (const text of [server.log.join('\n'), ...responses, rows])
      for (const secret of [...secrets, ...payers]) assert.ok(!text.includes(secret), secret)
  })
})
