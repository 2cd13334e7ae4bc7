import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccount } from '../accounts/accounts.ts'
import { createKey, listKeys } from '../accounts/keys.ts'
import type { Change } from '../db/change.ts'
import { ledgerCommit, requestRow, anyStore } from '../db/store.fixture.ts'
import { openLog } from '../lib/log.ts'
import { listNotices } from '../notifications/notifications.ts'
import { tendPeople } from './tend-people.ts'

const hourMs = 3_600_000

test('a key that costs five times its usual is told once; one that is used as ever is not', async (t) => {
  const store = await anyStore(t)
  const { db } = store
  const { value: account } = await createAccount(db, { email: 'a@example.com' }, 'test')
  const { value: key } = await createKey(db, { accountId: account.id, name: 'busy' }, { by: 'test' })
  const now = Math.floor(Date.now() / hourMs) * hourMs + 60_000
  const about = { account_id: account.id, key_id: key.id, cost_nanos: 10_000_000n }
  const usual = Array.from({ length: 20 }, (_, index) =>
    requestRow(`req_${index}`, { ...about, at: now - (index + 2) * hourMs }),
  )
  await store.commit(ledgerCommit(1, { requests: [...usual, requestRow('req_now', { ...about, at: now })] }))
  const parts = {
    db,
    log: openLog('silent'),
    keysDeletedMs: 0,
    announce: () => Promise.resolve(),
  }
  const told = async () => (await listNotices(db, { audience: account.id }, { limit: 10 })).data
  await rolledUp(db, 21)
  await tendPeople(parts, now)
  assert.deepEqual(await told(), [])
  const burst = Array.from({ length: 6 }, (_, index) =>
    requestRow(`req_b${index}`, { ...about, at: now + index }),
  )
  await store.commit(ledgerCommit(2, { requests: burst }))
  await rolledUp(db, 27)
  await tendPeople(parts, now)
  await tendPeople(parts, now)
  const notices = await told()
  assert.deepEqual(
    notices.map(({ code, params }) => [code, params['key'], params['cost'], params['usual']]),
    [['key_unusual', 'busy', '0.07', '0.01']],
  )
})

test('stale keys are deleted where that is the rule, and every thread hears of it', async (t) => {
  const { db } = await anyStore(t)
  const { value: account } = await createAccount(db, { email: 'a@example.com' }, 'test')
  await createKey(db, { accountId: account.id, name: 'old' }, { by: 'test' })
  const heard: Change[] = []
  const parts = {
    db,
    log: openLog('silent'),
    keysDeletedMs: 24 * hourMs,
    announce: async (changes: readonly Change[]) => void heard.push(...changes),
  }
  await tendPeople(parts, Date.now())
  assert.equal((await listKeys(db, account.id)).length, 1)
  await tendPeople(parts, Date.now() + 25 * hourMs)
  assert.deepEqual([(await listKeys(db, account.id)).length, heard.length], [0, 1])
})

/** Resolves when so many requests are in the roll-ups. */
async function rolledUp(db: Awaited<ReturnType<typeof anyStore>>['db'], requests: number): Promise<void> {
  for (;;) {
    const [row] = await db.all<{ sum: number }>({
      sql: 'select coalesce(sum(requests), 0) as sum from usage_hourly',
      parameters: [],
    })
    if (row?.sum === requests) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
