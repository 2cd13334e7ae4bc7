/** What a cluster has to remember: copied while its node works, and put back into either kind of store. */

import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { openClient } from '../src/db/postgres/connection.ts'
import { migratePostgres } from '../src/db/postgres/migrate.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { Account, question } from './support/server/account.ts'
import { leads, until } from './cluster.ts'
import { CommandLine } from './support/server/command-line.ts'
import { House, openHouse, type Verification } from './support/server/test-server.ts'
import { pausingAfter } from './support/upstream/fault-injection.ts'
import { startRelay } from './support/server/relay-process.ts'
import { saying, sayingMany } from './support/upstream/scripted-responses.ts'
import { killWaiting, strangerBegins, strangerWrites } from './support/server/blocking-session.ts'

interface Backup {
  readonly path: string
  readonly accounts: number
  readonly entries: number
  readonly sealed_by: string
}

const skip = withoutPostgres

let server: PostgresServer
if (skip === false) {
  server = await startPostgres()
  after(() => server.remove())
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

async function ask(account: Account): Promise<number> {
  const reply = await account.post(question('family-a-small'))
  await reply.arrayBuffer()
  return reply.status
}

/** Asks the node for a backup, and tells how that has ended. */
async function madeOverHttp(house: House): Promise<string> {
  const { id } = await house.admin<{ id: string }>('POST', '/backups')
  for (const start = performance.now(); performance.now() - start < 60_000; await delay(25)) {
    const { state } = await house.admin<{ state: string }>('GET', `/backups/${id}`)
    if (state !== 'making') return state
  }
  throw new Error('the backup did not end')
}

async function livelyNode(t: TestContext, env: Record<string, string>) {
  const house = await openHouse(t, { env })
  const upstream = await house.upstream(saying('Hi!', { input: 1000, output: 1000 }))
  await house.model('family-a-small', { upstreams: [upstream] })
  const account = await house.account({ balance: '1' })
  for (let calls = 0; calls < 3; calls += 1) assert.equal(await ask(account), 200)
  return { house, upstream, account }
}

/** Starts it on what was put back: its credentials open, and a request is charged. */
async function proveServing(
  t: TestContext,
  dataDir: string,
  env: Record<string, string>,
  account: Account,
): Promise<void> {
  const relay = await startRelay({ dataDir, env })
  t.after(() => relay.stop())
  const again = new Account(new House(relay, { env }), account.id)
  again.key = account.key
  const { data } = await relay.admin<{ data: { id: string }[] }>('GET', '/upstreams')
  const trial = await relay.admin<object>('POST', `/upstreams/${data[0]?.id}/test`, {})
  assert.partialDeepStrictEqual(trial, { ok: true })
  const before = Number(await again.balance())
  assert.equal(await ask(again), 200)
  assert.equal(Math.round(1000 * (before - Number(await again.balance()))), 4)
  const verdict = await relay.admin<Verification>('GET', '/ledger/verify')
  assert.partialDeepStrictEqual(verdict, { ok: true, drift: '0', open_holds: 0 })
}

test(
  'a backup of a node that works comes back into a directory as well as into an empty PostgreSQL, also when that was cut off',
  { skip },
  async (t) => {
    const url = await server.database()
    const { house, upstream, account } = await livelyNode(t, { DATABASE_URL: url })
    const place = await folder(t)
    const sluice = new CommandLine(house.dataDir, { DATABASE_URL: url })
    const word = Promise.withResolvers<void>()
    upstream.next(pausingAfter(100, word.promise, sayingMany(200, { input: 10, output: 200 })))
    const stream = account.post(question('family-a-small', { stream: true }))
    const traffic = Array.from({ length: 10 }, () => ask(account))
    await stream
    const backup = await sluice.json<Backup>(['backup', join(place, 'copy')])
    assert.deepEqual(new Set(await Promise.all(traffic)), new Set([200]))
    word.resolve()
    await (await stream).text()
    assert.equal(backup.sealed_by, 'key file')
    assert.deepEqual((await readdir(backup.path)).toSorted(), ['manifest.json', 'sealing.key', 'sluice.db'])
    assert.ok(backup.entries >= 4 && backup.entries <= 15, String(backup.entries))

    assert.equal(await madeOverHttp(house), 'whole')
    const alone = new CommandLine(join(place, 'data'))
    await alone.output(['restore', backup.path])
    assert.partialDeepStrictEqual(await alone.json<Verification>(['verify']), {
      ok: true,
      entries: backup.entries,
      open_holds: 1,
    })
    await proveServing(t, join(place, 'data'), {}, account)

    assert.match(await sluice.failure(['restore', backup.path]), /in use by sluice serve/)
    const beside = new CommandLine(join(place, 'node'), { DATABASE_URL: url })
    assert.match(await beside.failure(['restore', backup.path]), /not empty \(.*Node node_\w+ runs on it\.$/)
    assert.match(
      await beside.failure(['restore', backup.path, '--force']),
      /goes into an empty database\. Leave --force out\.$/,
    )
    const empty = { DATABASE_URL: await server.database() }
    const other = new CommandLine(join(place, 'node'), empty)
    const cut = { url: empty.DATABASE_URL, dataDir: join(place, 'node'), words: ['restore', backup.path] }
    await migratePostgres(cut.url)
    const hangUp = { words: ['backup', join(place, 'hung up', 'copy')], signal: 'SIGHUP' } as const
    await killWaiting(t, { ...cut, ...hangUp, text: `${strangerBegins} lock table invites` })
    assert.deepEqual(await readdir(join(place, 'hung up')), [])
    await killWaiting(t, { ...cut, text: strangerWrites(1) })
    assert.match(await other.failure(['serve']), /A move into this database is not finished/)
    const lost = new CommandLine(join(place, 'another folder'), empty)
    assert.match(
      await lost.failure(['restore', backup.path]),
      /The target is not empty: what is in it was moved.* empty database, or run the move or restore again/,
    )
    assert.match(await other.failure(['backup', join(place, 'half')]), /is not finished/)
    await other.output(['restore', backup.path])
    assert.match(await other.failure(['restore', backup.path]), /Let DATABASE_URL name an empty database\.$/)
    // Of the stream, which was under way, it has no more than the marks that were durable.
    const { entries } = await other.json<Verification>(['verify'])
    assert.ok(entries - backup.entries <= 1)
    await proveServing(t, join(place, 'node'), empty, account)
    await house.nothingHeld()
  },
)

test(
  'of nodes that share a folder only the one that leads makes backups by itself, and the next when it has ended',
  { skip },
  async (t) => {
    const place = await folder(t)
    const env = {
      DATABASE_URL: await server.database(),
      BACKUP_DIR: join(place, 'backups'),
      BACKUP_EVERY: '1s',
      BACKUPS_KEPT: '2',
    }
    const { house } = await livelyNode(t, env)
    const other = await startRelay({ dataDir: join(place, 'other'), env })
    t.after(() => other.stop())
    const made = (lines: readonly string[]): number =>
      lines.filter((line) => line.includes('a backup was made')).length
    let hasOtherLed = false
    await until(async () => {
      // On a machine that stands still for as long as a lease it may.
      hasOtherLed ||= await leads(other)
      return made(house.log) >= 3
    })
    assert.ok(hasOtherLed || made(other.lines) === 0, 'a node that does not lead has made a backup')
    const { data } = await other.admin<{ data: { by: string; state: string }[] }>('GET', '/backups')
    assert.ok(data.some(({ by, state }) => by === 'schedule' && state === 'whole'))
    await house.nothingHeld()
    await house.stop()
    await until(() => made(other.lines) >= 1)
    assert.ok(![...house.log, ...other.lines].some((line) => line.includes('no backup could be made')))
    assert.partialDeepStrictEqual(await other.admin<Verification>('GET', '/ledger/verify'), { ok: true })
  },
)

/** As if an hour of nodes had been deleted: of two bills that were written at once the second one's row. */
async function dropSecondRow(url: string): Promise<void> {
  const client = await openClient({ url, name: 'tests', statementMs: 20_000 })
  await client.query(`with gone as (
      delete from requests where row_id = (select row_id from requests where cost_nanos > 0 order by row_id offset 1 limit 1)
      returning account_id, cost_nanos)
    insert into dropped_bills select account_id, 1, cost_nanos from gone`)
  await client.end()
}

test(
  'rows that nodes have deleted in another order than that of their commits leave a backup whose ledger holds',
  { skip },
  async (t) => {
    const url = await server.database()
    const env = { DATABASE_URL: url, ENCRYPTION_KEY: 'a passphrase that is long enough' }
    const { house } = await livelyNode(t, env)
    await house.stop()
    await dropSecondRow(url)
    const place = await folder(t)
    const sluice = new CommandLine(house.dataDir, env)
    assert.partialDeepStrictEqual(await sluice.json<Verification>(['verify']), { ok: true })
    const backup = await sluice.json<Backup>(['backup', join(place, 'copy')])
    assert.equal(backup.sealed_by, 'ENCRYPTION_KEY')
    const copy = new DatabaseSync(join(backup.path, 'sluice.db'), { readOnly: true })
    assert.equal(copy.prepare('select bills from dropped_bills').get()?.['bills'], 2)
    copy.close()
    assert.match(await sluice.output(['restore', backup.path, '--check']), /its ledger holds/)
  },
)
