// @backend sqlite – migrates between SQLite and PostgreSQL itself
// @suite all – needs PostgreSQL
/** Migration of all data from SQLite to PostgreSQL and back. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { openClient, runScript } from '../../../src/db/postgres/connection.ts'
import { migratePostgres } from '../../../src/db/postgres/migrate.ts'
import {
  startPostgres,
  postgresSkipReason,
  type PostgresServer,
} from '../../../src/db/postgres/postgres.fixture.ts'
import { writeInvalidText } from '../../../src/engine/invalid-text.fixture.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { CommandLine } from '../../support/server/command-line.ts'
import {
  startTestServer,
  type TestServer,
  type RegisteredUpstream,
  type Verification,
} from '../../support/server/test-server.ts'
import { pauseAfter } from '../../support/upstream/fault-injection.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { respondWith, respondWithDeltas } from '../../support/upstream/scripted-responses.ts'
import { insertRequestSql } from '../../support/server/blocking-session.ts'
import { waitUntil } from '../../support/wait.ts'

interface MigrationResult {
  readonly new: boolean
  readonly resumed: boolean
  readonly tables: { name: string; rows: number; sha256: string }[]
  readonly ledger: { ok: boolean; entries: number }
}

const skip = postgresSkipReason
const toPostgres = ['move', '--from', 'sqlite', '--to', 'postgres']
const toSqlite = ['move', '--from', 'postgres', '--to', 'sqlite']
const program = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))

let postgres: PostgresServer
if (skip === false) {
  postgres = await startPostgres()
  after(() => postgres.remove())
}

interface PopulatedServer {
  readonly server: TestServer
  readonly upstream: RegisteredUpstream
  readonly ann: Account
  readonly bob: Account
}

const idempotent = { headers: { 'idempotency-key': 'once' } }

async function sendRequest(account: Account, options = {}): Promise<string> {
  const response = await account.post(chatRequest('family-a-small'), options)
  assert.equal(response.status, 200)
  return response.text()
}

/** Two accounts, credits of several kinds, stored responses, limits, a changed price. */
async function startPopulatedServer(
  t: TestContext,
  env: Record<string, string> = {},
): Promise<PopulatedServer> {
  const server = await startTestServer(t, { env })
  const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
  await server.model('family-a-small', { upstreams: [upstream], limits: { rpm: 100_000 } })
  const ann = await server.account({
    balance: '9007199.254740993',
    name: 'Ann \u{1F9EE} 安',
  })
  await ann.change({ caps: { daily: '50' } })
  const bob = await server.account({ balance: '5', timezone: 'Asia/Shanghai' })
  for (let calls = 0; calls < 3; calls += 1) await sendRequest(ann)
  await server.admin('PATCH', '/models/family-a-small', { prices: { input: '0.003', output: '0.003' } })
  await sendRequest(ann, idempotent)
  await bob.post(chatRequest('no-such-model'))
  const order = { amount: '7.5', count: 2 }
  const { codes } = await server.admin<{ codes: string[] }>('POST', '/vouchers', order)
  await server.admin('POST', `/accounts/${bob.id}/vouchers`, { code: codes[0] })
  return { server, upstream, ann, bob }
}

/** What the admin API returns, as far as it does not depend on the time. */
async function readState({ server, ann }: PopulatedServer): Promise<unknown> {
  const paths = [
    `/accounts/${ann.id}`,
    `/accounts/${ann.id}/keys`,
    `/accounts/${ann.id}/entries`,
    '/models/family-a-small/prices',
    '/models',
    '/upstreams',
    `/requests?account=${ann.id}`,
    '/vouchers',
    '/audit',
    '/tiers',
  ]
  const state = await Promise.all(paths.map((path) => server.admin('GET', path)))
  // When a key was last used is written some time after its use.
  return JSON.parse(JSON.stringify(state, (name, value: unknown) => (name === 'last_used_at' ? null : value)))
}

/** Reads a stream until it contains this text; ignores the rest. */
async function readUntil(response: Response, end: string): Promise<void> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes(end);) {
    const chunk = await reader?.read()
    assert.ok(chunk?.value, 'the stream ended early')
    text += decoder.decode(chunk.value, { stream: true })
  }
}

/** Appends this many copies of a request row, with no cost. */
function fillRequests(server: TestServer, count: number): number {
  const database = new DatabaseSync(join(server.dataDir, 'sluice.db'))
  const columns = database
    .prepare(`select name from pragma_table_info('requests') where name not in ('row_id', 'request_id')`)
    .all()
    .map((row) => String(row['name']))
  const overrides: Record<string, string> = { cost_nanos: '0', account_id: `'acc_filled'` }
  const cells = columns.map((name) => overrides[name] ?? name).join(', ')
  database.exec(`insert into requests (request_id, ${columns.join(', ')})
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < ${count})
    select 'req_filled_' || number, ${cells} from numbers, (select * from requests order by row_id limit 1)`)
  const [row] = database.prepare('select max(row_id) as last from requests').all()
  database.close()
  return Number(row?.['last'])
}

describe('Store migration', () => {
  test(
    'Migration killed half-way – resumes and preserves every balance, key and request',
    { skip },
    async (t) => {
      const populated = await startPopulatedServer(t)
      const { server, upstream, ann, bob } = populated
      const before = await readState(populated)
      const entriesBefore = (await server.verify()).entries
      const resume = Promise.withResolvers<void>()
      upstream.next(pauseAfter(200, resume.promise, respondWithDeltas(400, { input: 10, output: 400 })))
      const interrupted = await bob.post(chatRequest('family-a-small', { stream: true }))
      await readUntil(interrupted, ' w150"')
      await server.kill()
      resume.resolve()
      const last = fillRequests(server, 5000)

      const url = await postgres.createDatabase()
      const sluice = new CommandLine(server.dataDir, { DATABASE_URL: url })
      const alone = new CommandLine(server.dataDir)
      await migratePostgres(url)
      const blocker = await openClient({ url, name: 'blocker', statementMs: 60_000 })
      t.after(() => blocker.end())
      // Another session inserts the same row, so that the migration waits until it is killed.
      await blocker.query(insertRequestSql(last - 2000))
      const { PATH, HOME } = process.env
      const migration = spawn(process.execPath, [program, ...toPostgres], {
        env: { PATH, HOME, DATA_DIR: server.dataDir, DATABASE_URL: url },
        stdio: 'ignore',
      })
      const observer = await openClient({ url, name: 'observer', statementMs: 60_000 })
      t.after(() => observer.end())
      const copiedRows = async (): Promise<number> => {
        assert.equal(migration.exitCode, null)
        const [tables = []] = await runScript(observer, `select to_regclass('moving') is null as absent`)
        if (String(tables[0]?.['absent']) === 'true') return 0
        const [rows = []] = await runScript(observer, `select rows from moving where name = 'requests'`)
        return Number(rows[0]?.['rows'] ?? 0)
      }
      await waitUntil(async () => (await copiedRows()) >= 2000)
      assert.match(await sluice.expectFailure(toPostgres), /in use by sluice move/)
      migration.kill('SIGKILL')
      await once(migration, 'exit')
      await blocker.query('rollback')

      assert.match(await sluice.expectFailure(['serve']), /A move into this database is not finished/)
      const other = await postgres.createDatabase()
      const otherDatabase = new CommandLine(server.dataDir, { DATABASE_URL: other })

      const result = await sluice.json<MigrationResult>(toPostgres)
      assert.partialDeepStrictEqual(result, { new: true, resumed: true, ledger: { ok: true } })
      assert.equal(result.tables.find(({ name }) => name === 'requests')?.rows, last + 1)
      assert.ok(result.ledger.entries > entriesBefore, 'the interrupted stream is charged')
      assert.partialDeepStrictEqual(await sluice.json<MigrationResult>(toPostgres), { new: false })
      assert.match(await otherDatabase.expectFailure(toPostgres), /was moved at .* to a different database/)
      for (const args of [
        ['account', 'list'],
        ['backup', join(server.dataDir, 'backups', 'copy')],
      ])
        assert.match(await alone.expectFailure(args), /was moved at .* to PostgreSQL: set DATABASE_URL/)

      await server.restart({ DATABASE_URL: url })
      assert.deepEqual(await readState(populated), before)
      const requestsBefore = upstream.requests.length
      await sendRequest(ann, idempotent)
      assert.equal(upstream.requests.length, requestsBefore, 'the stored response is kept')
      const balance = await ann.balance()
      await sendRequest(ann)
      assert.equal(balance, '9007199.236740993')
      assert.equal(await ann.balance(), '9007199.230740993')
      const [newest] = await ann.requests()
      assert.partialDeepStrictEqual(newest, { cost: '0.006', outcome: 'ok' })
      const report = await server.verify()
      assert.partialDeepStrictEqual(report, { ok: true, drift: '0', entries: result.ledger.entries + 1 })
      assert.partialDeepStrictEqual(await sluice.json<Verification>(['verify']), { ok: true })
      await server.assertNoOpenHolds()
    },
  )

  test(
    'Stopped node – migrates back to SQLite, and neither store is started by mistake',
    { skip },
    async (t) => {
      const url = await postgres.createMigratedDatabase()
      const populated = await startPopulatedServer(t, { DATABASE_URL: url })
      const { server, ann } = populated
      const before = await readState(populated)
      const { entries } = await server.verify()
      const sluice = new CommandLine(server.dataDir, { DATABASE_URL: url })
      const alone = new CommandLine(server.dataDir)
      assert.match(await sluice.expectFailure(toSqlite), /in use by sluice serve/)
      await server.kill()
      assert.match(
        await sluice.expectFailure(toSqlite),
        /Node node_\w+ runs, or was not stopped cleanly: .*start and stop it once more/,
      )
      await server.restart()
      await server.stop()
      const result = await sluice.json<MigrationResult>(toSqlite)
      assert.partialDeepStrictEqual(result, { new: true, resumed: false, ledger: { ok: true, entries } })
      assert.partialDeepStrictEqual(await sluice.json<MigrationResult>(toSqlite), { new: false })
      // The state just before the file is renamed to its final name.
      await rename(join(server.dataDir, 'sluice.db'), join(server.dataDir, 'moving.db'))
      assert.partialDeepStrictEqual(await sluice.json<MigrationResult>(toSqlite), {
        new: true,
        resumed: true,
      })
      for (const args of [['serve'], ['backup', join(server.dataDir, 'backups', 'copy')]])
        assert.match(
          await sluice.expectFailure(args),
          /was moved at .* to a DATA_DIR: start without DATABASE_URL/,
        )
      assert.partialDeepStrictEqual(await alone.json<Verification>(['verify']), { ok: true, entries })

      const relay = await startRelay({ dataDir: server.dataDir, port: server.relay.port })
      t.after(() => relay.stop())
      server.relay = relay
      assert.deepEqual(await readState(populated), before)
      await sendRequest(ann)
      assert.equal(await ann.balance(), '9007199.230740993')
      await server.assertNoOpenHolds()
    },
  )

  test('Ledger with U+0000 in a reason – moves once it is repaired', { skip }, async (t) => {
    const server = await startTestServer(t)
    const { id } = await server.account()
    const credit = { amount: '1', reason: 'REASON', idempotency_key: 'KEY' }
    await server.admin('POST', `/accounts/${id}/credits`, credit)
    await server.stop()
    await writeInvalidText(server, { REASON: 'thank\0you', KEY: '1\0' })
    const alone = new CommandLine(server.dataDir)
    await alone.output(['repair', '--apply'])
    const sluice = new CommandLine(server.dataDir, { DATABASE_URL: await postgres.createDatabase() })
    assert.partialDeepStrictEqual(await sluice.json<MigrationResult>(toPostgres), { ledger: { ok: true } })
    assert.match(await sluice.output(['verify']), /^ledger +consistent$/m)
  })
})
