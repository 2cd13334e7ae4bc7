/** The ledger of a node where the connection to the database breaks at the worst moments: around its commits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { statementOf, type Db } from '../../db/db.ts'
import { openClient, runOn } from '../../db/postgres/connection.ts'
import { joinCluster, openHoldsOf } from '../../db/postgres/nodes.ts'
import { withoutPostgres } from '../../db/postgres/postgres.fixture.ts'
import { outcome } from '../../relay/request-outcome.fixture.ts'
import { requestRow } from '../ledger/request-row.ts'
import type { Fate } from './ledger/faulty-connection.fixture.ts'
import {
  at,
  credit,
  hold,
  openLedger,
  openOperator,
  settle,
  untilSome,
  verdictOf,
} from './shared-ledger.fixture.ts'
import { verifyCluster } from '../verification/verify-cluster.ts'

const skip = withoutPostgres

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
      const refusedToo = requestRow({ ...refused, id: `${id}-too` }, { ...outcome, model: '\ud800' }, null)
      opened.ledger.add({ kind: 'row', row: refusedToo })
      assert.equal(await settle(opened, id, 5), 5n)
    }
    const rows = await opened.db.all<{ request_id: string; key_id: string; model: string }>({
      sql: 'select request_id, key_id, model from requests order by request_id',
      parameters: [],
    })
    assert.deepEqual(rows, [
      { request_id: 'req-1', key_id: odd, model: `${odd}\uFFFD` },
      { request_id: 'req-1-too', key_id: odd, model: '\uFFFD' },
      { request_id: 'req-2', key_id: 'key', model: 'm' },
      { request_id: 'req-2-too', key_id: odd, model: '\uFFFD' },
    ])
    assert.deepEqual(opened.told, [])
    assert.deepEqual(await openHoldsOf(opened.db, 'one'), [])
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
  const client = await openOperator(t, opened)

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
    const { ok } = await verifyCluster(here)
    await client.query('rollback')
    assert.equal(ok, tampering === 'select 1', tampering)
  }
})
