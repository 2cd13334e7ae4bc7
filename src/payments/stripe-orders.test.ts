import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  beginOrder,
  paidOrder,
  receivedNotice,
  testOrder,
} from '../../test/support/payments/method-fixture.ts'
import { openStripe } from '../../test/support/payments/open-stripe.ts'
import { startWebhookSink } from '../../test/support/sinks/webhook-sinks.ts'
import { ProviderError, type NoticeSubject } from './payment-method.ts'

const hour = 3_600_000

describe('stripe orders', () => {
  test('begin – is done once although its responses are lost, and a read finds it', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const order = testOrder(method)
    provider.lostResponses = 2
    await assert.rejects(method.begin(order), ProviderError)
    assert.deepEqual(await method.read(order), { state: 'unpaid' })
    const begun = await method.begin(order)
    assert.ok(begun.kind === 'begun' && begun.pay.kind === 'redirect')
    assert.match(begun.pay.url, /^https:\/\/checkout\.stripe\.com\//)
    assert.equal(provider.state.sessions.length, 1)
    provider.pay(order.id)
    assert.equal((await method.read(order)).state, 'paid')
  })

  test('begin – every write has the number of the order as its idempotency key', async () => {
    await using open = await openStripe()
    const order = await beginOrder(open)
    await open.method.close(order)
    const keys = open.provider.calls
      .filter(({ method }) => method === 'POST')
      .map(({ headers }) => String(headers['idempotency-key']))
    assert.equal(keys[0], order.id)
    assert.equal(keys.length, 2)
    assert.ok(keys[1]?.startsWith(`${order.id}-close-`))
  })

  test('begin – an order with a reference shows its page again, until it is paid', async () => {
    await using open = await openStripe()
    const order = await beginOrder(open)
    const again = await open.method.begin(order)
    assert.ok(again.kind === 'begun' && again.reference === order.reference)
    open.provider.pay(order.id)
    await assert.rejects(open.method.begin(order), ProviderError)
  })

  test('begin – gives the payer the reason why an amount is refused', async () => {
    await using open = await openStripe()
    open.provider.state.minimum = 50
    const small = await open.method.begin(testOrder(open.method, { amountMinor: 49n }))
    assert.deepEqual(small, { kind: 'refused', reason: 'The amount is below Stripe’s minimum.' })
    const dinar = await open.method.begin(testOrder(open.method, { amountMinor: 1005n, currency: 'KWD' }))
    assert.deepEqual(dinar, { kind: 'refused', reason: 'Stripe does not take this amount of KWD.' })
    assert.deepEqual(open.provider.orders, [])
  })

  test('begin – a payment whose notice comes before the response is found', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const subjects: NoticeSubject[] = []
    const sink = await startWebhookSink(async ({ headers, body }) => {
      const notice = { method: 'POST' as const, query: '', headers: headers as Record<string, string>, body }
      subjects.push((await method.notices?.read(receivedNotice(notice))) ?? { kind: 'other' })
      return { status: 200, body: '' }
    })
    provider.faults = { create: 'notice-first' }
    const order = testOrder(method, { returnUrl: `${sink.url}/console/billing` })
    assert.equal((await method.begin(order)).kind, 'begun')
    assert.partialDeepStrictEqual(subjects, [{ kind: 'order', order: order.id }])
    assert.equal((await method.read(order)).state, 'paid')
  })

  test('read – finds an order by its payment once Stripe has forgotten its key', async () => {
    await using open = await openStripe()
    const { method, provider, clock } = open
    const [order, unpaid] = [await beginOrder(open), await beginOrder(open)]
    provider.pay(order.id)
    provider.api.forgetKeys()
    provider.api.pageSize = 1
    await paidOrder(open)
    clock.now += 25 * hour
    const sessions = provider.state.sessions.length
    const reading = await method.read({ ...order, reference: null })
    assert.ok(reading.state === 'paid' && reading.payment.order === order.id)
    assert.deepEqual(await method.read({ ...unpaid, reference: null }), { state: 'closed' })
    assert.equal(provider.state.sessions.length, sessions)
  })

  test('read – finds an order that was begun with other settings', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const order = await beginOrder(open)
    const moved = { ...order, reference: null, returnUrl: 'https://moved.example/billing' }
    await assert.rejects(method.begin(moved), ProviderError)
    assert.deepEqual(await method.read(moved), { state: 'unpaid' })
    provider.pay(order.id)
    assert.equal((await method.read(moved)).state, 'paid')
  })

  test('read – an order that never arrived is unpaid, and closed once it has expired', async () => {
    await using open = await openStripe()
    const { method, provider, clock } = open
    const order = testOrder(method)
    clock.now += 10 * 60_000
    assert.deepEqual(await method.read(order), { state: 'unpaid' })
    clock.now += 30 * 60_000
    assert.deepEqual(await method.read(order), { state: 'closed' })
    assert.equal(await method.close(order), 'closed')
    assert.deepEqual(provider.orders, [])
  })

  test('read – a session that has expired is closed', async () => {
    await using open = await openStripe()
    const order = await beginOrder(open)
    open.clock.now = order.expiresAt + 1000
    assert.deepEqual(await open.method.read(order), { state: 'closed' })
    assert.equal(await open.method.close(order), 'closed')
  })

  test('read – a session that Stripe no longer knows is unknown, not closed', async () => {
    await using open = await openStripe()
    const order = testOrder(open.method, { reference: 'cs_test_of_another_account' })
    await assert.rejects(open.method.read(order), ProviderError)
    await assert.rejects(open.method.close(order), ProviderError)
  })

  test('read – a slow payment that fails is closed, and one under way is never closed', async () => {
    await using open = await openStripe()
    const { method, provider } = open
    const order = await beginOrder(open)
    provider.process(order.id)
    assert.equal(await method.close(order), 'paid')
    assert.deepEqual(await method.read(order), { state: 'processing' })
    const [intent] = provider.state.intents
    assert.ok(intent)
    intent.status = 'requires_payment_method'
    assert.deepEqual(await method.read(order), { state: 'closed' })
  })

  test('read – states when the money came, and who paid as a digest only', async () => {
    await using open = await openStripe()
    const { method, provider, clock } = open
    const order = await beginOrder(open)
    provider.process(order.id)
    clock.now += hour
    provider.pay(order.id)
    const reading = await method.read(order)
    assert.ok(reading.state === 'paid')
    assert.equal(reading.payment.paidAt, Math.floor(clock.now / 1000) * 1000)
    const digest = '166679cfc3a0df89e2af6dc1d510f8e93309849ce8bddd855718b47fe25ec87e'
    assert.equal(reading.payment.payer, digest)
    assert.ok(!JSON.stringify(reading.payment, (_, value: unknown) => String(value)).includes('Erika'))
  })
})
