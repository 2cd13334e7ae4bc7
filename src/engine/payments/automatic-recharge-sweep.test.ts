/** The leader's rounds over many accounts; test/checks/unit-tests-on-postgres.test.ts runs them on PostgreSQL, too. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listOrders } from '../../payments/payment-orders.ts'
import {
  account,
  addLowAccounts,
  charges,
  consent,
  openLow,
  sweepAfter,
  yuan,
  type OpenRecharges,
} from './automatic-recharge.fixture.ts'
import { AutomaticRechargeService } from './automatic-recharge-service.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const minute = 60_000

/** The accounts of the automatic orders, oldest first. */
async function orderedFor({ db }: OpenRecharges): Promise<string[]> {
  const { data } = await listOrders(db, {}, { limit: 500 })
  return data
    .filter(({ automatic }) => automatic)
    .map(({ accountId }) => accountId)
    .toReversed()
}

describe('Rounds of automatic recharges', () => {
  test('provider that does not respond – ends the round, and the next one goes on after it', async (t) => {
    const open = await openLow(t)
    await addLowAccounts(open, ['acc_two', 'acc_three'])
    open.stripe.faults = { create: 'unreachable' }
    const ordered = []
    for (let round = 1; round <= 4; round += 1) {
      await sweepAfter(open, minute)
      ordered.push((await orderedFor(open)).length)
    }
    assert.deepEqual(ordered, [1, 2, 3, 3])
    open.stripe.faults = {}
    await sweepAfter(open, minute)
    assert.equal(charges(open).length, 3)
  })

  test('more low accounts than a round has room for – each has its turn in the next one', async (t) => {
    const open = await openLow(t)
    open.stripe.state.cardOutcome = 'insufficient_funds'
    const others = Array.from({ length: 109 }, (_, index) => `acc_${index}`)
    await addLowAccounts(open, others)
    await open.service.sweep()
    assert.equal((await orderedFor(open)).length, 100)
    await sweepAfter(open, minute)
    const ordered = await orderedFor(open)
    assert.equal(ordered.length, 110)
    assert.deepEqual(new Set(ordered), new Set([account, ...others]))
  })

  test('balance – decides in the store whether an account is looked at, unless something is held', async (t) => {
    const open = await openLow(t)
    const wallet = t.mock.method(open.deps, 'wallet')
    open.wallet.balance = 8n * yuan
    await open.service.sweep()
    assert.equal(wallet.mock.callCount(), 0)
    open.wallet.held = 1n
    await open.service.sweep()
    assert.equal(charges(open).length, 1)
  })

  test('thresholds – are read when they have changed, on whatever node', async (t) => {
    const open = await openLow(t)
    await addLowAccounts(open, ['acc_two', 'acc_three'])
    open.wallet.balance = 9n * yuan
    open.clock.now += minute + 1
    const node = new AutomaticRechargeService(open.deps)
    t.after(() => node.stop())
    const all = t.mock.method(open.db, 'all')
    node.onCharged(account, 9n * yuan)
    assert.equal((await all.mock.calls[0]?.result)?.length, 3)
    await consent(open, { threshold: '10' })
    open.clock.now += 10_000
    all.mock.resetCalls()
    node.onCharged(account, 9n * yuan)
    assert.equal((await all.mock.calls[0]?.result)?.length, 1)
    await waitUntil(async () => charges(open).length === 1, 'the recharge')
  })
})
