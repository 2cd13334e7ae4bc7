// @suite all – outages of PostgreSQL
/** The ledger of a node whose database is unavailable or lost commits, or whose epoch is over. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinCluster, listOpenHolds, retireNode } from '../../db/postgres/nodes.ts'
import { postgresSkipReason } from '../../db/postgres/postgres.fixture.ts'
import type { CommitFault } from './faulty-connection.fixture.ts'
import { retiredWhy } from './ledger-errors.ts'
import {
  credit,
  expire,
  hold,
  openLedgerWithHold,
  openLedger,
  openNodeLedger,
  openOperator,
  rejoin,
  settle,
  waitUntilAdmitting,
  waitForConnection,
  verifyDatabase,
} from './shared-ledger.fixture.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const skip = postgresSkipReason

describe('DatabaseOutage', () => {
  test(
    'retired node – cannot commit until it rejoins, even if a batch of its old epoch waits',
    { skip },
    async (t) => {
      const node = await openLedgerWithHold(t)
      const operator = await openOperator(t, node)
      await operator.query(`begin; select 1 from owners where id = 'a:one' for update`)
      await retireNode(node.db, 'one')
      const pending = hold(node, 'req-2')
      await waitForConnection(node.db, `application_name = 'sluice one ledger' and wait_event_type = 'Lock'`)
      const epoch = await joinCluster(node.db, { id: 'one', name: 'one', version: '0' })
      const joined = node.ledger.rejoin(epoch)
      await operator.query('commit')
      await joined
      assert.equal(await pending, null)
      assert.deepEqual(node.events, [retiredWhy])
      assert.equal((await listOpenHolds(node.db, 'one')).length, 1)
      await waitUntilAdmitting(node.ledger)
      const granted = await hold(node, 'req-3')
      assert.ok(granted !== null && 'event' in granted)
    },
  )

  test(
    'settlement of a past epoch – is charged to its hold, however many operations are queued',
    { skip },
    async (t) => {
      const node = await openLedgerWithHold(t)
      await retireNode(node.db, 'one')
      const first = settle(node, 'unknown', 1)
      const bill = settle(node, 'req-1', 10)
      await waitUntil(() => node.events.length > 0)
      // More than one batch takes, before and after it.
      const others = Array.from({ length: 1200 }, (_, index) => settle(node, `unknown-${index}`, 1))
      const ended = rejoin(node).then(() => expire(node, 'req-1'))
      await Promise.all([first, bill, ...others, ended])
      await node.ledger.drain()
      assert.deepEqual(node.events, [retiredWhy])
      assert.deepEqual(await listOpenHolds(node.db, 'one'), [])
      assert.deepEqual((await verifyDatabase(node.url)).findings, [])
    },
  )

  test('database that lost confirmed commits – is detected, and the node rejoins', { skip }, async (t) => {
    const node = await openLedgerWithHold(t)
    const operator = await openOperator(t, node)
    const tables = ['journal', 'entries', 'owners', 'holds', 'requests']
    // The state of a standby that lags behind.
    for (const table of tables) await operator.query(`create table behind_${table} as table ${table}`)
    await hold(node, 'req-2')
    await settle(node, 'req-1', 5)
    await operator.query(`begin; set local session_replication_role = replica;
      ${tables.map((table) => `delete from ${table}; insert into ${table} table behind_${table}`).join(';')};
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice one ledger';
      commit`)
    // This database does not know the hold.
    const charged = settle(node, 'req-2', 50)
    await waitUntil(() => node.events.some((why) => why.includes('without commits that it had confirmed')))
    await rejoin(node)
    assert.equal(await charged, 0n)
    for (const { id } of await listOpenHolds(node.db, 'one')) await expire(node, id)
    const granted = await hold(node, 'req-3')
    assert.ok(granted !== null && 'event' in granted)
    assert.equal(await settle(node, 'req-3', 7), 7n)
    const { findings, openHolds } = await verifyDatabase(node.url)
    assert.deepEqual([findings, openHolds], [[], 0])
  })

  test(
    'stalled node with locked rows – delays other nodes without rejecting their callers',
    { skip },
    async (t) => {
      let fault: CommitFault = 'pass'
      const node = await openLedger(t, () => fault)
      await credit(node, 1_000_000n)
      const other = await openNodeLedger(t, 'two', node.url, { nextFault: () => 'pass' })
      fault = 'stall'
      const stalled = hold(node, 'req-1')
      await waitForConnection(
        node.db,
        `application_name = 'sluice one ledger' and state = 'idle in transaction'`,
      )
      const granted = await hold(other, 'req-2')
      assert.ok(granted !== null && 'event' in granted)
      fault = 'pass'
      const late = await stalled
      assert.ok(late !== null && 'event' in late)
      assert.deepEqual([...node.events, ...other.events], [])
      await Promise.all([settle(node, 'req-1', 1), settle(other, 'req-2', 1)])
      assert.deepEqual((await verifyDatabase(node.url)).findings, [])
    },
  )

  test(
    'stalled or full database – rejects callers after the timeout; settlements wait',
    { skip },
    async (t) => {
      let nextFault = (): CommitFault => 'pass'
      const outageTimeoutMs = 2000
      // This node's own disk is full as well.
      const journal = { saveSettlement: () => undefined, remove: () => undefined }
      const node = await openLedgerWithHold(t, () => nextFault(), { outageTimeoutMs, journal })
      // The connection breaks, and the next one returns nothing.
      const faults: CommitFault[] = ['drop', 'stall']
      nextFault = () => faults.shift() ?? 'pass'
      assert.equal(await hold(node, 'req-2'), null)
      await waitUntilAdmitting(node.ledger)
      const operator = await openOperator(t, node)
      await operator.query(`create function full_disk() returns trigger language plpgsql
      as $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$;
      create trigger full_disk before insert on journal for each row execute function full_disk()`)
      assert.equal(await hold(node, 'req-3'), null)
      await waitUntilAdmitting(node.ledger)
      const requestedAt = performance.now()
      assert.equal(await hold(node, 'req-4'), null)
      assert.ok(performance.now() - requestedAt < outageTimeoutMs, 'it had to wait again')
      const charged = settle(node, 'req-1', 5)
      await operator.query('drop trigger full_disk on journal')
      assert.equal(await charged, 5n)
      assert.deepEqual(node.events, [])
      assert.deepEqual(await listOpenHolds(node.db, 'one'), [])
      assert.deepEqual((await verifyDatabase(node.url)).findings, [])
    },
  )
})
