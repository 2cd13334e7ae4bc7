// @backend postgres – starts its own cluster
// @suite all – many commands and restarts
/** Backup of a running cluster, and restore into SQLite and PostgreSQL. */

import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test, type TestContext } from 'node:test'

import { openClient } from '../../src/db/postgres/connection.ts'
import { migratePostgres } from '../../src/db/postgres/migrate.ts'
import { postgresSkipReason, type PostgresServer } from '../../src/db/postgres/postgres.fixture.ts'
import { Account, chatRequest } from '../support/server/account.ts'
import { isLeader, sharedPostgres } from '../support/server/cluster.ts'
import { CommandLine } from '../support/server/command-line.ts'
import { TestServer, startTestServer, type Verification } from '../support/server/test-server.ts'
import { pauseAfter } from '../support/upstream/fault-injection.ts'
import { startRelay } from '../support/server/relay-process.ts'
import { respondWith, respondWithDeltas } from '../support/upstream/scripted-responses.ts'
import { killWhileBlocked, beginSql, insertRequestSql } from '../support/server/blocking-session.ts'
import { waitUntil } from '../support/wait.ts'

interface Backup {
  readonly path: string
  readonly accounts: number
  readonly entries: number
  readonly sealed_by: string
}

const skip = postgresSkipReason

let postgres: PostgresServer
if (skip === false) postgres = await sharedPostgres()

async function createFolder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

async function sendRequest(account: Account): Promise<number> {
  const response = await account.post(chatRequest('family-a-small'))
  await response.arrayBuffer()
  return response.status
}

/** Makes a backup over HTTP and returns its final state. */
async function makeBackup(server: TestServer): Promise<string> {
  const { id } = await server.admin<{ id: string }>('POST', '/backups')
  return waitUntil(async () => {
    const { state } = await server.admin<{ state: string }>('GET', `/backups/${id}`)
    return state !== 'making' && state
  }, 'the end of the backup')
}

async function startPopulatedNode(t: TestContext, env: Record<string, string>) {
  const server = await startTestServer(t, { env })
  const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }))
  await server.model('family-a-small', { upstreams: [upstream] })
  const account = await server.account({ balance: '1' })
  for (let calls = 0; calls < 3; calls += 1) assert.equal(await sendRequest(account), 200)
  return { server, upstream, account }
}

/** Starts a relay on restored data, and checks a credential and the charge of a request. */
async function assertServes(
  t: TestContext,
  dataDir: string,
  env: Record<string, string>,
  account: Account,
): Promise<void> {
  const relay = await startRelay({ dataDir, env })
  t.after(() => relay.stop())
  const restored = new Account(new TestServer(relay, { env }), account.id)
  restored.key = account.key
  const { data } = await relay.admin<{ data: { id: string }[] }>('GET', '/upstreams')
  const testCall = await relay.admin<object>('POST', `/upstreams/${data[0]?.id}/test`, {})
  assert.partialDeepStrictEqual(testCall, { ok: true })
  const before = Number(await restored.balance())
  assert.equal(await sendRequest(restored), 200)
  assert.equal(Math.round(1000 * (before - Number(await restored.balance()))), 4)
  const report = await relay.admin<Verification>('GET', '/ledger/verify')
  assert.partialDeepStrictEqual(report, { ok: true, drift: '0', open_holds: 0 })
}

/** Simulates the deletion of old rows by nodes: of two bills written together, deletes the second row. */
async function dropSecondRow(url: string): Promise<void> {
  const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
  await client.query(`with gone as (
      delete from requests where row_id = (select row_id from requests where cost_nanos > 0 order by row_id offset 1 limit 1)
      returning account_id, cost_nanos)
    insert into dropped_bills select account_id, 1, cost_nanos from gone`)
  await client.end()
}

describe('Cluster backups', () => {
  test(
    'Backup of a running node – restores into SQLite and PostgreSQL, also after an interruption',
    { skip },
    async (t) => {
      const url = await postgres.createDatabase()
      const { server, upstream, account } = await startPopulatedNode(t, { DATABASE_URL: url })
      const folder = await createFolder(t)
      const sluice = new CommandLine(server.dataDir, { DATABASE_URL: url })
      const resume = Promise.withResolvers<void>()
      upstream.next(pauseAfter(100, resume.promise, respondWithDeltas(200, { input: 10, output: 200 })))
      const stream = account.post(chatRequest('family-a-small', { stream: true }))
      const traffic = Array.from({ length: 10 }, () => sendRequest(account))
      await stream
      const backup = await sluice.json<Backup>(['backup', join(folder, 'copy')])
      assert.deepEqual(new Set(await Promise.all(traffic)), new Set([200]))
      resume.resolve()
      await (await stream).text()
      assert.equal(backup.sealed_by, 'key file')
      assert.deepEqual((await readdir(backup.path)).toSorted(), ['manifest.json', 'sealing.key', 'sluice.db'])
      assert.ok(backup.entries >= 4 && backup.entries <= 15, String(backup.entries))

      assert.equal(await makeBackup(server), 'whole')
      const alone = new CommandLine(join(folder, 'data'))
      await alone.output(['restore', backup.path])
      assert.partialDeepStrictEqual(await alone.json<Verification>(['verify']), {
        ok: true,
        entries: backup.entries,
        open_holds: 1,
      })
      await assertServes(t, join(folder, 'data'), {}, account)

      assert.match(await sluice.expectFailure(['restore', backup.path]), /in use by sluice serve/)
      const secondNode = new CommandLine(join(folder, 'node'), { DATABASE_URL: url })
      assert.match(
        await secondNode.expectFailure(['restore', backup.path]),
        /not empty \(.*Node node_\w+ runs on it\.$/,
      )
      assert.match(
        await secondNode.expectFailure(['restore', backup.path, '--force']),
        /a backup can only be restored to an empty database\.$/,
      )
      const empty = { DATABASE_URL: await postgres.createDatabase() }
      const other = new CommandLine(join(folder, 'node'), empty)
      const interruption = {
        url: empty.DATABASE_URL,
        dataDir: join(folder, 'node'),
        args: ['restore', backup.path],
      }
      await migratePostgres(interruption.url)
      const hangUpOptions = { args: ['backup', join(folder, 'hung up', 'copy')], signal: 'SIGHUP' } as const
      await killWhileBlocked(t, {
        ...interruption,
        ...hangUpOptions,
        blockingSql: `${beginSql} lock table invites`,
      })
      assert.deepEqual(await readdir(join(folder, 'hung up')), [])
      await killWhileBlocked(t, { ...interruption, blockingSql: insertRequestSql(1) })
      assert.match(await other.expectFailure(['serve']), /A move into this database is not finished/)
      const otherFolder = new CommandLine(join(folder, 'another folder'), empty)
      assert.match(
        await otherFolder.expectFailure(['restore', backup.path]),
        /The target is not empty: its content was moved.* empty database, or repeat the move or restore/,
      )
      assert.match(await other.expectFailure(['backup', join(folder, 'half')]), /is not finished/)
      await other.output(['restore', backup.path])
      assert.match(
        await other.expectFailure(['restore', backup.path]),
        /Set DATABASE_URL to an empty database\.$/,
      )
      // Of the running stream, the backup has at most its durable marks.
      const { entries } = await other.json<Verification>(['verify'])
      assert.ok(entries - backup.entries <= 1)
      await assertServes(t, join(folder, 'node'), empty, account)
      await server.assertNoOpenHolds()
    },
  )

  test(
    'Nodes with a shared BACKUP_DIR – only the leader makes backups, then its successor',
    { skip },
    async (t) => {
      const folder = await createFolder(t)
      const env = {
        DATABASE_URL: await postgres.createDatabase(),
        BACKUP_DIR: join(folder, 'backups'),
        BACKUP_EVERY: '1s',
        BACKUPS_KEPT: '2',
      }
      const { server } = await startPopulatedNode(t, env)
      const other = await startRelay({ dataDir: join(folder, 'other'), env })
      t.after(() => other.stop())
      const countBackups = (lines: readonly string[]): number =>
        lines.filter((line) => line.includes('backup completed')).length
      let hasOtherLed = false
      await waitUntil(async () => {
        // On a machine that pauses for as long as a lease, the other node may lead.
        hasOtherLed ||= await isLeader(other)
        return countBackups(server.log) >= 3
      })
      assert.ok(hasOtherLed || countBackups(other.lines) === 0, 'a node that does not lead made a backup')
      const { data } = await other.admin<{ data: { by: string; state: string }[] }>('GET', '/backups')
      assert.ok(data.some(({ by, state }) => by === 'schedule' && state === 'whole'))
      await server.assertNoOpenHolds()
      await server.stop()
      await waitUntil(() => countBackups(other.lines) >= 1)
      assert.ok(![...server.log, ...other.lines].some((line) => line.includes('backup failed')))
      assert.partialDeepStrictEqual(await other.admin<Verification>('GET', '/ledger/verify'), { ok: true })
    },
  )

  test('Rows deleted out of commit order – leave a backup with a valid ledger', { skip }, async (t) => {
    const url = await postgres.createDatabase()
    const env = { DATABASE_URL: url, ENCRYPTION_KEY: 'a passphrase that is long enough' }
    const { server } = await startPopulatedNode(t, env)
    await server.stop()
    await dropSecondRow(url)
    const folder = await createFolder(t)
    const sluice = new CommandLine(server.dataDir, env)
    assert.partialDeepStrictEqual(await sluice.json<Verification>(['verify']), { ok: true })
    const backup = await sluice.json<Backup>(['backup', join(folder, 'copy')])
    assert.equal(backup.sealed_by, 'ENCRYPTION_KEY')
    const copy = new DatabaseSync(join(backup.path, 'sluice.db'), { readOnly: true })
    assert.equal(copy.prepare('select bills from dropped_bills').get()?.['bills'], 2)
    copy.close()
    assert.match(await sluice.output(['restore', backup.path, '--check']), /its ledger is consistent/)
  })
})
