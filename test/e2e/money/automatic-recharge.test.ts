// @backend both
/** Automatic recharge with a saved card: consent, the charge that triggers it, crashes, and who switches it off. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { impersonationEndpoints } from '../../../src/http/console/auth/impersonation.ts'
import { automaticRechargeEndpoints } from '../../../src/http/console/billing/automatic-recharge.ts'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { consentVersion } from '../../../src/payments/automatic-recharges.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { setUpOperator, signUpCustomer, type ConsoleSession } from '../../support/console/console-session.ts'
import { settingsOf } from '../../support/payments/providers.ts'
import { deliverNotice } from '../../support/payments/scripted-provider.ts'
import { StripeServer } from '../../support/payments/stripe-server.ts'
import { Account, chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const stripe = await StripeServer.start()
after(() => stripe[Symbol.asyncDispose]())
const server = await sharedTestServer({
  env: { ...settingsOf([stripe]), BANK_TRANSFER: 'Sluice Ltd, 6222', BANK_ACCOUNT: '6222' },
})
// A call costs 0.02.
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 10 }))
await server.model('m', { upstreams: [upstream], prices: ['1', '1'], max_output_tokens: 16 })

interface Customer {
  readonly session: ConsoleSession
  readonly account: Account
  /** The paid order of 10 with which the card was saved. */
  readonly order: string
}

async function customerWithCard(email: string): Promise<Customer> {
  const session = await signUpCustomer(server, email)
  const body = { method: 'stripe', amount: '10', saves_card: true } as const
  const order = await session.call(orderEndpoints.createOrder, { body })
  stripe.pay(order.id)
  await session.call(orderEndpoints.checkOrder, { id: order.id })
  const account = new Account(server, order.account)
  await account.change({ tier: 'enterprise' })
  await account.newKey()
  return { session, account, order: order.id }
}

const turnOn = ({ session }: Customer, threshold: string) =>
  session.call(automaticRechargeEndpoints.putAutomaticRecharge, {
    body: { threshold, amount: '20', monthly_limit: '100', consent_version: consentVersion },
  })

const stateOf = ({ session }: Customer) => session.call(automaticRechargeEndpoints.automaticRecharge)

async function spend({ account }: Customer): Promise<void> {
  const response = await account.post(chatRequest('m'))
  assert.equal(response.status, 200, await response.text())
}

async function automaticOrders({ account }: Customer): Promise<PaymentOrder[]> {
  const path = `/orders?account=${account.id}`
  const { data } = await expectResponse<List<PaymentOrder>>(server, 200, ['GET', path])
  return data.filter(({ automatic }) => automatic)
}

const paidOnce = (customer: Customer) =>
  waitUntil(async () => {
    const orders = await automaticOrders(customer)
    return orders[0]?.state === 'paid' ? orders : undefined
  }, 'the recharge')

/** The credit enters the ledger after its order is paid. */
const hasBalance = ({ account }: Customer, balance: string) =>
  waitUntil(async () => (await account.balance()) === balance, `a balance of ${balance}`)

const chargesOf = (orders: readonly PaymentOrder[]): number =>
  stripe.payments.filter(({ order }) => orders.some(({ id }) => id === order)).length

describe('Automatic recharge', () => {
  test('hundred calls at once – pass the threshold, and make one charge', async () => {
    const customer = await customerWithCard('hundred@example.com')
    assert.partialDeepStrictEqual(await turnOn(customer, '9.5'), { state: 'on', used_this_month: '0.00' })
    await Promise.all(Array.from({ length: 100 }, () => spend(customer)))
    const orders = await paidOnce(customer)
    assert.equal(orders.length, 1)
    assert.equal(chargesOf(orders), 1)
    await hasBalance(customer, '28')
    assert.partialDeepStrictEqual(await stateOf(customer), { state: 'on', used_this_month: '20.00' })
  })

  for (const [name, isCharged] of [
    ['before the charge', false],
    ['before its response', true],
  ] as const)
    test(`kill -9 ${name} – the next start makes exactly one charge`, async () => {
      const customer = await customerWithCard(`kill-${isCharged}@example.com`)
      await turnOn(customer, '9.99')
      if (isCharged) stripe.lostResponses = 1000
      else stripe.faults = { create: 'unreachable' }
      const before = stripe.calls.length
      await spend(customer)
      await waitUntil(
        () => stripe.calls.slice(before).some(({ path }) => path === '/v1/payment_intents'),
        'the charge to be asked for',
      )
      await server.kill()
      stripe.lostResponses = 0
      stripe.faults = {}
      await server.restart()
      const orders = await paidOnce(customer)
      assert.equal(orders.length, 1)
      assert.equal(chargesOf(orders), 1)
      await hasBalance(customer, '29.98')
    })

  test('declined card – is charged no more for now, and its order says why', async () => {
    const customer = await customerWithCard('declined@example.com')
    await turnOn(customer, '9.99')
    stripe.state.cardOutcome = 'card_declined'
    await spend(customer)
    const state = await waitUntil(async () => {
      const read = await stateOf(customer)
      return read.problem === null ? undefined : read
    }, 'the decline')
    stripe.state.cardOutcome = 'succeeded'
    assert.partialDeepStrictEqual(state, { state: 'on', problem: 'card_declined', failures: 1, order: null })
    assert.ok(state.next_attempt_at !== null)
    await spend(customer)
    const orders = await automaticOrders(customer)
    assert.equal(orders.length, 1)
    assert.partialDeepStrictEqual(orders, [
      { state: 'failed', problem: 'The card was declined (card_declined).' },
    ])
  })

  test('card removed in Stripe’s pages – switches it off by a notice', async () => {
    const customer = await customerWithCard('detached@example.com')
    await turnOn(customer, '1')
    const intent = stripe.state.intents.find(({ order }) => order === customer.order)
    const previous = { customer: intent?.customer }
    const notice = stripe.event('payment_method.detached', { id: intent?.card }, undefined, previous)
    assert.equal((await deliverNotice(server.url, 'stripe', notice)).status, 200)
    assert.partialDeepStrictEqual(await stateOf(customer), {
      state: 'off',
      card: null,
      problem: 'card_removed',
    })
    const { data } = await expectResponse<List>(server, 200, [
      'GET',
      `/notices?account=${customer.account.id}`,
    ])
    assert.ok(data.some(({ code }) => code === 'recharge_card_removed'))
  })

  test('customer – switches it off and removes the card; only methods with cards save one', async () => {
    const customer = await customerWithCard('off@example.com')
    await turnOn(customer, '1')
    const { session } = customer
    assert.equal((await session.call(automaticRechargeEndpoints.deleteAutomaticRecharge)).state, 'off')
    assert.deepEqual((await stateOf(customer)).card, { last_four: '4242' })
    assert.equal((await session.call(automaticRechargeEndpoints.deleteSavedCard)).card, null)
    assert.equal((await session.expectError(automaticRechargeEndpoints.deleteSavedCard)).status, 404)
    const body = { method: 'bank', amount: '10', saves_card: true } as const
    assert.equal((await session.expectError(orderEndpoints.createOrder, { body })).param, 'saves_card')
    const consent = { threshold: '1', amount: '20', monthly_limit: '100', consent_version: 'none' }
    const put = automaticRechargeEndpoints.putAutomaticRecharge
    assert.equal((await session.expectError(put, { body: consent })).param, 'consent_version')
  })

  test('operator – reads it and switches it off, and cannot consent for the customer', async () => {
    const customer = await customerWithCard('operator@example.com')
    await turnOn(customer, '1')
    const path = `/accounts/${customer.account.id}/auto-recharge`
    const read = await expectResponse(server, 200, ['GET', path])
    assert.partialDeepStrictEqual(read, { state: 'on', threshold: '1', amount: '20.00', method: 'stripe' })
    assert.partialDeepStrictEqual(await expectResponse(server, 200, ['DELETE', path]), {
      state: 'off',
      consent: null,
    })
    const operator = await setUpOperator(server)
    await operator.call(impersonationEndpoints.start, { id: customer.account.id })
    const body = { threshold: '1', amount: '20', monthly_limit: '100', consent_version: consentVersion }
    const { putAutomaticRecharge: put, automaticRecharge: get } = automaticRechargeEndpoints
    assert.equal((await operator.expectError(put, { body })).status, 403)
    assert.equal((await operator.call(get)).state, 'off')
    await expectError(server, 404, ['GET', '/accounts/none/auto-recharge'])
  })
})
