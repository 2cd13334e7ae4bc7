/** Daily comparisons over a real store; test/checks/unit-tests-on-postgres.test.ts runs them on PostgreSQL, too. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { listNotifications } from '../../notifications/notifications.ts'
import { ProviderError, type Bills } from '../../payments/payment-method.ts'
import { lastRunsOf } from '../../payments/payment-runs.ts'
import { account, openRecharges } from './automatic-recharge.fixture.ts'
import { createOrder } from './create-order.ts'
import { DailyReconciliation } from './daily-reconciliation.ts'

const hour = 3_600_000

/** A method whose first order is of 2026-11-20, and whose lists are empty. */
async function openDaily(t: TestContext) {
  const { deps, db, clock } = await openRecharges(t, Date.parse('2026-11-20T12:00:00Z'))
  const order = { account, method: 'stripe', product: null, amount: '10', clientKey: null, by: 'person:one' }
  await createOrder(deps, order)
  const stripe = deps.methods.get('stripe')
  assert.ok(stripe)
  /** The days that were asked for, and those whose lists cannot be read. */
  const asked: string[] = []
  const broken = new Set<string>()
  const bills: Bills = {
    timezone: 'UTC',
    listsRefunds: false,
    includesToday: false,
    async *list(from, to) {
      asked.push(from === to ? to : `${from}–${to.slice(-2)}`)
      if (broken.has(from) || broken.has(to)) throw new ProviderError('The list cannot be read.')
      yield* await Promise.resolve([])
    },
  }
  const daily = new DailyReconciliation({ ...deps, methods: new Map([['stripe', { ...stripe, bills }]]) })
  /** The days that these many rounds ask for. */
  const rounds = async (count: number): Promise<string[]> => {
    asked.length = 0
    for (let round = 0; round < count; round += 1) await daily.run()
    return [...asked]
  }
  const notified = async () => (await listNotifications(db, { audience: 'operator' }, { limit: 100 })).data
  return { db, clock, broken, rounds, notified }
}

describe('daily reconciliation', () => {
  test('failed day – is notified once, and tried again each hour until it is done', async (t) => {
    const { db, clock, broken, rounds, notified } = await openDaily(t)
    clock.now = Date.parse('2026-11-21T12:00:00Z')
    broken.add('2026-11-20')
    assert.deepEqual(await rounds(3), ['2026-11-20'])
    clock.now += hour
    assert.deepEqual(await rounds(3), ['2026-11-20'])
    const [notification, ...others] = await notified()
    assert.deepEqual(others, [])
    assert.partialDeepStrictEqual(notification, {
      kind: 'payment',
      code: 'payments_not_compared',
      params: { method: 'stripe', day: '2026-11-20', problem: 'The list cannot be read.' },
    })
    assert.equal((await lastRunsOf(db, 'stripe')).lastDone, undefined)
    broken.clear()
    clock.now += hour
    assert.deepEqual(await rounds(3), ['2026-11-20'])
    const { last, lastDone } = await lastRunsOf(db, 'stripe')
    assert.deepEqual([last?.state, last?.id], ['done', lastDone?.id])
    clock.now += hour
    assert.deepEqual(await rounds(3), [])
    assert.equal((await notified()).length, 1)
  })

  test('missed days – are compared one a round, from the first order on', async (t) => {
    const { clock, broken, rounds } = await openDaily(t)
    clock.now = Date.parse('2026-11-24T12:00:00Z')
    broken.add('2026-11-22')
    assert.deepEqual(await rounds(1), ['2026-11-23'])
    // One that fails does not keep the others waiting.
    assert.deepEqual(await rounds(6), ['2026-11-22', '2026-11-21', '2026-11-20'])
    clock.now += 6 * hour
    assert.deepEqual(await rounds(3), ['2026-11-21–22'])
  })

  test('day after one that is compared – is compared with it, for payments around midnight', async (t) => {
    const { clock, broken, rounds } = await openDaily(t)
    clock.now = Date.parse('2026-11-21T12:00:00Z')
    assert.deepEqual(await rounds(2), ['2026-11-20'])
    clock.now += 24 * hour
    assert.deepEqual(await rounds(2), ['2026-11-20–21'])
    clock.now += 24 * hour
    broken.add('2026-11-22')
    assert.deepEqual(await rounds(2), ['2026-11-21–22'])
    clock.now += 24 * hour
    assert.deepEqual(await rounds(1), ['2026-11-23'])
  })

  test('days older than a week – are not tried any more', async (t) => {
    const { clock, rounds } = await openDaily(t)
    clock.now = Date.parse('2026-12-11T12:00:00Z')
    const days = await rounds(20)
    assert.deepEqual([days.length, days[0], days.at(-1)], [7, '2026-12-10', '2026-12-04'])
  })

  test('list that is not ready yet – is not asked for', async (t) => {
    const { clock, rounds } = await openDaily(t)
    clock.now = Date.parse('2026-11-22T10:29:00Z')
    assert.deepEqual(await rounds(3), ['2026-11-20'])
    clock.now += 60_000
    assert.deepEqual(await rounds(3), ['2026-11-20–21'])
  })
})
