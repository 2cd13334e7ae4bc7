import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAccount } from '../accounts/accounts.ts'
import { createKey, listKeys } from '../accounts/keys.ts'
import type { Change } from '../db/change.ts'
import { createLedgerCommit, createRequestRow } from '../db/store.fixture.ts'
import { createLog } from '../lib/log.ts'
import { listNotifications } from '../notifications/notifications.ts'
import { openRolledUpStore } from '../usage/rollups/rolled-up-store.fixture.ts'
import { runHousekeeping } from './housekeeping.ts'
import { waitUntil } from '../../test/support/wait.ts'

const hourMs = 3_600_000

describe('Housekeeping', () => {
  test('key that costs five times as much as usual – is notified once; normal use is not', async (t) => {
    const store = await openRolledUpStore(t)
    const { db } = store
    const { value: account } = await createAccount(db, { email: 'a@example.com' }, 'test')
    const { value: key } = await createKey(db, { accountId: account.id, name: 'busy' }, { by: 'test' })
    const now = Math.floor(Date.now() / hourMs) * hourMs + 60_000
    const about = { account_id: account.id, key_id: key.id, cost_nanos: 10_000_000n }
    const usual = Array.from({ length: 20 }, (_, index) =>
      createRequestRow(`req_${index}`, { ...about, at: now - (index + 2) * hourMs }),
    )
    await store.commit(
      createLedgerCommit(1, { requests: [...usual, createRequestRow('req_now', { ...about, at: now })] }),
    )
    const deps = {
      db,
      log: createLog('silent'),
      currency: 'USD',
      keysDeletedMs: 0,
      responseItemsTtlMs: hourMs,
      publishChanges: () => Promise.resolve(),
    }
    const listAccountNotifications = async () =>
      (await listNotifications(db, { audience: account.id }, { limit: 10 })).data
    await rolledUp(db, 21)
    await runHousekeeping(deps, now)
    assert.deepEqual(await listAccountNotifications(), [])
    const burst = Array.from({ length: 6 }, (_, index) =>
      createRequestRow(`req_b${index}`, { ...about, at: now + index }),
    )
    await store.commit(createLedgerCommit(2, { requests: burst }))
    await rolledUp(db, 27)
    await runHousekeeping(deps, now)
    await runHousekeeping(deps, now)
    const notifications = await listAccountNotifications()
    assert.deepEqual(
      notifications.map(({ code, params }) => [
        code,
        params['key'],
        params['cost'],
        params['usual'],
        params['currency'],
      ]),
      [['key_unusual', 'busy', '0.07', '0.01', 'USD']],
    )
  })

  test('unused keys – are deleted if configured, and the change is published', async (t) => {
    const { db } = await openRolledUpStore(t)
    const { value: account } = await createAccount(db, { email: 'a@example.com' }, 'test')
    await createKey(db, { accountId: account.id, name: 'old' }, { by: 'test' })
    const published: Change[] = []
    const deps = {
      db,
      log: createLog('silent'),
      currency: 'USD',
      keysDeletedMs: 24 * hourMs,
      responseItemsTtlMs: hourMs,
      publishChanges: async (changes: readonly Change[]) => void published.push(...changes),
    }
    await runHousekeeping(deps, Date.now())
    assert.equal((await listKeys(db, account.id)).length, 1)
    await runHousekeeping(deps, Date.now() + 25 * hourMs)
    assert.deepEqual([(await listKeys(db, account.id)).length, published.length], [0, 1])
  })

  /** Resolves when the roll-ups contain this many requests. */
  async function rolledUp(
    db: Awaited<ReturnType<typeof openRolledUpStore>>['db'],
    requests: number,
  ): Promise<void> {
    await waitUntil(async () => {
      const [row] = await db.all<{ sum: number }>({
        sql: 'select coalesce(sum(requests), 0) as sum from usage_hourly',
        parameters: [],
      })
      return row?.sum === requests
    }, 'the roll-up')
  }
})
