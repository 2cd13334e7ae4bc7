// @backend both
/** Bonuses for recharges: never more than the budget, and once for a first recharge. */
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { orderEndpoints } from '../../../src/http/console/billing/payment-orders.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { signUpCustomer } from '../../support/console/console-session.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import type { Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitUntil } from '../../support/wait.ts'

const provider = await startProvider.stripe()
const server = await sharedTestServer({ env: settingsOf([provider]) })
after(() => provider[Symbol.asyncDispose]())

interface RechargePromotion {
  readonly id: string
  readonly used: string
}

const created: string[] = []
afterEach(async () => {
  for (const id of created.splice(0))
    await expectResponse(server, 200, ['PATCH', `/promotions/${id}`, { status: 'paused' }])
})

async function promotion(fields: object): Promise<string> {
  const body = { name: 'Bonus', on: 'recharge', tiers: [{ min: '10', fixed: '2' }], ...fields }
  const { id } = await expectResponse<RechargePromotion>(server, 201, ['POST', '/promotions', body])
  created.push(id)
  return id
}
const used = async (id: string) =>
  (await expectResponse<RechargePromotion>(server, 200, ['GET', `/promotions/${id}`])).used
const order = ({ id }: Account, amount = '10') =>
  expectResponse<PaymentOrder>(server, 201, ['POST', `/accounts/${id}/orders`, { method: 'stripe', amount }])

function pay({ id }: Pick<PaymentOrder, 'id'>): Promise<PaymentOrder> {
  provider.pay(id)
  return waitUntil(async () => {
    const read = await expectResponse<PaymentOrder>(server, 200, ['POST', `/orders/${id}/check`])
    return read.state === 'paid' ? read : undefined
  }, 'the order to be paid')
}

describe('Recharge promotions', () => {
  test('best promotion – one applies, and its bonus is credited with the payment', async () => {
    await promotion({})
    await promotion({ tiers: [{ min: '10', percent: '50', max: '3' }] })
    const account = await server.account()
    const made = await order(account)
    assert.equal(made.bonus, '3')
    assert.equal((await pay(made)).bonus, '3')
    assert.equal(await account.balance(), '13')
  })

  test('budget – 30 orders at once get three bonuses', async () => {
    const id = await promotion({ budget: '6' })
    const accounts = await Promise.all(Array.from({ length: 30 }, () => server.account()))
    const orders = await Promise.all(accounts.map((account) => order(account)))
    assert.equal(orders.filter(({ bonus }) => bonus === '2').length, 3)
    assert.equal(await used(id), '6')
  })

  test('canceled order – releases its bonus; a late payment gets what is left', async () => {
    const id = await promotion({ budget: '2' })
    const [first, second] = [await server.account(), await server.account()]
    const ended = await order(first)
    await expectResponse(server, 200, ['POST', `/orders/${ended.id}/cancel`])
    assert.equal(await used(id), '0')
    assert.equal((await order(second)).bonus, '2')
    assert.equal((await pay(ended)).bonus, '0')
    assert.equal(await first.balance(), '10')
    assert.equal(await used(id), '2')
  })

  test('canceled order – keeps its bonus if it is paid after the promotion was paused', async () => {
    const id = await promotion({ budget: '2' })
    const account = await server.account()
    const ended = await order(account)
    await expectResponse(server, 200, ['POST', `/orders/${ended.id}/cancel`])
    const ends = { status: 'paused', ends_at: new Date(Date.now() - 1).toISOString() }
    await expectResponse(server, 200, ['PATCH', `/promotions/${id}`, ends])
    assert.equal((await pay(ended)).bonus, '2')
    assert.deepEqual([await account.balance(), await used(id)], ['12', '2'])
  })

  test('first_only – two orders paid at once get one bonus', async () => {
    const id = await promotion({ first_only: true })
    const account = await server.account()
    const orders = [await order(account), await order(account)]
    assert.deepEqual(
      orders.map(({ bonus }) => bonus),
      ['2', '2'],
    )
    const paid = await Promise.all(orders.map(pay))
    assert.deepEqual(paid.map(({ bonus }) => bonus).toSorted(), ['0', '2'])
    assert.equal(await account.balance(), '22')
    assert.equal(await used(id), '2')
    assert.equal((await order(account)).bonus, '0')
  })

  test('per_account – bounds what one account gets', async () => {
    await promotion({ per_account: '2' })
    const account = await server.account()
    const orders = await Promise.all([order(account), order(account), order(account)])
    assert.deepEqual(orders.map(({ bonus }) => bonus).toSorted(), ['0', '0', '2'])
  })

  test('offered bonuses – show tiers and what is left, to accounts that can still get them', async () => {
    const tiers = [{ min: '10', percent: '5', max: '3' }]
    await promotion({ name: 'First', first_only: true, tiers })
    await promotion({ name: 'Small', tiers, budget: '9', per_account: '1' })
    await promotion({ name: 'Budget', tiers, budget: '9' })
    await promotion({ name: 'Later', tiers, starts_at: '2099-01-01T00:00:00Z' })
    const customer = await signUpCustomer(server, 'offers@example.com')
    const offered = async () => (await customer.call(orderEndpoints.bonuses)).data
    assert.deepEqual(await offered(), [
      { name: 'First', tiers, first_only: true, ends_at: null, left: null },
      { name: 'Small', tiers, first_only: false, ends_at: null, left: '1' },
      { name: 'Budget', tiers, first_only: false, ends_at: null, left: null },
    ])
    const made = await customer.call(orderEndpoints.createOrder, { body: { method: 'stripe', amount: '10' } })
    await pay(made)
    assert.deepEqual(
      (await offered()).map(({ name }) => name),
      ['Small', 'Budget'],
    )
  })

  test('state – is that of the period, the budget and the pause', async () => {
    const states = async (...ids: string[]) => {
      const { data } = await expectResponse<List>(server, 200, ['GET', '/promotions'])
      return ids.map((id) => data.find((each) => each['id'] === id)?.['state'])
    }
    const [running, usedUp] = [
      await promotion({}),
      await promotion({ tiers: [{ min: '10', fixed: '3' }], budget: '3' }),
    ]
    const scheduled = await promotion({ starts_at: '2099-01-01T00:00:00Z' })
    const ended = await promotion({ starts_at: '2020-01-01T00:00:00Z', ends_at: '2020-01-02T00:00:00Z' })
    await order(await server.account())
    await order(await server.account())
    await expectResponse(server, 200, ['PATCH', `/promotions/${running}`, { status: 'paused' }])
    assert.deepEqual(await states(running, usedUp, scheduled, ended), [
      'paused',
      'used up',
      'scheduled',
      'ended',
    ])
  })

  test('fields – are named when they are wrong, and both kinds are listed', async () => {
    const id = await promotion({})
    const wrong = { name: 'Bonus', on: 'recharge', tiers: [{ min: '10', fixed: '1', percent: '5' }] }
    assert.equal(await expectError(server, 400, ['POST', '/promotions', wrong]), 'tiers[0]')
    const { data } = await expectResponse<List>(server, 200, ['GET', '/promotions'])
    assert.partialDeepStrictEqual(data[0], { id, on: 'recharge' })
  })
})
