// @backend both
/** What providers’ lists and notices say, compared with what is here: refunds made there, currencies, days. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { PaymentSteps } from '../../support/payments/payment-steps.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'

const provider = await StripeServer.start()
after(() => provider[Symbol.asyncDispose]())
const server = await sharedTestServer({
  env: { ...settingsOf([provider]), STRIPE_CURRENCY: 'USD', PAYMENT_FEES: 'stripe:2.9%+0.30' },
})
before(async () => {
  const rate = { from: 'USD', rate: '7.1', effective_from: '2026-01-01T00:00:00Z' }
  await expectResponse(server, 201, ['POST', '/payment-rates', rate])
})

const steps = new PaymentSteps(server)

async function listedRefunds() {
  const path = '/payments/differences?kind=refund_there_only'
  return (await expectResponse<List>(server, 200, ['GET', path])).data
}

const decide = (difference: Readonly<Record<string, unknown>> | undefined, decision: object) =>
  expectResponse(server, 200, [
    'POST',
    `/payments/differences/${String(difference?.['id'])}/resolve`,
    decision,
  ])

describe('Comparisons with providers', () => {
  test('Refund at the provider – is listed by its notice as it is read, and decided at once', async () => {
    const account = await server.account()
    const order = await steps.paidOrder(provider, account)
    const reference = provider.refundElsewhere(order.id, 941n)
    const failed = provider.refundElsewhere(order.id, 1n)
    Object.assign(provider.state.refunds.at(-1) ?? {}, { status: 'failed' })
    for (const name of [reference, failed])
      await deliverNotice(server.url, 'stripe', provider.refundNotice(name))
    const listed = await listedRefunds()
    const difference = listed.find((each) => each['transaction'] === reference)
    assert.equal(difference?.['amount'], '9.41')
    assert.ok(!listed.some((each) => each['transaction'] === failed))
    await decide(difference, { action: 'refund_row', reason: 'made at Stripe' })
    assert.equal(await account.balance(), '0')
  })

  for (const [title, isPaidFirst, amountMinor] of [
    ['of all that was paid, with the fee, takes the credit', true, 1000n],
    ['known before its payment, gets its order when that is there', false, 941n],
  ] as const)
    test(`Refund at the provider – ${title}`, async () => {
      const account = await server.account()
      const order = await steps.order(provider, account)
      provider.pay(order.id)
      const reference = provider.refundElsewhere(order.id, amountMinor)
      const notices = [provider.notice(order.id), provider.refundNotice(reference)]
      for (const notice of isPaidFirst ? notices : notices.toReversed())
        await deliverNotice(server.url, 'stripe', notice)
      assert.equal(await account.balance(), order.credit)
      const day = new Date().toISOString().slice(0, 10)
      const body = { method: 'stripe', from: day, to: day }
      await expectResponse(server, 200, ['POST', '/payments/reconcile', body])
      const listed = await listedRefunds()
      const difference = listed.find((each) => each['transaction'] === reference)
      const { amount, order: of, account: whose } = difference ?? {}
      assert.deepEqual([of, whose, amount], [order.id, account.id, amountMinor === 941n ? '9.41' : '10.00'])
      const resolve = `/payments/differences/${String(difference?.['id'])}/resolve`
      await expectResponse(server, 200, ['POST', resolve, { action: 'refund_row', reason: 'made at Stripe' }])
      assert.equal(await account.balance(), '0')
    })

  test('Comparison – keeps currencies apart, and counts only what waits for an operator', async () => {
    const account = await server.account()
    const day = new Date().toISOString().slice(0, 10)
    const reconcile = () =>
      expectResponse(server, 200, ['POST', '/payments/reconcile', { method: 'stripe', from: day, to: day }])
    const before = await reconcile()
    const order = await steps.order(provider, account)
    const transaction = provider.pay(order.id, { amountMinor: 1000n, currency: 'JPY' })
    const found = await reconcile()
    assert.equal(found['payments_amount'], before['payments_amount'])
    const counts = (run: Readonly<Record<string, unknown>>) => [
      Number(run['payments']) - Number(before['payments']),
      Number(run['differences']) - Number(before['differences']),
    ]
    assert.deepEqual(counts(found), [1, 1])
    const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?kind=amount'])
    const difference = data.find((each) => each['transaction'] === transaction)
    assert.partialDeepStrictEqual(difference, {
      amount: '1000',
      currency: 'JPY',
      expected: '10.00',
      expected_currency: 'USD',
    })
    assert.deepEqual(counts(await reconcile()), [1, 1])
    const resolve = `/payments/differences/${String(difference?.['id'])}/resolve`
    await expectResponse(server, 200, ['POST', resolve, { action: 'dismiss', reason: 'returned' }])
    assert.deepEqual(counts(await reconcile()), [1, 0])
  })

  test('Comparison – is listed with its sums, and rejects days without a list', async () => {
    const day = new Date().toISOString().slice(0, 10)
    const run = await expectResponse(server, 200, [
      'POST',
      '/payments/reconcile',
      { method: 'stripe', from: day, to: day },
    ])
    assert.equal(run['problem'], null)
    const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/runs'])
    // The daily comparison has run, too.
    assert.deepEqual(
      data.find(({ id }) => id === run['id']),
      run,
    )
    const methods = await expectResponse<List>(server, 200, ['GET', '/payment-methods'])
    const comparisonOf = (name: string) => methods.data.find(({ method }) => method === name)?.['comparison']
    assert.partialDeepStrictEqual(comparisonOf('stripe'), { problem: null })
    assert.equal(comparisonOf('bank'), null)
    for (const [from, to, param] of [
      [day, '2020-01-01', 'to'],
      [day, '2099-01-01', 'to'],
    ] as const)
      assert.equal(
        await expectError(server, 400, ['POST', '/payments/reconcile', { method: 'stripe', from, to }]),
        param,
      )
  })
})
