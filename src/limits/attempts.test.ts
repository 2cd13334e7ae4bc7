import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../db/schema/schema.ts'
import { anyStore } from '../db/store.fixture.ts'
import { Refusal } from '../errors.ts'
import { Attempts, forgetAttempts } from './attempts.ts'

/** How long somebody is sent away for; 0: not at all. */
async function waitOf(asked: Promise<void>): Promise<number> {
  try {
    await asked
    return 0
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code === 'rate_limit_exceeded')
    return error.detail.retryAfterMs ?? 0
  }
}

test('tries are counted over all that count, until their time is over or they were no guesses', async (t) => {
  const { db } = await anyStore(t)
  let now = 1_000_000
  const nodes = [new Attempts(db, () => now), new Attempts(db, () => now)]
  const count = (at: number, who = 'one'): Promise<number> =>
    waitOf(nodes[at % 2]?.count('sign-in-email', who) ?? Promise.reject(new Error('no node')))
  for (let tries = 0; tries < 10; tries += 1) assert.equal(await count(tries), 0)
  now += 100_000
  assert.deepEqual([await count(0), await count(1)], [800_000, 800_000])
  assert.equal(await count(0, 'two'), 0)
  await nodes[0]?.forgive('sign-in-email', 'one')
  assert.equal(await count(0), 0)
  for (let tries = 0; tries < 10; tries += 1) await count(0)
  now += 900_001
  assert.deepEqual([await count(0), await count(1)], [0, 0])
  now += 900_001
  await forgetAttempts(db, now)
  assert.deepEqual(await db.all(sql.selectFrom('attempts').selectAll()), [])
})

test('a look counts nothing, and names nobody', async (t) => {
  const { db } = await anyStore(t)
  const attempts = new Attempts(db, () => 5)
  const look = (): Promise<number> => waitOf(attempts.check('voucher-account', 'acc_1'))
  for (let looks = 0; looks < 20; looks += 1) assert.equal(await look(), 0)
  for (let tries = 0; tries < 10; tries += 1) await attempts.count('voucher-account', 'acc_1')
  assert.equal(await look(), 600_000)
  const rows = await db.all(sql.selectFrom('attempts').selectAll())
  assert.equal(rows.length, 1)
  assert.doesNotMatch(JSON.stringify(rows), /acc_1|voucher/)
})
