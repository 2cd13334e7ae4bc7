// @backend postgres – starts its own cluster
// @suite all – waits until a shutdown times out
/** Shutdown of a node whose background work is blocked. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { Client } from 'pg'
import { openClient } from '../../src/db/postgres/connection.ts'
import { jobLock } from '../../src/db/postgres/advisory-locks.ts'
import { postgresSkipReason, type PostgresServer } from '../../src/db/postgres/postgres.fixture.ts'
import { sharedPostgres } from '../support/server/cluster.ts'
import { startTestServer } from '../support/server/test-server.ts'
import { waitUntil } from '../support/wait.ts'

const skip = postgresSkipReason

let postgres: PostgresServer
if (skip === false) postgres = await sharedPostgres()

/** Opens a session that holds a lock until it ends. */
async function openBlocker(t: TestContext, url: string, sql: string): Promise<Client> {
  const blocker = await openClient({ url, name: 'blocker', statementMs: 60_000 })
  t.after(() => blocker.end())
  await blocker.query(`set idle_in_transaction_session_timeout = 0; begin; ${sql}`)
  return blocker
}

/** Waits until a connection of this name to the database waits for a lock. */
async function waitForLock(url: string, name: string): Promise<void> {
  const database = new URL(url).pathname.slice(1)
  const sql = `select 1 from pg_stat_activity
    where datname = '${database}' and application_name like '${name}' and wait_event_type = 'Lock'`
  await waitUntil(async () => (await postgres.query(sql)).length === 1)
}

// At once, because one of them waits for a timeout.
describe('Shutdown of a node', { concurrency: true }, () => {
  test(
    'Node stopped during a backup – stops at once, leaves nothing and reports no failure',
    { skip },
    async (t) => {
      const url = await postgres.createMigratedDatabase()
      const blocker = await openBlocker(t, url, 'lock table invites')
      const server = await startTestServer(t, { env: { DATABASE_URL: url, BACKUP_EVERY: '1s' } })
      await waitForLock(url, 'sluice snapshot')
      assert.deepEqual(await server.stop(), { code: 0, signal: null })
      const remaining = (await readdir(join(server.dataDir, 'backups'))).filter((name) =>
        name.startsWith('backup-'),
      )
      assert.deepEqual(remaining, [])
      assert.doesNotMatch(server.log.join('\n'), /backup failed|shutdown timed out/)
      await blocker.query('rollback')
      await server.restart({ BACKUP_EVERY: '1h' })
      const { data } = await server.admin<{ data: { code: string }[] }>('GET', '/notices')
      assert.ok(data.every(({ code }) => code !== 'backup_failed'))
      await server.assertNoOpenHolds()
    },
  )

  test('Node stopped while its jobs are blocked – waits at most 15 s and logs it', { skip }, async (t) => {
    const url = await postgres.createMigratedDatabase()
    const server = await startTestServer(t, { env: { DATABASE_URL: url } })
    const blocker = await openBlocker(t, url, jobLock)
    await waitForLock(url, '% jobs')
    assert.deepEqual(await server.stop(), { code: 0, signal: null })
    assert.match(server.log.join('\n'), /"left":\["ledger"\],"msg":"shutdown timed out/)
    await blocker.query('rollback')
    await server.restart()
    await server.assertNoOpenHolds()
  })
})
