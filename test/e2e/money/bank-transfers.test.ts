// @backend both
/** Bank transfers: an operator enters what arrived; another amount, a second operator, the same serial number, refunds. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PaymentOrder } from '../../../src/http/api/payment-orders.ts'
import type { PaymentRefund } from '../../../src/http/api/payment-refunds.ts'
import { expectError, expectResponse, type List } from '../../support/client/admin-api.ts'
import { setUpOperator } from '../../support/console/console-session.ts'
import type { Account } from '../../support/server/account.ts'
import { sharedTestServer, startTestServer } from '../../support/server/test-server.ts'

const server = await sharedTestServer({
  env: {
    BANK_TRANSFER: 'Sluice Ltd, Bank of Examples',
    BANK_ACCOUNT: '6222000012345678',
    BANK_SECOND_OPERATOR_ABOVE: '1000',
  },
})

async function order(account: Account, amount: string): Promise<PaymentOrder> {
  const body = { method: 'bank', amount }
  return expectResponse<PaymentOrder>(server, 201, ['POST', `/accounts/${account.id}/orders`, body])
}

const confirmation = (received: string, transaction: string, more: object = {}) => ({
  received,
  transaction,
  date: '2026-11-28',
  ...more,
})

const confirm = ({ id }: PaymentOrder, body: object): Promise<PaymentOrder> =>
  expectResponse<PaymentOrder>(server, 200, ['POST', `/orders/${id}/confirm`, body])

const differenceOf = async (reference: string) => {
  const { data } = await expectResponse<List>(server, 200, ['GET', '/payments/differences?method=bank'])
  const found = data.filter(({ transaction }) => transaction === reference)
  return found.map(({ kind, order: id, state, action, amount }) => ({
    kind,
    order: id,
    state,
    action,
    amount,
  }))
}

describe('Bank transfers', () => {
  test('Transfer – is credited once, and its serial number cannot be used again', async () => {
    const account = await server.account()
    const [first, second] = [await order(account, '100'), await order(account, '100')]
    assert.match(first.pay?.text ?? '', /Bank of Examples[^]*100\.00/)
    const paid = await confirm(first, confirmation('100', 'B-1'))
    assert.deepEqual([paid.state, paid.transaction, await account.balance()], ['paid', 'B-1', '100'])
    const path = `/orders/${second.id}/confirm`
    assert.equal(await expectError(server, 409, ['POST', path, confirmation('100', 'B-1')]), 'transaction')
    await expectError(server, 409, ['POST', `/orders/${first.id}/confirm`, confirmation('100', 'B-1')])
    assert.equal(await account.balance(), '100')
  })

  test('Second transfer for a paid order – is listed once, whatever its amount', async () => {
    const account = await server.account()
    const paid = await order(account, '100')
    await confirm(paid, confirmation('100', 'B-10'))
    const path = `/orders/${paid.id}/confirm`
    for (const received of ['70', '70', '100'])
      assert.equal(
        await expectError(server, 409, ['POST', path, confirmation(received, 'B-11')]),
        'transaction',
      )
    const surplus = { kind: 'surplus', order: paid.id, state: 'open', action: null, amount: '70.00' }
    assert.deepEqual(await differenceOf('B-11'), [surplus])
    assert.equal(await account.balance(), '100')
  })

  test('One serial number for two orders at once – pays one, and is rejected for the other', async () => {
    const account = await server.account()
    for (let round = 0; round < 5; round += 1) {
      const serial = `B-12-${round}`
      const orders = [await order(account, '10'), await order(account, '10')]
      const responses = await Promise.all(
        orders.map(({ id }) =>
          server.relay.adminResponse('POST', `/orders/${id}/confirm`, confirmation('10', serial)),
        ),
      )
      const bodies = await Promise.all(responses.map((response) => response.text()))
      assert.equal(bodies.filter((body) => body.includes('"paid"')).length, 1)
      assert.equal(responses.filter(({ status }) => status === 409).length, 1)
      assert.deepEqual(await differenceOf(serial), [])
    }
    assert.equal(await account.balance(), '50')
  })

  test('Manual completion – needs a transaction, and is in the audit log with who did it', async () => {
    const account = await server.account()
    const unpaid = await order(account, '100')
    const path = `/orders/${unpaid.id}/confirm`
    const { transaction: _, ...incomplete } = confirmation('100', 'B-0')
    for (const body of [incomplete, confirmation('100', ''), confirmation('100', ' ')])
      assert.equal(await expectError(server, 400, ['POST', path, body]), 'transaction')
    assert.equal(await account.balance(), '0')
    await confirm(unpaid, confirmation('100', 'B-0'))
    const audit = await expectResponse<List>(server, 200, ['GET', `/audit?object=${unpaid.id}`])
    const settled = audit.data.find(({ action }) => action === 'payment.settle')
    assert.partialDeepStrictEqual(settled, {
      actor: 'admin-api',
      detail: { transaction: 'B-0', credit: '100' },
    })
  })

  test('Another amount – needs a decision: credit what came, or return it', async () => {
    const account = await server.account()
    const [credited, returned] = [await order(account, '100'), await order(account, '100')]
    const path = `/orders/${credited.id}/confirm`
    assert.equal(await expectError(server, 409, ['POST', path, confirmation('99.50', 'B-2')]), 'received')
    const paid = await confirm(credited, confirmation('99.50', 'B-2', { if_different: 'credit' }))
    assert.deepEqual([paid.state, paid.credit, await account.balance()], ['paid', '99.5', '99.5'])
    const back = await confirm(returned, confirmation('1', 'B-3', { if_different: 'return' }))
    assert.deepEqual([back.state, await account.balance()], ['canceled', '99.5'])
    const surplus = {
      kind: 'surplus',
      order: returned.id,
      state: 'resolved',
      action: 'return',
      amount: '1.00',
    }
    assert.deepEqual(await differenceOf('B-3'), [surplus])
    const next = await order(account, '100')
    for (const body of [confirmation('100', 'B-3'), confirmation('2', 'B-3', { if_different: 'return' })])
      assert.equal(
        await expectError(server, 409, ['POST', `/orders/${next.id}/confirm`, body]),
        'transaction',
      )
    assert.equal(await account.balance(), '99.5')
  })

  test('Large amount – waits for a second operator, and the API key is none', async () => {
    const account = await server.account()
    const large = await order(account, '5000')
    assert.equal((await confirm(large, confirmation('5000', 'B-4'))).state, 'pending')
    await expectError(server, 409, ['POST', `/orders/${large.id}/confirm`, confirmation('5000', 'B-4')])
    assert.equal(await account.balance(), '0')
  })

  test('First of two entries – is corrected by its operator, and must be that of the second', async () => {
    const operator = await setUpOperator(server)
    const account = await server.account()
    const large = await order(account, '5000')
    assert.equal((await confirm(large, confirmation('5000', 'B-20'))).state, 'pending')
    const path = `/orders/${large.id}/confirm`
    const second = async (body: object) => {
      const response = await operator.fetch('POST', `/api/admin${path}`, body)
      const { state, error } = (await response.json()) as { state?: string; error?: { param: string } }
      return [response.status, state ?? error?.param]
    }
    assert.deepEqual(await second(confirmation('5000', 'B-21')), [409, 'transaction'])
    const other = confirmation('4000', 'B-20', { if_different: 'credit' })
    assert.deepEqual(await second(other), [409, 'received'])
    assert.equal((await confirm(large, confirmation('5000', 'B-21'))).state, 'pending')
    assert.equal(await account.balance(), '0')
    assert.deepEqual(await second(confirmation('5000.00', 'B-21')), [200, 'paid'])
    assert.equal(await account.balance(), '5000')
  })

  test('Refund – takes the balance at once, and is done when its transfer is entered', async () => {
    const account = await server.account()
    const paid = await order(account, '50')
    await confirm(paid, confirmation('50', 'B-5'))
    const body = { amount: '20', reason: 'unused' }
    const sent = await expectResponse<PaymentRefund>(server, 201, [
      'POST',
      `/orders/${paid.id}/refunds`,
      body,
    ])
    assert.deepEqual([sent.state, await account.balance()], ['sent', '30'])
    const done = await expectResponse<PaymentRefund>(server, 200, [
      'POST',
      `/refunds/${sent.id}/done`,
      { transaction: 'B-6' },
    ])
    assert.deepEqual([done.state, done.transaction], ['done', 'B-6'])
    await expectError(server, 409, ['POST', `/refunds/${sent.id}/refuse`, { reason: 'too late' }])
    const { data } = await expectResponse<List>(server, 200, ['GET', `/refunds?order=${paid.id}`])
    assert.equal(data.length, 1)
  })

  test('Refund whose transfer comes back – is refused, and its balance is back once', async () => {
    const account = await server.account()
    const paid = await order(account, '50')
    await confirm(paid, confirmation('50', 'B-7'))
    const refunds = `/orders/${paid.id}/refunds`
    const sent = await expectResponse<PaymentRefund>(server, 201, ['POST', refunds, { reason: 'unused' }])
    assert.deepEqual([sent.state, sent.method, await account.balance()], ['sent', 'bank', '0'])
    const refusal = ['POST', `/refunds/${sent.id}/refuse`, { reason: 'account closed' }] as const
    const refused = await expectResponse<PaymentRefund>(server, 200, refusal)
    assert.deepEqual([refused.state, refused.problem], ['refused', 'account closed'])
    await expectError(server, 409, refusal)
    await expectError(server, 409, ['POST', `/refunds/${sent.id}/done`, { transaction: 'B-8' }])
    assert.equal(await account.balance(), '50')
  })

  test('Order – is bound to its account’s day, its bounds and its own fields', async () => {
    const account = await server.account()
    await expectError(server, 400, [
      'POST',
      `/accounts/${account.id}/orders`,
      { method: 'bank', amount: '10', product: 'page' },
    ])
    for (const amount of ['50000', '50000', '50000', '50000']) await order(account, amount)
    const path = `/accounts/${account.id}/orders`
    assert.equal(await expectError(server, 400, ['POST', path, { method: 'bank', amount: '1' }]), 'amount')
  })

  test('Half of the settings – refuses the start and names the missing one', async (t) => {
    await assert.rejects(startTestServer(t, { env: { BANK_TRANSFER: 'Sluice Ltd' } }), /BANK_ACCOUNT/)
  })
})
