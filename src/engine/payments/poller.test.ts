/** The poller: a provider that does not respond delays only its own orders, and none of them for ever. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { AlipayServer } from '../../../test/support/payments/alipay-server.ts'
import { EpayServer } from '../../../test/support/payments/epay-server.ts'
import { openWith } from '../../../test/support/payments/method-fixture.ts'
import { openTemporaryDb } from '../../db/store.fixture.ts'
import { insertAccounts } from '../../ledger/credits/accounts.fixture.ts'
import { createAlipay } from '../../payments/alipay.ts'
import { createEpay } from '../../payments/epay.ts'
import { ProviderError, type PaymentMethod } from '../../payments/payment-method.ts'
import { orderById } from '../../payments/payment-orders.ts'
import { insertRefund } from '../../payments/payment-refunds.ts'
import { paymentDepsOf } from './payment-deps.fixture.ts'
import { PaymentService } from './payment-service.ts'

const account = 'acc_one'
const day = 86_400_000

async function openPoller(t: TestContext) {
  const db = await openTemporaryDb(t)
  await insertAccounts(db, account)
  const [alipay, epay] = [
    openWith(await AlipayServer.start(), createAlipay),
    openWith(await EpayServer.start(1), createEpay),
  ]
  for (const each of [alipay, epay]) t.after(() => each[Symbol.asyncDispose]())
  const reads: string[] = []
  const noResponse = (id: string): Promise<never> => {
    reads.push(id)
    return Promise.reject(new ProviderError('epay did not respond.'))
  }
  const silent: PaymentMethod = {
    ...epay.method,
    read({ id }) {
      return noResponse(id)
    },
    readRefund({ id }) {
      return noResponse(id)
    },
  }
  const clock = { now: Date.now() }
  const methods = new Map([alipay.method, silent].map((method) => [method.name, method]))
  const deps = { ...paymentDepsOf(db, alipay.method, { balance: 0n, held: 0n }, () => clock.now), methods }
  const service = new PaymentService(deps)
  const order = async (method: 'alipay' | 'epay') => {
    const input = { account, method, product: null, amount: '10', clientKey: null, by: 'test' }
    return (await service.createOrder(input)).order.id
  }
  /** On a node that has asked about nothing before. */
  const poll = () => new PaymentService(deps).checkDueOrders()
  return { db, poll, clock, reads, order, provider: alipay.provider }
}

describe('The poller', () => {
  test('silent provider – is asked about one order a round, and no other method waits', async (t) => {
    const { db, poll, clock, reads, order, provider } = await openPoller(t)
    for (let made = 0; made < 60; made += 1) await order('epay')
    const paid = await order('alipay')
    provider.pay(paid)
    clock.now += 60_000
    await poll()
    assert.equal(reads.length, 1)
    assert.equal((await orderById(db, paid))?.state, 'paid')
    await poll()
    assert.equal(new Set(reads).size, 2)
  })

  test('silent provider – is asked about one refund a round', async (t) => {
    const { db, poll, reads, order } = await openPoller(t)
    const amounts = { amountMinor: 100n, paymentNanos: 1n, bonusNanos: 0n, reason: 'unused' }
    const decision = { requestedBy: 'test', decidedBy: 'test', reference: null, problem: null }
    const times = { nextCheckAt: 1, checks: 0, createdAt: 1, updatedAt: 1 }
    for (let made = 0; made < 3; made += 1) {
      const orderId = await order('epay')
      const refund = { id: `${orderId}R1`, orderId, accountId: account, ...amounts, ...decision, ...times }
      await db.write(insertRefund({ ...refund, state: 'sent' }))
    }
    for (const rounds of [1, 2]) {
      await poll()
      assert.equal(new Set(reads).size, rounds)
    }
    assert.ok(reads.every((id) => id.endsWith('R1')))
  })

  test('order that cannot be read – is asked about for two weeks after its end, then expires', async (t) => {
    const { db, poll, clock, reads, order } = await openPoller(t)
    const id = await order('epay')
    clock.now += 14 * day
    await poll()
    assert.equal((await orderById(db, id))?.state, 'pending')
    for (let rounds = 0; rounds < 2; rounds += 1) {
      clock.now += day
      await poll()
    }
    assert.equal(reads.length, 3)
    const ended = await orderById(db, id)
    assert.deepEqual([ended?.state, ended?.nextCheckAt], ['expired', null])
  })
})
