import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../db/schema/schema.ts'
import { openAnyStore } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { LoginThrottle, deleteExpiredAttempts } from './login-throttle.ts'

/** How long the attempt is blocked; 0: it is allowed. */
async function waitOf(pending: Promise<void>): Promise<number> {
  try {
    await pending
    return 0
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 'rate_limit_exceeded')
    return error.detail.retryAfterMs ?? 0
  }
}

describe('LoginThrottle', () => {
  test('count – counts across instances until the window ends or a reset', async (t) => {
    const { db } = await openAnyStore(t)
    let now = 1_000_000
    const nodes = [new LoginThrottle(db, () => now), new LoginThrottle(db, () => now)]
    const count = (at: number, who = 'one'): Promise<number> =>
      waitOf(nodes[at % 2]?.count('sign-in-email', who) ?? Promise.reject(new Error('no node')))
    for (let tries = 0; tries < 10; tries += 1) assert.equal(await count(tries), 0)
    now += 100_000
    assert.deepEqual([await count(0), await count(1)], [800_000, 800_000])
    assert.equal(await count(0, 'two'), 0)
    await nodes[0]?.reset('sign-in-email', 'one')
    assert.equal(await count(0), 0)
    for (let tries = 0; tries < 10; tries += 1) await count(0)
    now += 900_001
    assert.deepEqual([await count(0), await count(1)], [0, 0])
    now += 900_001
    await deleteExpiredAttempts(db, now)
    assert.deepEqual(await db.all(sql.selectFrom('attempts').selectAll()), [])
  })

  test('check – counts nothing, and stores no names', async (t) => {
    const { db } = await openAnyStore(t)
    const throttle = new LoginThrottle(db, () => 5)
    const check = (): Promise<number> => waitOf(throttle.check('voucher-account', 'acc_1'))
    for (let checks = 0; checks < 20; checks += 1) assert.equal(await check(), 0)
    for (let tries = 0; tries < 10; tries += 1) await throttle.count('voucher-account', 'acc_1')
    assert.equal(await check(), 600_000)
    const rows = await db.all(sql.selectFrom('attempts').selectAll())
    assert.equal(rows.length, 1)
    assert.doesNotMatch(JSON.stringify(rows), /acc_1|voucher/)
  })
})
