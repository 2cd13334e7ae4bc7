/** A relay that has outgrown its file: everything it knows moves into PostgreSQL, and nothing is missing over there. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { openClient, runTexts } from '../src/db/postgres/connection.ts'
import { migratePostgres } from '../src/db/postgres/migrate.ts'
import { startPostgres, withoutPostgres, type PostgresServer } from '../src/db/postgres/postgres.fixture.ts'
import { question, type Account } from './support/server/account.ts'
import { openCluster } from './cluster.ts'
import { CommandLine } from './support/server/command-line.ts'
import { openHouse, type House, type KnownUpstream, type Verification } from './support/server/test-server.ts'
import { pausingAfter } from './support/upstream/fault-injection.ts'
import { startRelay } from './support/server/relay-process.ts'
import { saying, sayingMany } from './support/upstream/scripted-responses.ts'
import { killWaiting, strangerBegins, strangerWrites } from './support/server/blocking-session.ts'

interface MoveAnswer {
  readonly new: boolean
  readonly resumed: boolean
  readonly tables: { name: string; rows: number; sha256: string }[]
  readonly ledger: { ok: boolean; entries: number }
}

const skip = withoutPostgres
const toPostgres = ['move', '--from', 'sqlite', '--to', 'postgres']
const back = ['move', '--from', 'postgres', '--to', 'sqlite']
const program = fileURLToPath(new URL('../bin/sluice.js', import.meta.url))

let server: PostgresServer
if (skip === false) {
  server = await startPostgres()
  after(() => server.remove())
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const start = performance.now(); !(await holds()); await delay(10)) {
    assert.ok(performance.now() - start < 60_000, 'it did not come about')
  }
}

interface Lively {
  readonly house: House
  readonly upstream: KnownUpstream
  readonly ann: Account
  readonly bob: Account
}

const kept = { headers: { 'idempotency-key': 'once' } }

async function ask(account: Account, options = {}): Promise<string> {
  const reply = await account.post(question('family-a-small'), options)
  assert.equal(reply.status, 200)
  return reply.text()
}

/** Two people, money from several places, answers that are kept, limits, a price that has changed, thousands of rows. */
async function livelyHouse(t: TestContext, env: Record<string, string> = {}): Promise<Lively> {
  const house = await openHouse(t, { env })
  const upstream = await house.upstream(saying('Hello!', { input: 1000, output: 1000 }))
  await house.model('family-a-small', { upstreams: [upstream], limits: { rpm: 100_000 } })
  const ann = await house.account({
    balance: '9007199.254740993',
    name: 'Ann \u{1F9EE} 安',
  })
  await ann.change({ caps: { daily: '50' } })
  const bob = await house.account({ balance: '5', timezone: 'Asia/Shanghai' })
  for (let calls = 0; calls < 3; calls += 1) await ask(ann)
  await house.admin('PATCH', '/models/family-a-small', { prices: { input: '0.003', output: '0.003' } })
  await ask(ann, kept)
  await bob.post(question('no-such-model'))
  const order = { amount: '7.5', count: 2 }
  const { codes } = await house.admin<{ codes: string[] }>('POST', '/vouchers', order)
  await house.admin('POST', `/accounts/${bob.id}/vouchers`, { code: codes[0] })
  return { house, upstream, ann, bob }
}

/** What an operator sees of it all, as far as it does not tell of the moment. */
async function seenBy({ house, ann }: Lively): Promise<unknown> {
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
  return Promise.all(paths.map((path) => house.admin('GET', path)))
}

/** Reads a stream until this has come. What follows is of no interest, nor how it ends. */
async function comeTo(reply: Response, end: string): Promise<void> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = reply.body?.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes(end);) {
    const piece = await reader?.read()
    assert.ok(piece?.value, 'the stream has ended early')
    text += decoder.decode(piece.value, { stream: true })
  }
}

/** Rows of requests that were refused, behind those that are there. */
function fillRequests(house: House, count: number): number {
  const database = new DatabaseSync(join(house.dataDir, 'sluice.db'))
  const columns = database
    .prepare(`select name from pragma_table_info('requests') where name not in ('row_id', 'request_id')`)
    .all()
    .map((row) => String(row['name']))
  const other: Record<string, string> = { cost_nanos: '0', account_id: `'acc_filled'` }
  const cells = columns.map((name) => other[name] ?? name).join(', ')
  database.exec(`insert into requests (request_id, ${columns.join(', ')})
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < ${count})
    select 'req_filled_' || number, ${cells} from numbers, (select * from requests order by row_id limit 1)`)
  const [row] = database.prepare('select max(row_id) as last from requests').all()
  database.close()
  return Number(row?.['last'])
}

test(
  'a move that was killed half-way goes on where it stood, and the product over PostgreSQL knows every yuan, key and request',
  { skip },
  async (t) => {
    const lively = await livelyHouse(t)
    const { house, upstream, ann, bob } = lively
    const before = await seenBy(lively)
    const entriesBefore = (await house.verify()).entries
    const word = Promise.withResolvers<void>()
    upstream.next(pausingAfter(200, word.promise, sayingMany(400, { input: 10, output: 400 })))
    const cut = await bob.post(question('family-a-small', { stream: true }))
    await comeTo(cut, ' w150"')
    await house.kill()
    word.resolve()
    const last = fillRequests(house, 5000)

    const url = await server.database()
    const sluice = new CommandLine(house.dataDir, { DATABASE_URL: url })
    const alone = new CommandLine(house.dataDir)
    await migratePostgres(url)
    const stranger = await openClient({ url, name: 'stranger', statementMs: 60_000 })
    t.after(() => stranger.end())
    // One who writes the same row keeps the move waiting there until it is killed.
    await stranger.query(strangerWrites(last - 2000))
    const { PATH, HOME } = process.env
    const mover = spawn(process.execPath, [program, ...toPostgres], {
      env: { PATH, HOME, DATA_DIR: house.dataDir, DATABASE_URL: url },
      stdio: 'ignore',
    })
    const looking = await openClient({ url, name: 'looking', statementMs: 60_000 })
    t.after(() => looking.end())
    const rowsThere = async (): Promise<number> => {
      assert.equal(mover.exitCode, null)
      const [there = []] = await runTexts(looking, `select to_regclass('moving') is null as absent`)
      if (String(there[0]?.['absent']) === 'true') return 0
      const [rows = []] = await runTexts(looking, `select rows from moving where name = 'requests'`)
      return Number(rows[0]?.['rows'] ?? 0)
    }
    await until(async () => (await rowsThere()) >= 2000)
    assert.match(await sluice.failure(toPostgres), /in use by sluice move/)
    mover.kill('SIGKILL')
    await once(mover, 'exit')
    await stranger.query('rollback')

    assert.match(await sluice.failure(['serve']), /A move into this database is not finished/)
    assert.match(
      await alone.failure(['serve']),
      /is not finished: run `sluice move --from sqlite --to postgres`/,
    )
    const other = await server.database()
    const elsewhere = new CommandLine(house.dataDir, { DATABASE_URL: other })

    const moved = await sluice.json<MoveAnswer>(toPostgres)
    assert.partialDeepStrictEqual(moved, { new: true, resumed: true, ledger: { ok: true } })
    assert.equal(moved.tables.find(({ name }) => name === 'requests')?.rows, last + 1)
    assert.ok(moved.ledger.entries > entriesBefore, 'the stream that was cut off is charged')
    assert.partialDeepStrictEqual(await sluice.json<MoveAnswer>(toPostgres), { new: false })
    assert.match(await elsewhere.failure(toPostgres), /was moved at .* to another database than this one/)
    for (const words of [
      ['account', 'list'],
      ['backup', join(house.dataDir, 'backups', 'copy')],
    ])
      assert.match(await alone.failure(words), /was moved at .* to PostgreSQL: set DATABASE_URL/)

    await house.restart({ DATABASE_URL: url })
    assert.deepEqual(await seenBy(lively), before)
    const asked = upstream.requests.length
    await ask(ann, kept)
    assert.equal(upstream.requests.length, asked, 'an answer that is kept is still kept')
    const balance = await ann.balance()
    await ask(ann)
    assert.equal(balance, '9007199.236740993')
    assert.equal(await ann.balance(), '9007199.230740993')
    const [newest] = await ann.requests()
    assert.partialDeepStrictEqual(newest, { cost: '0.006', outcome: 'ok' })
    const verdict = await house.verify()
    assert.partialDeepStrictEqual(verdict, { ok: true, drift: '0', entries: moved.ledger.entries + 1 })
    assert.partialDeepStrictEqual(await sluice.json<Verification>(['verify']), { ok: true })
    await house.nothingHeld()
  },
)

test(
  'a move that was killed while the schema was made keeps both sides closed, and goes on when it is asked for again',
  { skip },
  async (t) => {
    const house = await openHouse(t)
    const ann = await house.account({ balance: '5' })
    await house.stop()
    const url = await server.database()
    const sluice = new CommandLine(house.dataDir, { DATABASE_URL: url })
    const alone = new CommandLine(house.dataDir)
    // Whoever makes a table of the same name waits.
    const text = `${strangerBegins} create table requests (name text)`
    await killWaiting(t, { url, dataDir: house.dataDir, words: toPostgres, text })
    assert.match(await sluice.failure(['serve']), /A move into this database is not finished/)
    assert.match(
      await alone.failure(['serve']),
      /is not finished: run `sluice move --from sqlite --to postgres`/,
    )
    const moved = await sluice.json<MoveAnswer>(toPostgres)
    assert.partialDeepStrictEqual(moved, { new: true, resumed: true, ledger: { ok: true } })
    await house.restart({ DATABASE_URL: url })
    assert.equal(await ann.balance(), '5')
    await house.nothingHeld()
  },
)

test(
  'a node that was stopped moves back into a file, and neither side is started by mistake',
  { skip },
  async (t) => {
    const url = await server.migratedDatabase()
    const lively = await livelyHouse(t, { DATABASE_URL: url })
    const { house, ann } = lively
    const before = await seenBy(lively)
    const { entries } = await house.verify()
    const sluice = new CommandLine(house.dataDir, { DATABASE_URL: url })
    const alone = new CommandLine(house.dataDir)
    assert.match(await sluice.failure(back), /in use by sluice serve/)
    await house.kill()
    assert.match(
      await sluice.failure(back),
      /Node node_\w+ runs, or was not stopped cleanly: .*start and stop it once more/,
    )
    await house.restart()
    await house.stop()
    const moved = await sluice.json<MoveAnswer>(back)
    assert.partialDeepStrictEqual(moved, { new: true, resumed: false, ledger: { ok: true, entries } })
    assert.partialDeepStrictEqual(await sluice.json<MoveAnswer>(back), { new: false })
    // As if it had been killed just before the file got its place.
    await rename(join(house.dataDir, 'sluice.db'), join(house.dataDir, 'moving.db'))
    assert.partialDeepStrictEqual(await sluice.json<MoveAnswer>(back), { new: true, resumed: true })
    for (const words of [['serve'], ['backup', join(house.dataDir, 'backups', 'copy')]])
      assert.match(await sluice.failure(words), /was moved at .* to a DATA_DIR: start without DATABASE_URL/)
    assert.partialDeepStrictEqual(await alone.json<Verification>(['verify']), { ok: true, entries })

    const relay = await startRelay({ dataDir: house.dataDir, port: house.relay.port })
    t.after(() => relay.stop())
    house.relay = relay
    assert.deepEqual(await seenBy(lively), before)
    await ask(ann)
    assert.equal(await ann.balance(), '9007199.230740993')
    await house.nothingHeld()
  },
)

test(
  'a node that stood still, was given up, and comes back after everything was moved away ends and says where it is now',
  { skip },
  async (t) => {
    const { house, nodes, url } = await openCluster(t, 2)
    const frozen = nodes[1]
    assert.ok(frozen)
    frozen.signal('SIGSTOP')
    const { data } = await house.admin<{ data: { id: string }[] }>('GET', '/nodes')
    const replies = await Promise.all(
      data.map(({ id }) => house.relay.adminReply('POST', `/nodes/${id}/retire`)),
    )
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200, 409]))
    await house.stop()
    const sluice = new CommandLine(house.dataDir, { DATABASE_URL: url })
    assert.partialDeepStrictEqual(await sluice.json<MoveAnswer>(back), { new: true, ledger: { ok: true } })
    frozen.signal('SIGCONT')
    assert.equal((await frozen.exited).code, 1)
    assert.match(frozen.lines.join('\n'), /was moved at .* to a DATA_DIR: start without DATABASE_URL/)
  },
)
