// @backend both
/** Payments for which the balance has no room: refused before they are made, listed if they came all the same. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { insertCreditOrder } from '../../../src/ledger/credits/credit-orders.ts'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { PaymentSteps } from '../../support/payments/payment-steps.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import type { Account } from '../../support/server/account.ts'
import { openDatabase } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitUntil } from '../../support/wait.ts'

const provider = await startProvider.stripe()
const server = await sharedTestServer({
  env: { ...settingsOf([provider]), BANK_TRANSFER: 'Sluice Ltd', BANK_ACCOUNT: '6222000012345678' },
})
after(() => provider[Symbol.asyncDispose]())
const steps = new PaymentSteps(server)

const credit = async ({ id }: Account, ...amounts: string[]): Promise<void> => {
  for (const [index, amount] of amounts.entries()) {
    const body = { amount, reason: 'test', idempotency_key: `${id} ${amount} ${index}` }
    await expectResponse(server, 201, ['POST', `/accounts/${id}/credits`, body])
  }
}
/** Leaves room for 5.00. */
const fill = (account: Account) => credit(account, '1000000000', '1000000000', '1000000000', '999999995')

const orderBody = { method: 'bank', amount: '10' }
const confirmation = (received: string) => ({
  received,
  transaction: `B-${received}`,
  date: '2026-11-28',
  if_different: 'credit',
})

describe('Maximum of the balance', () => {
  test('Order – is refused if its credit would exceed it', async () => {
    const account = await server.account()
    await fill(account)
    const path = `/accounts/${account.id}/orders`
    assert.equal(await expectError(server, 400, ['POST', path, orderBody]), 'amount')
    await expectResponse(server, 201, ['POST', path, { ...orderBody, amount: '5' }])
  })

  test('Bank transfer – is refused and leaves the order as it was', async () => {
    const account = await server.account()
    const path = `/accounts/${account.id}/orders`
    const order = await expectResponse<PaymentOrder>(server, 201, ['POST', path, orderBody])
    const confirm = `/orders/${order.id}/confirm`
    for (const received of ['9223372036.85', '9999999999.99'])
      assert.equal(await expectError(server, 400, ['POST', confirm, confirmation(received)]), 'received')
    await fill(account)
    assert.equal(await expectError(server, 400, ['POST', confirm, confirmation('10')]), 'received')
    assert.deepEqual([(await steps.read(order)).state, await account.balance()], ['pending', '3999999995'])
    await credit(account, '-5')
    assert.equal((await expectResponse(server, 200, ['POST', confirm, confirmation('10')]))['state'], 'paid')
    assert.equal(await account.balance(), '4000000000')
  })

  test('Payment at a provider – is listed, and settled by a decision once there is room', async () => {
    const account = await server.account()
    const order = await steps.order(provider, account)
    await fill(account)
    const transaction = provider.pay(order.id)
    assert.ok(await steps.notify(provider, order))
    assert.deepEqual([(await steps.read(order)).state, await account.balance()], ['pending', '3999999995'])
    const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?kind=surplus'])
    const difference = data.find((each) => each['transaction'] === transaction)
    assert.partialDeepStrictEqual(difference, { order: order.id, account: account.id, amount: '10.00' })
    const resolve = `/payments/differences/${String(difference?.['id'])}/resolve`
    for (const action of ['credit', 'settle'])
      assert.equal(await expectError(server, 409, ['POST', resolve, { action, reason: 'x' }]), 'action')
    await credit(account, '-5')
    await expectResponse(server, 200, ['POST', resolve, { action: 'settle', reason: 'there is room' }])
    assert.deepEqual([(await steps.read(order)).state, await account.balance()], ['paid', '4000000000'])
  })

  test('Credit that is ordered without room – waits quietly, and is entered once there is some', async () => {
    const account = await server.account()
    await fill(account)
    const store = await openDatabase(server.relay)
    const ordered = { id: `test:${account.id}`, account: account.id, amountNanos: 10_000_000_000n }
    await store.db.write(insertCreditOrder({ ...ordered, source: 'refund', reason: 'test' }, 1))
    await store.close()
    await server.restart()
    await credit(account, '-5')
    await server.restart()
    const isEntered = async () => (await account.balance()) === '4000000000' || undefined
    await waitUntil(isEntered, 'the credit to be entered')
    const warnings = server.log.filter((line) => line.includes('credit reconciliation failed'))
    assert.deepEqual(warnings, [])
  })
})
