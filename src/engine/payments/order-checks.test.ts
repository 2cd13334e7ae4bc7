/** Notices that come again, and pages that ask: however many there are, each provider is asked rarely, and no payment is lost. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { AlipayServer } from '../../../test/support/payments/alipay-server.ts'
import { EpayServer } from '../../../test/support/payments/epay-server.ts'
import { openWith, receivedNotice } from '../../../test/support/payments/method-fixture.ts'
import type { ScriptedProvider } from '../../../test/support/payments/scripted-provider.ts'
import { StripeServer } from '../../../test/support/payments/stripe-server.ts'
import { WechatServer } from '../../../test/support/payments/wechat-server.ts'
import type { Db } from '../../db/db.ts'
import { openTemporaryDb } from '../../db/store.fixture.ts'
import { insertAccounts } from '../../ledger/credits/accounts.fixture.ts'
import { createAlipay } from '../../payments/alipay.ts'
import { listDifferences } from '../../payments/differences.ts'
import { createEpay } from '../../payments/epay.ts'
import type { NoticeResponse, PaymentMethod } from '../../payments/payment-method.ts'
import type { Order } from '../../payments/payment-orders.ts'
import { createStripe } from '../../payments/stripe.ts'
import { createWechat } from '../../payments/wechat.ts'
import { paymentDepsOf } from './payment-deps.fixture.ts'
import { PaymentService } from './payment-service.ts'

const account = 'acc_one'
const yuan = 1_000_000_000n
const epay = async () => openWith(await EpayServer.start(1), createEpay)
const openings = {
  stripe: async () => openWith(await StripeServer.start(), createStripe),
  alipay: async () => openWith(await AlipayServer.start(), createAlipay),
  wechat: async () => openWith(await WechatServer.start(), createWechat),
  'epay version 1': epay,
  'epay version 2': async () => openWith(await EpayServer.start(2), createEpay),
}

interface Opened {
  readonly db: Db
  readonly service: PaymentService
  readonly provider: ScriptedProvider
  readonly order: Order
  readonly wallet: { readonly balance: bigint }
  /** How often the provider was asked about an order. */
  readonly reads: () => number
  /** Delivers a genuine notice about the order that many times at once; returns the statuses of the responses. */
  readonly notify: (times?: number) => Promise<Set<number>>
}

/** An order of 10.00. */
async function openOrder(
  t: TestContext,
  open: (typeof openings)[keyof typeof openings],
  readInstead?: PaymentMethod['read'],
): Promise<Opened> {
  const db = await openTemporaryDb(t)
  await insertAccounts(db, account)
  const { method, provider, ...opened } = await open()
  t.after(() => opened[Symbol.asyncDispose]())
  let reads = 0
  const counted: PaymentMethod = {
    ...method,
    read(order) {
      reads += 1
      return readInstead === undefined ? method.read(order) : readInstead(order)
    },
  }
  const wallet = { balance: 0n, held: 0n }
  const service = new PaymentService(paymentDepsOf(db, counted, wallet))
  const input = { account, method: method.name, product: null, amount: '10', clientKey: null, by: 'test' }
  const { order } = await service.createOrder(input)
  const deliver = (): Promise<NoticeResponse> =>
    service.receiveNotice(method.name, receivedNotice(provider.notice(order.id)))
  return {
    db,
    service,
    provider,
    order,
    wallet,
    reads: () => reads,
    async notify(times = 1) {
      const responses = await Promise.all(Array.from({ length: times }, deliver))
      return new Set(responses.map(({ status }) => status))
    },
  }
}

const accepted = (statuses: Set<number>): boolean => [...statuses].every((status) => status < 300)

for (const [name, open] of Object.entries(openings))
  describe(`Notices that come again, ${name}`, { concurrency: true }, () => {
    test('notices – of one payment share a read, and cause no other once it is credited', async (t) => {
      const { provider, order, wallet, reads, notify } = await openOrder(t, open)
      provider.pay(order.id)
      assert.ok(accepted(await notify(20)))
      assert.equal(wallet.balance, 10n * yuan)
      for (let count = 0; count < 3; count += 1) assert.ok(accepted(await notify(20)))
      assert.equal(reads(), 1)
      assert.equal(wallet.balance, 10n * yuan)
    })

    test('notices – right after a page’s check wait for one more read, and are accepted', async (t) => {
      const { service, provider, order, wallet, reads, notify } = await openOrder(t, open)
      await service.checkOrder(order.id, 'test')
      provider.pay(order.id)
      const page = service.checkOrder(order.id, 'test')
      assert.ok(accepted(await notify(20)))
      await page
      assert.equal(reads(), 2)
      assert.equal(wallet.balance, 10n * yuan)
    })
  })

describe('Checks of orders', { concurrency: true }, () => {
  test('second payment of a credited order – is found by its notice, and listed', async (t) => {
    const { db, provider, order, wallet, reads, notify } = await openOrder(t, epay)
    provider.pay(order.id)
    assert.ok(accepted(await notify()))
    provider.pay(order.id, { transaction: '2026112821000' })
    assert.ok(accepted(await notify(5)))
    assert.equal(reads(), 2)
    assert.equal(wallet.balance, 10n * yuan)
    const { data } = await listDifferences(db, { kind: 'surplus' }, { limit: 10 })
    assert.deepEqual(
      data.map(({ reference }) => reference),
      ['2026112821000'],
    )
  })

  test('notices – of a payment that is not credited cause one read in three seconds', async (t) => {
    const { provider, order, wallet, reads, notify } = await openOrder(t, epay)
    provider.pay(order.id, { amountMinor: 999n })
    const start = performance.now()
    for (let count = 0; count < 2; count += 1) assert.ok(accepted(await notify(10)))
    assert.equal(reads(), 2)
    assert.ok(performance.now() - start > 2900)
    assert.equal(wallet.balance, 0n)
  })

  test('read that never ends – is the only one, and its notices are asked to come again', async (t) => {
    const never = new Promise<never>(() => undefined)
    const { service, provider, order, reads, notify } = await openOrder(t, epay, () => never)
    provider.pay(order.id)
    void service.checkOrder(order.id, 'test')
    assert.deepEqual(await notify(10), new Set([503]))
    assert.equal(reads(), 1)
  })
})
