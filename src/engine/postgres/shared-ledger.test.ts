// @suite all – broken connections to PostgreSQL
/** The ledger of a node whose connection to the database breaks at the worst moments: around its commits. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileQuery, type Db } from '../../db/db.ts'
import { openClient, runStatement } from '../../db/postgres/connection.ts'
import { readAvailableUnderHolds, readOwnerRows } from '../../db/postgres/ledger-rows.ts'
import { joinCluster, listOpenHolds } from '../../db/postgres/nodes.ts'
import { postgresSkipReason } from '../../db/postgres/postgres.fixture.ts'
import { outcome } from '../../relay/request-outcome.fixture.ts'
import { requestRow } from '../../ledger/request-row.ts'
import type { CommitFault } from './faulty-connection.fixture.ts'
import {
  at,
  credit,
  hold,
  openLedger,
  openLedgerWithHold,
  openOperator,
  settle,
  waitForConnection,
  verifyDatabase,
} from './shared-ledger.fixture.ts'
import { postgresSource } from '../verification/postgres-source.ts'
import { verifyLedger } from '../verification/replay.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const skip = postgresSkipReason

describe('SharedLedger', () => {
  test(
    'connection that breaks around a commit – enters each charge once, and leaves no hold open',
    { skip },
    async (t) => {
      let commits = 0
      const faults: CommitFault[] = ['pass', 'drop', 'pass', 'commit and drop', 'pass', 'pass']
      const node = await openLedger(t, () => faults[commits++ % faults.length] ?? 'pass')
      await credit(node, 1_000_000n)
      let charged = 0n
      for (let round = 0; round < 25; round += 1) {
        const calls = Array.from({ length: 8 }, async (_, index) => {
          const id = `req-${round}-${index}`
          const granted = await hold(node, id)
          assert.ok(
            granted !== null && 'event' in granted,
            'a caller who waits for the next connection is served',
          )
          await settle(node, id, index + 1)
          charged += BigInt(index + 1)
        })
        await Promise.all(calls)
      }
      const isDrained = (): Promise<boolean> =>
        node.ledger.drain().then(
          () => true,
          () => false,
        )
      await waitUntil(isDrained, 'the ledger to drain')
      assert.deepEqual(node.events, [])
      assert.equal(charged, 25n * 36n)
      assert.ok(commits > 30, `${commits} commits`)
      const [owner] = await node.db.all<{ balance_nanos: bigint; held_nanos: bigint }>({
        sql: `select balance_nanos, held_nanos from owners where id = 'a:one'`,
        parameters: [],
      })
      assert.deepEqual([owner?.balance_nanos, owner?.held_nanos], [1_000_000n - charged, 0n])
      assert.deepEqual(await listOpenHolds(node.db, 'one'), [])
      assert.deepEqual((await verifyDatabase(node.url)).findings, [])
    },
  )

  test('accounts with open holds – have their balance less all that is held', { skip }, async (t) => {
    const node = await openLedgerWithHold(t)
    await hold(node, 'req-2')
    await credit(node, 1_000_000n, 'two')
    const [owner] = await readOwnerRows(node.db, ['a:one'])
    assert.ok(owner !== undefined && owner.held_nanos > 0n)
    assert.deepEqual(await readAvailableUnderHolds(node.db), [
      { account: 'one', available_nanos: owner.balance_nanos - owner.held_nanos },
    ])
  })

  test('repeated operation – changes nothing', { skip }, async (t) => {
    const node = await openLedger(t, () => 'pass')
    await credit(node, 1_000_000n)
    const ids = Array.from({ length: 20 }, (_, index) => `req-${index}`)
    await Promise.all(ids.map((id) => hold(node, id)))
    const first = await Promise.all(ids.map((id) => settle(node, id, 5)))
    assert.ok(first.every((charge) => charge === 5n))
    const before = await verifyDatabase(node.url)
    assert.equal((await credit(node, 1_000_000n)).kind, 'known')
    const second = await Promise.all(ids.map((id) => settle(node, id, 5)))
    assert.ok(second.every((charge) => charge === 0n))
    assert.deepEqual(await verifyDatabase(node.url), before)
    assert.equal(before.ok, true)
  })

  test(
    'request that already has a row – keeps it, and unusual characters are stored unchanged',
    { skip },
    async (t) => {
      const node = await openLedger(t, () => 'pass')
      await credit(node, 1_000_000n)
      const odd = 'a\\b\tc\nd\re"f\'g{h},i\\N€😀'
      const rejected = { id: 'req-1', at, account: 'one', key: odd, amount: 0n, priceVersion: 0 }
      node.ledger.addRequest(requestRow(rejected, { ...outcome, model: `${odd}\0` }, null))
      await node.ledger.drain()
      for (const id of ['req-1', 'req-2']) {
        await hold(node, id)
        const alsoRejected = requestRow(
          { ...rejected, id: `${id}-too` },
          { ...outcome, model: '\ud800' },
          null,
        )
        node.ledger.addRequest(alsoRejected)
        assert.equal(await settle(node, id, 5), 5n)
      }
      const rows = await node.db.all<{ request_id: string; key_id: string; model: string }>({
        sql: 'select request_id, key_id, model from requests order by request_id',
        parameters: [],
      })
      assert.deepEqual(rows, [
        { request_id: 'req-1', key_id: odd, model: `${odd}\uFFFD` },
        { request_id: 'req-1-too', key_id: odd, model: '\uFFFD' },
        { request_id: 'req-2', key_id: 'key', model: 'm' },
        { request_id: 'req-2-too', key_id: odd, model: '\uFFFD' },
      ])
      assert.deepEqual(node.events, [])
      assert.deepEqual(await listOpenHolds(node.db, 'one'), [])
    },
  )

  test(
    'start of a node – waits for a commit of its earlier process, and finds the holds of it',
    { skip },
    async (t) => {
      const { db, url } = await openLedger(t, () => 'pass')
      const earlier = await openClient({ url, name: 'earlier', statementMs: 20_000 })
      t.after(() => earlier.end())
      await earlier.query(`begin; select 1 from nodes where id = 'one' and epoch = 1 for key share`)
      const joining = joinCluster(db, { id: 'one', name: 'one', version: '0' })
      await waitForConnection(db, `wait_event_type = 'Lock' and query like '%for update%'`)
      await earlier.query(`insert into holds (id, node, body) values ('req-1', 'one', '[]'); commit`)
      assert.equal(await joining, 2)
      assert.equal((await listOpenHolds(db, 'one')).length, 1)
    },
  )

  test('verification – detects rows that were changed directly in the database', { skip }, async (t) => {
    const node = await openLedger(t, () => 'pass')
    await credit(node, 1_000_000n)
    await hold(node, 'req-1')
    await settle(node, 'req-1', 5)
    await hold(node, 'req-2')
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
    const client = await openOperator(t, node)

    const rowsOf = async <Row>(query: Parameters<typeof compileQuery>[0]): Promise<Row[]> =>
      (await runStatement(client, compileQuery(query))).rows as Row[]
    const here: Db = {
      all: rowsOf,
      report: rowsOf,
      first: async <Row>(query: Parameters<typeof compileQuery>[0]) => (await rowsOf<Row>(query))[0],
      write: () => Promise.reject(new Error('not used')),
    }
    for (const tampering of ['select 1', ...tamperings]) {
      await client.query(`begin; ${unguarded}; ${tampering}`)
      const { ok } = await verifyLedger(postgresSource, here)
      await client.query('rollback')
      assert.equal(ok, tampering === 'select 1', tampering)
    }
  })
})
