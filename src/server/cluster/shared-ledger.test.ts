/** The ledger of a node where the connection to the database breaks at the worst moments: around its commits. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { statementOf, type Db } from '../../db/db.ts'
import { openClient, runOn } from '../../db/postgres/connect.ts'
import { openPostgresDb } from '../../db/postgres/db.ts'
import { migratePostgres } from '../../db/postgres/migrate.ts'
import { joinCluster, openHoldsOf, retireNode } from '../../db/postgres/nodes.ts'
import { startPostgres, withoutPostgres } from '../../db/postgres/postgres.fixture.ts'
import { openSnapshots } from '../../db/postgres/snapshot.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { noCaps, stream, usageOf } from '../../ledger/ledger.fixture.ts'
import { requestRow } from '../request-row.ts'
import { openWay, type Fate } from './broken-way.fixture.ts'
import { SharedLedger } from './shared-ledger.ts'
import { ClusterReading } from './verify-cluster.ts'
import type { Credited, HoldWork } from './work.ts'

const skip = withoutPostgres
const dayEnd = 1_814_400_000_000
const at = dayEnd - 1000
const outcome = {
  httpStatus: 200,
  outcome: 'ok' as const,
  upstream: null,
  finish: 'stop',
  errorCode: null,
  firstTokenMs: null,
  durationMs: 1,
  attempts: '[]',
  upstreamCost: null,
  isClamped: false,
  stream: false,
  model: 'm',
}

async function openLedgerOf(t: TestContext, id: string, url: string, fateOf: () => Fate) {
  const db = openPostgresDb(url, 'test')
  const epoch = await joinCluster(db, { id, name: id, version: '0' })
  const told: string[] = []
  const ledger = new SharedLedger({
    url: await openWay(t, url, fateOf),
    node: id,
    epoch,
    now: () => at,
    keep: (work) => Promise.resolve(work.answer(0n)),
    forget: () => undefined,
    listener: {
      admitting: () => undefined,
      fenced: () => told.push('fenced'),
      broken: (error) => told.push(String(error)),
    },
  })
  t.after(async () => {
    await ledger.close()
    await db.close()
  })
  return { ledger, db, url, told }
}

async function openLedger(t: TestContext, fateOf: () => Fate) {
  const server = await startPostgres()
  const url = await server.database()
  await migratePostgres(url)
  const opened = await openLedgerOf(t, 'one', url, fateOf)
  t.after(() => server.remove())
  return opened
}

type Opened = Awaited<ReturnType<typeof openLedger>>

async function credit({ ledger }: Opened, amount: bigint): Promise<Credited> {
  const operation = { id: 'credit', at, account: 'one', amount, source: 'credit' as const, reason: 'a test' }
  for (;;) {
    const answer = await new Promise<Credited | null>((resolve) =>
      ledger.add({ kind: 'credit', operation, answer: resolve, isGivenUp: false }),
    )
    if (answer !== null) return answer
    await delay(20)
  }
}

function hold({ ledger }: Opened, id: string): Promise<Parameters<HoldWork['answer']>[0]> {
  const who = { id, at, account: 'one', key: 'key', model: 'm' }
  const operation = { ...stream, ...who, modelTokens: 100, caps: noCaps, dayEnd, monthEnd: dayEnd }
  return new Promise((answer) => ledger.add({ kind: 'hold', operation, answer, isGivenUp: false }))
}

function settle({ ledger }: Opened, id: string, tokens: number): Promise<bigint> {
  const ask = { id, usage: usageOf(0, tokens), cause: 'provider' as const, servedModel: null, outcome }
  const more = { kept: null, otherPrice: undefined, at, caps: noCaps, isKept: false }
  return new Promise((answer) => ledger.add({ kind: 'settle', ask, answer, ...more }))
}

function verdictOf(url: string): Promise<LedgerVerdict> {
  return openSnapshots(url).look((db) => new ClusterReading().follow(db))
}

test(
  'wherever the connection breaks around a commit, every charge is entered once, and nothing stays held',
  { skip },
  async (t) => {
    let commits = 0
    const fates: Fate[] = ['pass', 'lose', 'pass', 'do and lose', 'pass', 'pass']
    const opened = await openLedger(t, () => fates[commits++ % fates.length] ?? 'pass')
    await credit(opened, 1_000_000n)
    let charged = 0n
    for (let round = 0; round < 25; round += 1) {
      const calls = Array.from({ length: 8 }, async (_, index) => {
        const id = `req-${round}-${index}`
        const granted = await hold(opened, id)
        assert.ok(granted !== null && 'event' in granted, 'whoever waits for the next connection is served')
        await settle(opened, id, index + 1)
        charged += BigInt(index + 1)
      })
      await Promise.all(calls)
    }
    const isDrained = (): Promise<boolean> =>
      opened.ledger.drained().then(
        () => true,
        () => false,
      )
    while (!(await isDrained())) await delay(10)
    assert.deepEqual(opened.told, [])
    assert.equal(charged, 25n * 36n)
    assert.ok(commits > 30, `${commits} commits`)
    const [owner] = await opened.db.all<{ balance_nanos: bigint; held_nanos: bigint }>({
      sql: `select balance_nanos, held_nanos from owners where id = 'a:one'`,
      parameters: [],
    })
    assert.deepEqual([owner?.balance_nanos, owner?.held_nanos], [1_000_000n - charged, 0n])
    assert.deepEqual(await openHoldsOf(opened.db, 'one'), [])
    assert.deepEqual((await verdictOf(opened.url)).findings, [])
  },
)

test('asked for a second time, what a node has done changes nothing', { skip }, async (t) => {
  const opened = await openLedger(t, () => 'pass')
  await credit(opened, 1_000_000n)
  const ids = Array.from({ length: 20 }, (_, index) => `req-${index}`)
  await Promise.all(ids.map((id) => hold(opened, id)))
  const first = await Promise.all(ids.map((id) => settle(opened, id, 5)))
  assert.ok(first.every((charge) => charge === 5n))
  const before = await verdictOf(opened.url)
  assert.equal((await credit(opened, 1_000_000n)).kind, 'known')
  const second = await Promise.all(ids.map((id) => settle(opened, id, 5)))
  assert.ok(second.every((charge) => charge === 0n))
  assert.deepEqual(await verdictOf(opened.url), before)
  assert.equal(before.ok, true)
})

test(
  'a request that has a row already keeps it, odd characters are kept as they came, and the ledger goes on',
  { skip },
  async (t) => {
    const opened = await openLedger(t, () => 'pass')
    await credit(opened, 1_000_000n)
    const odd = 'a\\b\tc\nd\re"f\'g{h},i\\N€😀'
    const refused = { id: 'req-1', at, account: 'one', key: odd, amount: 0n, priceVersion: 0 }
    opened.ledger.add({ kind: 'row', row: requestRow(refused, { ...outcome, model: `${odd}\0` }, null) })
    await opened.ledger.drained()
    for (const id of ['req-1', 'req-2']) {
      await hold(opened, id)
      assert.equal(await settle(opened, id, 5), 5n)
    }
    const rows = await opened.db.all<{ request_id: string; key_id: string; model: string }>({
      sql: 'select request_id, key_id, model from requests order by row_id',
      parameters: [],
    })
    assert.deepEqual(rows, [
      { request_id: 'req-1', key_id: odd, model: `${odd}\uFFFD` },
      { request_id: 'req-2', key_id: 'key', model: 'm' },
    ])
    assert.deepEqual(opened.told, [])
    assert.deepEqual(await openHoldsOf(opened.db, 'one'), [])
  },
)

test('nothing of a node that was given up is taken any more', { skip }, async (t) => {
  const opened = await openLedger(t, () => 'pass')
  await credit(opened, 1_000_000n)
  await hold(opened, 'req-1')
  await retireNode(opened.db, 'one')
  assert.equal(await hold(opened, 'req-2'), null)
  assert.deepEqual(opened.told, ['fenced'])
  assert.equal((await openHoldsOf(opened.db, 'one')).length, 1)
})

/** Waits until the database says so of one of its connections. */
async function untilSome(db: Db, condition: string): Promise<void> {
  const sql = `select 1 from pg_stat_activity where ${condition}`
  while ((await db.all({ sql, parameters: [] })).length === 0) await delay(10)
}

test(
  'a node that stands still with rows locked keeps the others waiting, and none of their callers is sent away',
  { skip },
  async (t) => {
    let fate: Fate = 'pass'
    const opened = await openLedger(t, () => fate)
    await credit(opened, 1_000_000n)
    const other = await openLedgerOf(t, 'two', opened.url, () => 'pass')
    fate = 'stand still'
    const standing = hold(opened, 'req-1')
    await untilSome(opened.db, `application_name = 'sluice one ledger' and state = 'idle in transaction'`)
    const granted = await hold(other, 'req-2')
    assert.ok(granted !== null && 'event' in granted)
    fate = 'pass'
    const late = await standing
    assert.ok(late !== null && 'event' in late)
    assert.deepEqual([...opened.told, ...other.told], [])
    await Promise.all([settle(opened, 'req-1', 1), settle(other, 'req-2', 1)])
    assert.deepEqual((await verdictOf(opened.url)).findings, [])
  },
)

test(
  'a node that starts waits for what its earlier process is still committing, so that nothing of that stays held',
  { skip },
  async (t) => {
    const { db, url } = await openLedger(t, () => 'pass')
    const earlier = await openClient({ url, name: 'earlier', statementMs: 20_000 })
    t.after(() => earlier.end())
    await earlier.query(`begin; select 1 from nodes where id = 'one' and epoch = 1 for key share`)
    const joining = joinCluster(db, { id: 'one', name: 'one', version: '0' })
    await untilSome(db, `wait_event_type = 'Lock' and query like '%for update%'`)
    await earlier.query(`insert into holds (id, node, body) values ('req-1', 'one', '[]'); commit`)
    assert.equal(await joining, 2)
    assert.equal((await openHoldsOf(db, 'one')).length, 1)
  },
)

test('what was changed behind the nodes’ backs is found', { skip }, async (t) => {
  const opened = await openLedger(t, () => 'pass')
  await credit(opened, 1_000_000n)
  await hold(opened, 'req-1')
  await settle(opened, 'req-1', 5)
  await hold(opened, 'req-2')
  const unguarded = 'set local session_replication_role = replica'
  const tamperings = [
    `update owners set balance_nanos = balance_nanos + 1 where id = 'a:one'`,
    `update owners set held_nanos = held_nanos - 1 where id = 'a:one'`,
    `update holds set body = replace(body, 'req-2', 'req-3')`,
    'update requests set cost_nanos = cost_nanos + 1',
    `update entries set amount_nanos = amount_nanos + 1 where kind = 'charge'`,
    `insert into entries (seq, at, debit, credit, amount_nanos, kind) values (99, 0, 'x', 'y', 1, 'charge')`,
    `update journal set body = '[]' where number = 2`,
  ]
  const client = await openClient({ url: opened.url, name: 'tamper', statementMs: 5000 })
  t.after(() => client.end())

  const rowsOf = async <Row>(query: Parameters<typeof statementOf>[0]): Promise<Row[]> =>
    (await runOn(client, statementOf(query))).rows as Row[]
  const here: Db = {
    all: rowsOf,
    report: rowsOf,
    first: async <Row>(query: Parameters<typeof statementOf>[0]) => (await rowsOf<Row>(query))[0],
    write: () => Promise.reject(new Error('not here')),
  }
  for (const tampering of ['select 1', ...tamperings]) {
    await client.query(`begin; ${unguarded}; ${tampering}`)
    const { ok } = await new ClusterReading().follow(here)
    await client.query('rollback')
    assert.equal(ok, tampering === 'select 1', tampering)
  }
})
