import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Db } from '../db/db.ts'
import { temporaryDb } from '../db/store.fixture.ts'
import { createAccount } from './accounts.ts'
import { makeConsoleKey } from './console-key.ts'
import { pageOfKeys, type KeyFilter, type KeyOrder } from './key-list.ts'
import { createKey, deleteKey, noteKeyUse, updateKey, type NewKey } from './keys.ts'

interface Shop {
  readonly db: Db
  readonly keys: Readonly<Record<string, NewKey>>
  /** The names of all that are found, gathered over pages of two. */
  readonly found: (filter: KeyFilter, order?: KeyOrder, now?: number) => Promise<string[]>
}

/** Two accounts with three keys each, a deleted one, and a key of the console that nobody sees. */
async function shop(t: TestContext): Promise<Shop> {
  const db = await temporaryDb(t)
  const keys: Record<string, NewKey> = {}
  for (const [email, ...names] of [
    ['alice@example.com', 'Laptop', 'ci 100%', 'old'],
    ['Bob@example.com', 'prod', 'laptop of Bob', 'gone'],
  ] as const) {
    const { value: account } = await createAccount(db, { email }, 'admin')
    await makeConsoleKey(db, account.id)
    for (const name of names) {
      keys[name] = (await createKey(db, { accountId: account.id, name }, { by: 'admin' })).value
    }
  }
  const { old, gone, prod, Laptop, 'ci 100%': ci } = keys
  assert.ok(old && gone && prod && Laptop && ci)
  await updateKey(db, old.id, { expiresAt: Date.now() + 60_000 }, 'admin')
  await updateKey(db, prod.id, { status: 'disabled' }, 'admin')
  await deleteKey(db, gone.id, 'admin')
  await noteKeyUse(db, new Map([Laptop, prod].map(({ id }, index) => [id, 1000 + index])))
  return {
    db,
    keys,
    async found(filter, order = 'newest', now = Date.now()) {
      const names: string[] = []
      let cursor: string | undefined
      do {
        const page = await pageOfKeys(db, filter, { order, limit: 2, cursor, now })
        assert.ok(page.data.length > 0 || names.length === 0, 'an empty page led on to')
        names.push(...page.data.map(({ name }) => name))
        cursor = page.next ?? undefined
      } while (cursor !== undefined)
      return names
    },
  }
}

test('the keys of all accounts come page by page in every order, without deleted ones and the console’s', async (t) => {
  const { found } = await shop(t)
  const newest = ['laptop of Bob', 'prod', 'old', 'ci 100%', 'Laptop']
  assert.deepEqual(await found({}), newest)
  assert.deepEqual(await found({}, 'oldest'), newest.toReversed())
  assert.deepEqual(await found({}, 'last_used'), ['prod', 'Laptop', 'laptop of Bob', 'old', 'ci 100%'])
  assert.deepEqual(await found({}, 'longest_unused'), ['ci 100%', 'old', 'laptop of Bob', 'Laptop', 'prod'])
  assert.deepEqual(await found({}, 'name'), ['ci 100%', 'Laptop', 'laptop of Bob', 'old', 'prod'])
})

test('a key is found by a part of its name, the beginning of its secret, its id and its account', async (t) => {
  const { found, keys } = await shop(t)
  const { Laptop: laptop } = keys
  assert.ok(laptop)
  const { id, accountId, secret, prefix, lastFour } = laptop
  assert.deepEqual(await found({ sought: 'APTO' }), ['laptop of Bob', 'Laptop'])
  assert.deepEqual(await found({ sought: '0%' }), ['ci 100%'])
  assert.deepEqual(await found({ sought: '_' }), [])
  assert.deepEqual(await found({ sought: 'BOB@' }), ['laptop of Bob', 'prod'])
  assert.deepEqual(await found({ sought: 'bob' }), ['laptop of Bob', 'prod'])
  for (const sought of [id, secret, `${prefix}…${lastFour}`])
    assert.deepEqual(await found({ sought }), ['Laptop'])
  assert.deepEqual(await found({ sought: `${prefix}…none` }), [])
  assert.deepEqual(await found({ sought: secret.slice(0, 7) }), await found({}))
  assert.deepEqual(await found({ sought: accountId }), ['old', 'ci 100%', 'Laptop'])
  assert.deepEqual(await found({ accountId, sought: 'laptop' }), ['Laptop'])
})

test('an expired key is told as that, and neither as active nor as disabled', async (t) => {
  const { found } = await shop(t)
  const later = Date.now() + 60_000
  assert.deepEqual(await found({ state: 'disabled' }), ['prod'])
  assert.deepEqual(await found({ state: 'expired' }), [])
  assert.deepEqual(await found({ state: 'expired' }, 'name', later), ['old'])
  assert.deepEqual(await found({ state: 'active' }, 'newest', later), ['laptop of Bob', 'ci 100%', 'Laptop'])
})

test('a cursor of another order is refused', async (t) => {
  const { db } = await shop(t)
  const { next } = await pageOfKeys(db, {}, { order: 'newest', limit: 2, now: 0 })
  assert.ok(next !== null)
  for (const cursor of [next, next.replace('newest', 'last_used'), 'last_used']) {
    const page = { order: 'last_used', limit: 2, cursor, now: 0 } as const
    await assert.rejects(pageOfKeys(db, {}, page), /cursor is not one of this list/)
  }
})
