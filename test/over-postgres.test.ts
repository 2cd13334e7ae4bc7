/**
 * What the store promises, and what stands on its queries, over PostgreSQL: the same tests as over SQLite, which the
 * files named below run by themselves. Left out, in one line, where PostgreSQL is not installed.
 */

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { chainHash, chainStart } from '../src/db/journal.ts'
import type { LedgerCommit } from '../src/db/messages.ts'
import { openClient } from '../src/db/postgres/connection.ts'
import { openPostgresDb } from '../src/db/postgres/postgres-db.ts'
import { insertOwners, lockBatch, openLedgerClient } from '../src/db/postgres/ledger-rows.ts'
import { writeBatch } from '../src/db/postgres/write-batch.ts'
import { dropExpiredAnswers } from '../src/db/postgres/upkeep.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { fillTokensShared, rollUpShared } from '../src/usage/rollups/shared-rollup.ts'
import { openStoresBy, type TestStore } from '../src/db/store.fixture.ts'

const needs = { node: 'one', epoch: 1, holds: [], ending: [], credits: [], claims: [], keptAfter: 0 }
const nothingHeld = { held_nanos: 0n, day_held_nanos: 0n, month_held_nanos: 0n, past: '[]' }

/** A store over a database of its own, whose commits are those of one node. */
async function openStore(server: PostgresServer, t: TestContext): Promise<TestStore> {
  const url = await server.migratedDatabase()
  const db = openPostgresDb(url, 'test')
  const client = await openLedgerClient({ url, name: 'test ledger', statementMs: 20_000 })
  const roller = await openClient({ url, name: 'test roll-ups', statementMs: 20_000 })
  let rolling = Promise.resolve()
  const clock = setInterval(() => {
    rolling = rolling.then(async () => {
      await rollUpShared(roller)
      await fillTokensShared(roller)
      await dropExpiredAnswers(db, Date.now())
    })
  }, 500)
  t.after(async () => {
    clearInterval(clock)
    await rolling
    await Promise.all([db.close(), client.end(), roller.end()])
  })
  await client.query(`insert into nodes values ('one', 'one', '0', 1, 'running', 0, 0)`)
  let prev = chainStart
  return {
    db,
    async commit({ seq: number, at, journal: body, entries, owners, requests, kept = [] }: LedgerCommit) {
      const ids = owners.map(({ id }) => id)
      await insertOwners(client, ids)
      const { seq } = await lockBatch(client, { ...needs, owners: ids })
      const hash = chainHash(prev, body)
      await writeBatch(client, {
        seq,
        node: 'one',
        commit: { number, at, body, prev, hash },
        entries,
        owners: owners.map((row) => ({ ...row, ...nothingHeld })),
        requests,
        areRequestsKnown: false,
        kept,
        opened: [],
        changed: [],
        ended: [],
      })
      prev = hash
    },
  }
}

if (withoutPostgres === false) {
  const server = await startPostgres()
  after(() => server.remove())
  openStoresBy((t) => openStore(server, t))
  test('the database neither compiles a question nor starts workers for it, as servers do by themselves', async () => {
    const db = openPostgresDb(server.urlOf('postgres'), 'test')
    const settings = `select current_setting('jit') as jit, current_setting('max_parallel_workers_per_gather') as workers`
    const [found] = await db.report({ sql: settings, parameters: [] })
    await db.close()
    assert.deepEqual(found, { jit: 'off', workers: '0' })
  })
  await import('../src/db/db.test.ts')
  await import('../src/accounts/accounts.test.ts')
  await import('../src/accounts/keys.test.ts')
  await import('../src/accounts/key-list.test.ts')
  await import('../src/accounts/directory.test.ts')
  await import('../src/catalog/catalog.test.ts')
  await import('../src/health/incidents.test.ts')
  await import('../src/http/admin/app.test.ts')
  await import('../src/http/admin/catalog.test.ts')
  await import('../src/http/admin/keys.test.ts')
  await import('../src/http/admin/notices.test.ts')
  await import('../src/http/admin/reading.test.ts')
  await import('../src/http/admin/request-export.test.ts')
  await import('../src/http/admin/short-lists.test.ts')
  await import('../src/http/admin/vouchers.test.ts')
  await import('../src/http/v1/account.test.ts')
  await import('../src/ledger/programmes.test.ts')
  await import('../src/limits/attempts.test.ts')
  await import('../src/notices/notices.test.ts')
  await import('../src/notices/outbox.test.ts')
  await import('../src/server/tend-people.test.ts')
  await import('../src/usage/kept-answers.test.ts')
  await import('../src/usage/records.test.ts')
  await import('../src/usage/reports.test.ts')
  await import('../src/usage/statement.test.ts')
} else {
  test('the tests of the store over PostgreSQL', { skip: withoutPostgres }, () => undefined)
}
