// @suite all – starts PostgreSQL
/**
 * Runs the unit tests of the store and of everything that queries it on PostgreSQL; by themselves, these files run on
 * SQLite.
 */

import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { chainHash, chainGenesis } from '../../src/db/journal.ts'
import type { LedgerCommit } from '../../src/db/ledger-commit.ts'
import { openClient } from '../../src/db/postgres/connection.ts'
import { openPostgresDb } from '../../src/db/postgres/postgres-db.ts'
import { insertOwners, lockBatch, openLedgerClient } from '../../src/db/postgres/lock-batch.ts'
import { writeBatch } from '../../src/db/postgres/write-batch.ts'
import { deleteExpiredResponses } from '../../src/db/postgres/retention.ts'
import {
  startPostgres,
  postgresSkipReason,
  type PostgresServer,
} from '../../src/db/postgres/postgres.fixture.ts'
import { backfillTokensShared, rollUpShared } from '../../src/usage/rollups/shared-rollup.ts'
import { useStores, type TestStore } from '../../src/db/store.fixture.ts'

const needs = {
  node: 'one',
  epoch: 1,
  holds: [],
  endingHolds: [],
  credits: [],
  claims: [],
  responsesStoredAfter: 0,
}
const noHolds = { held_nanos: 0n, day_held_nanos: 0n, month_held_nanos: 0n, past: '[]' }

/** Opens a store over a new database, with the commits of one node. */
async function openStore(server: PostgresServer, t: TestContext): Promise<TestStore> {
  const url = await server.createMigratedDatabase()
  const db = openPostgresDb(url, 'test')
  const client = await openLedgerClient({ url, name: 'test ledger', statementMs: 20_000 })
  const jobClient = await openClient({ url, name: 'test roll-ups', statementMs: 20_000 })
  let jobs = Promise.resolve()
  const timer = setInterval(() => {
    jobs = jobs.then(async () => {
      await rollUpShared(jobClient)
      await backfillTokensShared(jobClient)
      await deleteExpiredResponses(db, Date.now())
    })
  }, 500)
  t.after(async () => {
    clearInterval(timer)
    await jobs
    await Promise.all([db.close(), client.end(), jobClient.end()])
  })
  await client.query(`insert into nodes values ('one', 'one', '0', 1, 'running', 0, 0)`)
  let prev = chainGenesis
  return {
    db,
    async commit({
      seq: number,
      at,
      journal: body,
      entries,
      owners,
      requests,
      storedResponses = [],
    }: LedgerCommit) {
      const ids = owners.map(({ id }) => id)
      await insertOwners(client, ids)
      const { seq } = await lockBatch(client, { ...needs, owners: ids })
      const hash = chainHash(prev, body)
      await writeBatch(client, {
        seq,
        node: 'one',
        commit: { number, at, body, prev, hash },
        entries,
        owners: owners.map((row) => ({ ...row, ...noHolds })),
        requests,
        areRequestsKnown: false,
        storedResponses,
        opened: [],
        changed: [],
        ended: [],
      })
      prev = hash
    },
  }
}

if (postgresSkipReason === false) {
  const server = await startPostgres()
  after(() => server.remove())
  useStores((t) => openStore(server, t))
  describe('PostgreSQL connections', () => {
    test('Settings – disable JIT compilation and parallel workers', async () => {
      const db = openPostgresDb(server.databaseUrl('postgres'), 'test')
      const settings = `select current_setting('jit') as jit, current_setting('max_parallel_workers_per_gather') as workers`
      const [row] = await db.report({ sql: settings, parameters: [] })
      await db.close()
      assert.deepEqual(row, { jit: 'off', workers: '0' })
    })
  })
  await import('../../src/db/db.test.ts')
  await import('../../src/accounts/accounts.test.ts')
  await import('../../src/accounts/keys.test.ts')
  await import('../../src/accounts/key-search.test.ts')
  await import('../../src/accounts/directory.test.ts')
  await import('../../src/catalog/catalog.test.ts')
  await import('../../src/engine/payments/settle-order.test.ts')
  await import('../../src/health/incidents.test.ts')
  await import('../../src/http/admin/app.test.ts')
  await import('../../src/http/admin/catalog/catalog.test.ts')
  await import('../../src/http/admin/accounts/keys.test.ts')
  await import('../../src/http/admin/notifications/notifications.test.ts')
  await import('../../src/http/admin/reports.test.ts')
  await import('../../src/http/admin/csv-exports.test.ts')
  await import('../../src/http/api/pagination.test.ts')
  await import('../../src/http/admin/money/vouchers.test.ts')
  await import('../../src/http/openai/account.test.ts')
  await import('../../src/engine/payments/automatic-recharge.test.ts')
  await import('../../src/engine/payments/saved-cards.test.ts')
  await import('../../src/engine/payments/automatic-recharge-sweep.test.ts')
  await import('../../src/engine/payments/daily-reconciliation.test.ts')
  await import('../../src/engine/payments/receive-dispute.test.ts')
  await import('../../src/ledger/credits/counted-credits.test.ts')
  await import('../../src/ledger/credits/credits.test.ts')
  await import('../../src/ledger/credits/unspent.test.ts')
  await import('../../src/limits/login-throttle.test.ts')
  await import('../../src/notifications/notifications.test.ts')
  await import('../../src/notifications/outbox.test.ts')
  await import('../../src/jobs/housekeeping.test.ts')
  await import('../../src/jobs/recent-outcomes.test.ts')
  await import('../../src/usage/stored-responses.test.ts')
  await import('../../src/usage/request-records.test.ts')
  await import('../../src/usage/reports.test.ts')
  await import('../../src/usage/statement.test.ts')
} else {
  describe('Unit tests on PostgreSQL', () => {
    test('Unit tests of the store – pass on PostgreSQL', { skip: postgresSkipReason }, () => undefined)
  })
}
