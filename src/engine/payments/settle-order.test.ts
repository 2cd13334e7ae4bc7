/** A crash at each step of a settlement loses no credit and makes no second one. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Db } from '../../db/db.ts'
import { openTemporaryDb } from '../../db/store.fixture.ts'
import { insertAccounts } from '../../ledger/credits/accounts.fixture.ts'
import { openCreditOrders } from '../../ledger/credits/credit-orders.ts'
import type { PaymentFacts } from '../../payments/payment-method.ts'
import { orderRow } from '../../payments/payment-orders.fixture.ts'
import { insertOrder, newOrderId, orderById, type Order } from '../../payments/payment-orders.ts'
import { maxBalance } from '../../ledger/operations.ts'
import { balanceFull } from '../credits.ts'
import { settleOrder, type SettleDeps } from './settle-order.ts'

const at = 1_790_000_000_000

interface OpenOrder {
  readonly db: Db
  readonly order: Order
  readonly facts: PaymentFacts
  /** The credits that were entered. */
  readonly entered: string[]
  readonly deps: SettleDeps
}

async function openOrder(t: TestContext): Promise<OpenOrder> {
  const db = await openTemporaryDb(t)
  await insertAccounts(db, 'acc')
  const order = orderRow({ accountId: 'acc', createdAt: at, nextCheckAt: at, bonusNanos: 2_000_000_000n })
  await db.write(insertOrder(order))
  const entered: string[] = []
  const facts = {
    order: order.id,
    merchant: 'test',
    currency: 'CNY',
    amountMinor: 1000n,
    transaction: `pi_${order.id}`,
    paidAt: at,
    payer: null,
    savedCard: null,
  }
  const deps: SettleDeps = {
    config: {
      referralRewardReferrer: null,
      referralRewardInvited: null,
      referralMinPayment: '10',
      referralClearAfterMs: 0,
    },
    db,
    platformCurrency: 'CNY',
    now: () => at,
    wallet: () => Promise.resolve({ balance: 0n, held: 0n }),
    applyCreditOrder: (id) => Promise.resolve(entered.push(id)),
    bonusAtSettlement: ({ bonusNanos }) => Promise.resolve({ nanos: bonusNanos, statements: [] }),
  }
  return { db, order, facts, entered, deps }
}

const settle = (deps: SettleDeps, facts: PaymentFacts) =>
  settleOrder(deps, { method: 'stripe', facts, by: 'notice' })

/** The order, the payment, two orders of credits, a notification and an audit record. */
const batchLength = 6
const tables = ['payments', 'credit_orders', 'notices', 'audit'] as const

async function countRows(db: Db): Promise<number[]> {
  const counts = tables.map(async (table) => {
    const [row] = await db.all<{ rows: number }>({
      sql: `select count(*) as rows from ${table}`,
      parameters: [],
    })
    return row?.rows ?? 0
  })
  return Promise.all(counts)
}

/** Fails at one of the statements of each batch, as a crash would. */
function failingAt(db: Db, index: number): Db {
  return {
    ...db,
    write(...queries) {
      assert.equal(queries.length, batchLength)
      return db.write(...queries.with(index, { sql: 'select * from nowhere', parameters: [] }))
    },
  }
}

describe('settlement', () => {
  test('crash at any statement of the batch – nothing is written, and the next notice settles', async (t) => {
    const { db, order, facts, entered, deps } = await openOrder(t)
    const before = await countRows(db)
    for (let index = 0; index < batchLength; index += 1) {
      await assert.rejects(settle({ ...deps, db: failingAt(db, index) }, facts), /nowhere/)
      assert.deepEqual(await countRows(db), before, `statement ${index}`)
      assert.equal((await orderById(db, order.id))?.state, 'pending')
      assert.deepEqual(entered, [])
    }
    assert.equal(await settle(deps, facts), 'settled')
    assert.deepEqual(
      (await countRows(db)).map((rows, index) => rows - (before[index] ?? 0)),
      [1, 2, 1, 1],
    )
  })

  test('crash after the batch – its credits are open orders, which the next notice enters, too', async (t) => {
    const { db, order, facts, entered, deps } = await openOrder(t)
    const ids = [`payment:stripe:test:${facts.transaction}`, `bonus:${order.id}`]
    const applyCreditOrder = () => Promise.reject(new Error('crashed'))
    await assert.rejects(settle({ ...deps, applyCreditOrder }, facts), /crashed/)
    assert.equal((await orderById(db, order.id))?.state, 'paid')
    const open = await openCreditOrders(db, 10)
    assert.deepEqual(open.map(({ id }) => id).toSorted(), ids.toSorted())
    assert.equal(await settle(deps, facts), 'known')
    assert.deepEqual(entered, ids)
  })

  test('crash between the credits – the second one is entered alone, once', async (t) => {
    const { order, facts, entered, deps } = await openOrder(t)
    const applyCreditOrder = (id: string) =>
      id.startsWith('bonus:') ? Promise.reject(new Error('crashed')) : Promise.resolve(entered.push(id))
    await assert.rejects(settle({ ...deps, applyCreditOrder }, facts), /crashed/)
    assert.equal(await settle(deps, facts), 'known')
    assert.deepEqual(entered.slice(-1), [`bonus:${order.id}`])
  })

  test('twenty settlements at once – one settles, and the others know it', async (t) => {
    const { db, facts, deps } = await openOrder(t)
    const before = await countRows(db)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => settle(deps, facts)))
    assert.deepEqual(outcomes.toSorted(), [...Array.from({ length: 19 }, () => 'known'), 'settled'])
    const after = await countRows(db)
    assert.deepEqual(
      after.map((rows, index) => rows - (before[index] ?? 0)),
      [1, 2, 1, 1],
    )
  })

  test('settlement between the reads of another – is known to it, and no second payment', async (t) => {
    for (const read of [0, 1, 2]) {
      const { db, facts, deps } = await openOrder(t)
      let reads = 0
      const racing: Db = {
        ...db,
        async first(query) {
          const row = await db.first(query)
          if (reads === read) await settle(deps, facts)
          reads += 1
          return row
        },
      }
      assert.equal(await settle({ ...deps, db: racing }, facts), 'known', `read ${read}`)
      assert.deepEqual(await db.all({ sql: 'select id from payment_differences', parameters: [] }), [])
    }
  })

  test('payment above the maximum balance – is listed, and settles once there is room', async (t) => {
    const { db, order, facts, entered, deps } = await openOrder(t)
    const left = order.creditNanos + order.bonusNanos
    const wallet = { balance: maxBalance - left + 1n, held: 0n }
    const limited = { ...deps, wallet: () => Promise.resolve(wallet) }
    assert.equal(await settle(limited, facts), 'surplus')
    assert.deepEqual([(await orderById(db, order.id))?.state, entered], ['pending', []])
    const listed = await db.all({
      sql: 'select kind, reference, amount_minor from payment_differences',
      parameters: [],
    })
    assert.deepEqual(listed, [{ kind: 'surplus', reference: facts.transaction, amount_minor: 1000n }])
    wallet.balance -= 1n
    assert.equal(await settle(limited, facts), 'settled')
  })

  test('surplus that was dismissed – is not credited by a later check', async (t) => {
    const { db, facts, entered, deps } = await openOrder(t)
    const full = { ...deps, wallet: () => Promise.resolve({ balance: maxBalance, held: 0n }) }
    assert.equal(await settle(full, facts), 'surplus')
    await db.write({ sql: "update payment_differences set state = 'resolved'", parameters: [] })
    assert.equal(await settle(deps, facts), 'surplus')
    assert.deepEqual(entered, [])
  })

  test('credit that loses the last room of the balance – stays an open order', async (t) => {
    const { db, order, facts, deps } = await openOrder(t)
    const applyCreditOrder = () => Promise.reject(balanceFull('amount'))
    assert.equal(await settle({ ...deps, applyCreditOrder }, facts), 'settled')
    assert.equal((await orderById(db, order.id))?.state, 'paid')
    assert.equal((await openCreditOrders(db, 10)).length, 2)
    assert.equal(await settle({ ...deps, applyCreditOrder }, facts), 'known')
  })

  test('facts that differ in one field – are listed, and change no order', async (t) => {
    const { db, order, facts, entered, deps } = await openOrder(t)
    const differing: Partial<PaymentFacts>[] = [
      { amountMinor: 999n },
      { amountMinor: 1001n },
      { currency: 'USD' },
      { merchant: 'live' },
    ]
    for (const [index, change] of differing.entries())
      assert.equal(await settle(deps, { ...facts, ...change, transaction: `pi_${index}` }), 'mismatch')
    assert.equal(await settle(deps, { ...facts, order: newOrderId() }), 'foreign')
    const other = settleOrder(deps, { method: 'wechat', facts, by: 'notice' })
    assert.equal(await other, 'mismatch')
    assert.equal((await orderById(db, order.id))?.state, 'pending')
    assert.deepEqual(entered, [])
    const listed = await db.all<{ kind: string }>({
      sql: 'select kind from payment_differences',
      parameters: [],
    })
    assert.deepEqual(
      listed.map(({ kind }) => kind),
      Array.from({ length: 5 }, () => 'amount'),
    )
    assert.equal(await settle(deps, facts), 'settled')
    assert.equal(await settle(deps, { ...facts, transaction: 'pi_second' }), 'surplus')
  })
})
