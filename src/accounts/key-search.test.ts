import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Db } from '../db/db.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { createAccount } from './accounts.ts'
import { ensureConsoleKey } from './console-key.ts'
import { searchKeys, type KeyFilter, type KeyOrder } from './key-search.ts'
import { createKey, deleteKey, recordKeyUse, updateKey, type NewKey } from './keys.ts'

interface TestKeys {
  readonly db: Db
  readonly keys: Readonly<Record<string, NewKey>>
  /** The names of all matching keys, collected over pages of two. */
  readonly find: (filter: KeyFilter, order?: KeyOrder, now?: number) => Promise<string[]>
}

/** Two accounts with three keys each, one deleted key, and the console's keys, which no search finds. */
async function createTestKeys(t: TestContext): Promise<TestKeys> {
  const db = await openTemporaryDb(t)
  const keys: Record<string, NewKey> = {}
  for (const [email, ...names] of [
    ['alice@example.com', 'Laptop', 'ci 100%', 'old'],
    ['Bob@example.com', 'prod', 'laptop of Bob', 'gone'],
  ] as const) {
    const { value: account } = await createAccount(db, { email }, 'admin')
    await ensureConsoleKey(db, account.id)
    for (const name of names) {
      keys[name] = (await createKey(db, { accountId: account.id, name }, { by: 'admin' })).value
    }
  }
  const { old, gone, prod, Laptop, 'ci 100%': ci } = keys
  assert.ok(old && gone && prod && Laptop && ci)
  await updateKey(db, old.id, { expiresAt: Date.now() + 60_000 }, 'admin')
  await updateKey(db, prod.id, { status: 'disabled' }, 'admin')
  await deleteKey(db, gone.id, 'admin')
  await recordKeyUse(db, new Map([Laptop, prod].map(({ id }, index) => [id, 1000 + index])))
  return {
    db,
    keys,
    async find(filter, order = 'newest', now = Date.now()) {
      const names: string[] = []
      let cursor: string | undefined
      do {
        const page = await searchKeys(db, filter, { order, limit: 2, cursor, now })
        assert.ok(page.data.length > 0 || names.length === 0, 'an empty page had a next page')
        names.push(...page.data.map(({ name }) => name))
        cursor = page.next ?? undefined
      } while (cursor !== undefined)
      return names
    },
  }
}

describe('searchKeys', () => {
  test('all keys – are listed in every order, without deleted ones and the console’s', async (t) => {
    const { find } = await createTestKeys(t)
    const newest = ['laptop of Bob', 'prod', 'old', 'ci 100%', 'Laptop']
    assert.deepEqual(await find({}), newest)
    assert.deepEqual(await find({}, 'oldest'), newest.toReversed())
    assert.deepEqual(await find({}, 'last_used'), ['prod', 'Laptop', 'laptop of Bob', 'old', 'ci 100%'])
    assert.deepEqual(await find({}, 'longest_unused'), ['ci 100%', 'old', 'laptop of Bob', 'Laptop', 'prod'])
    assert.deepEqual(await find({}, 'name'), ['ci 100%', 'Laptop', 'laptop of Bob', 'old', 'prod'])
  })

  test('a key – is found by part of its name, prefix of its secret, id and account', async (t) => {
    const { find, keys } = await createTestKeys(t)
    const { Laptop: laptop } = keys
    assert.ok(laptop)
    const { id, accountId, secret, prefix, lastFour } = laptop
    assert.deepEqual(await find({ search: 'APTO' }), ['laptop of Bob', 'Laptop'])
    assert.deepEqual(await find({ search: '0%' }), ['ci 100%'])
    assert.deepEqual(await find({ search: '_' }), [])
    assert.deepEqual(await find({ search: 'BOB@' }), ['laptop of Bob', 'prod'])
    assert.deepEqual(await find({ search: 'bob' }), ['laptop of Bob', 'prod'])
    for (const search of [id, secret, `${prefix}…${lastFour}`])
      assert.deepEqual(await find({ search }), ['Laptop'])
    assert.deepEqual(await find({ search: `${prefix}…none` }), [])
    assert.deepEqual(await find({ search: secret.slice(0, 7) }), await find({}))
    assert.deepEqual(await find({ search: accountId }), ['old', 'ci 100%', 'Laptop'])
    assert.deepEqual(await find({ accountId, search: 'laptop' }), ['Laptop'])
  })

  test('an expired key – is expired, and neither active nor disabled', async (t) => {
    const { find } = await createTestKeys(t)
    const later = Date.now() + 60_000
    assert.deepEqual(await find({ state: 'disabled' }), ['prod'])
    assert.deepEqual(await find({ state: 'expired' }), [])
    assert.deepEqual(await find({ state: 'expired' }, 'name', later), ['old'])
    assert.deepEqual(await find({ state: 'active' }, 'newest', later), ['laptop of Bob', 'ci 100%', 'Laptop'])
  })

  test('a cursor of another order – is rejected', async (t) => {
    const { db } = await createTestKeys(t)
    const { next } = await searchKeys(db, {}, { order: 'newest', limit: 2, now: 0 })
    assert.ok(next !== null)
    for (const cursor of [next, next.replace('newest', 'last_used'), 'last_used']) {
      const page = { order: 'last_used', limit: 2, cursor, now: 0 } as const
      await assert.rejects(searchKeys(db, {}, page), /Invalid cursor for this list/)
    }
  })
})
