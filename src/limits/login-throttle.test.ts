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
    const count = (at: number, id = 'one'): Promise<number> =>
      waitOf(nodes[at % 2]?.count('proof-person', { id }) ?? Promise.reject(new Error('no node')))
    for (let tries = 0; tries < 10; tries += 1) assert.equal(await count(tries), 0)
    now += 100_000
    assert.deepEqual([await count(0), await count(1)], [800_000, 800_000])
    assert.equal(await count(0, 'two'), 0)
    await nodes[0]?.reset('proof-person', { id: 'one' })
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
    const check = (): Promise<number> => waitOf(throttle.check('voucher-account', { id: 'acc_1' }))
    for (let checks = 0; checks < 20; checks += 1) assert.equal(await check(), 0)
    for (let tries = 0; tries < 10; tries += 1) await throttle.count('voucher-account', { id: 'acc_1' })
    assert.equal(await check(), 600_000)
    const rows = await db.all(sql.selectFrom('attempts').selectAll())
    assert.equal(rows.length, 1)
    assert.doesNotMatch(JSON.stringify(rows), /acc_1|voucher/)
  })

  test('networks – IPv4 counts whole, IPv6 by /64, and a /48 has ten times the limit', async (t) => {
    const { db } = await openAnyStore(t)
    const throttle = new LoginThrottle(db, () => 5)
    const count = (address: string): Promise<number> => waitOf(throttle.count('sign-up-address', { address }))
    for (let host = 0; host < 20; host += 1) assert.equal(await count(`2001:db8:1:1::${host}`), 0)
    assert.notEqual(await count('2001:db8:1:1:ffff::1'), 0)
    // 21 attempts of the /48 so far.
    for (let net = 0; net < 179; net += 1) assert.equal(await count(`2001:db8:1:${net + 2}::1`), 0)
    assert.notEqual(await count('2001:db8:1:ffff::1'), 0)
    assert.equal(await count('2001:db8:2::1'), 0)
    for (let tries = 0; tries < 20; tries += 1) assert.equal(await count('203.0.113.7'), 0)
    assert.notEqual(await count('203.0.113.7'), 0)
    assert.equal(await count('203.0.113.8'), 0)
  })

  test('sign-in-email – guesses from elsewhere never block a network with a success', async (t) => {
    const { db } = await openAnyStore(t)
    let now = 5
    const nodes = [new LoginThrottle(db, () => now), new LoginThrottle(db, () => now)] as const
    const count = (address: string, node: 0 | 1 = 0): Promise<number> =>
      waitOf(nodes[node].count('sign-in-email', { id: 'ann@example.com', address }))
    await nodes[0].reset('sign-in-email', { id: 'ann@example.com', address: '2001:db8::1' })
    for (let tries = 0; tries < 10; tries += 1) assert.equal(await count('203.0.113.1'), 0)
    assert.equal(await count('203.0.113.1'), 900_000)
    assert.equal(await count('203.0.113.2'), 0)
    for (let host = 10; host < 98; host += 1) await count(`203.0.113.${host}`)
    for (let tries = 0; tries < 12; tries += 1)
      await waitOf(nodes[0].count('sign-in-email', { id: 'ann@example.com 2001:db8:0:0::/64' }))
    // More than 100 from all networks together: only the owner's network passes, on every node.
    assert.deepEqual([await count('203.0.113.99'), await count('203.0.113.98', 1)], [900_000, 900_000])
    for (const node of [0, 1] as const)
      for (let tries = 0; tries < 5; tries += 1) assert.equal(await count('2001:db8::2', node), 0)
    assert.equal(await count('2001:db8::3'), 900_000)
    now += 91 * 86_400_000
    await deleteExpiredAttempts(db, now)
    assert.deepEqual(await db.all(sql.selectFrom('attempts').selectAll()), [])
  })
})
