import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { sql } from '../db/schema/schema.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { deleteExpiredItems, maxItemBytes, ResponseItems } from './response-items.ts'

const sealer = createSealer(generateDataKey())
const hourMs = 3_600_000
const message = (id: string, text = 'Hi') => ({ id, type: 'message', content: text })

async function open(t: TestContext, ttlMs = hourMs) {
  const db = await openTemporaryDb(t)
  const account = (id: string) => ({
    sql: `insert into accounts (id, email, email_normalised, name, tier, status, timezone, limits, trial, created_at, updated_at)
      select ?, ?, ?, ?, name, 'active', 'UTC', '{}', 0, 0, 0 from tiers limit 1`,
    parameters: [id, id, id, id],
  })
  await db.write(account('alice'), account('bob'))
  const items = new ResponseItems(db, sealer, ttlMs)
  const find = async (account: string, ids: readonly string[], now: number) =>
    [...(await items.find(account, ids, { now, reserve: () => {} })).keys()].toSorted()
  return { db, items, find }
}

describe('items of responses', () => {
  test('Items are found by their account until they have not been used for the time', async (t) => {
    const { db, items, find } = await open(t)
    const sealed = { type: 'reasoning', id: 'rs_1', encrypted_content: 'x' }
    await items.add('alice', [message('msg_1'), sealed, { type: 'reasoning', id: 'rs_2' }, { type: 'x' }], 0)
    const ids = ['msg_1', 'rs_1', 'rs_2', 'msg_9']
    assert.deepEqual(await find('alice', ids, 1), ['msg_1', 'rs_1'])
    assert.deepEqual(await find('bob', ids, 1), [])
    const read = await items.find('alice', ['msg_1'], { now: 1, reserve: () => {} })
    assert.equal(read.get('msg_1'), JSON.stringify(message('msg_1')))
    const [row] = await db.all<{ item: Uint8Array }>(sql.selectFrom('response_items').select('item'))
    assert.doesNotMatch(Buffer.from(row?.item ?? []).toString('latin1'), /message/)

    assert.deepEqual(await find('alice', ['msg_1'], hourMs - 1), ['msg_1'])
    await deleteExpiredItems(db, hourMs, hourMs)
    assert.deepEqual(await find('alice', ids, hourMs), ['msg_1'])
    assert.deepEqual(await find('alice', ids, 2 * hourMs), [])
  })

  test('The least recently used items go when an account has more than its share', async (t) => {
    const { db, items, find } = await open(t)
    const large = 'x'.repeat(maxItemBytes / 4)
    await items.add('bob', [message('of_bob')], 0)
    for (const [at, id] of ['a', 'b', 'c'].entries()) await items.add('alice', [message(id, large)], at)
    assert.deepEqual(await find('alice', ['a', 'b', 'c'], 3), ['a', 'b', 'c'])
    assert.deepEqual(await find('alice', ['a'], 100_000), ['a'])
    await items.add('alice', [message('d', large), message('huge', 'x'.repeat(maxItemBytes))], 100_001)
    assert.deepEqual(await find('alice', ['a', 'b', 'c', 'd', 'huge'], 100_002), ['a', 'c', 'd'])
    assert.deepEqual(await find('bob', ['of_bob'], 100_002), ['of_bob'])
    const [row] = await db.all<{ total: number }>({
      sql: `select sum(bytes) as total from response_items where account_id = 'alice'`,
      parameters: [],
    })
    assert.ok((row?.total ?? Infinity) <= maxItemBytes)
  })

  test('What a request may hold is known before the items are read', async (t) => {
    const { items } = await open(t)
    await items.add('alice', [message('a'), message('b', 'x'.repeat(5000))], 0)
    const sizes: number[] = []
    const reserve = (bytes: number): void => {
      sizes.push(bytes)
      throw new Error('full')
    }
    await assert.rejects(items.find('alice', ['a', 'b'], { now: 1, reserve }), /full/)
    assert.ok((sizes[0] ?? 0) > 5000 + 1000)
  })

  test('Nothing is kept when the time is zero, or after its account', async (t) => {
    const { items, find } = await open(t, 0)
    await items.add('alice', [message('a')], 0)
    assert.deepEqual(await find('alice', ['a'], 0), [])
    const kept = await open(t)
    await kept.items.add('alice', [message('a')], 0)
    await kept.db.write({ sql: `delete from accounts where id = 'alice'`, parameters: [] })
    assert.deepEqual(await kept.find('alice', ['a'], 1), [])
  })
})
