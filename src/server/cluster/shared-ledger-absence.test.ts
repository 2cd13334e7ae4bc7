/** The ledger of a node whose database, or whose place in the cluster, is not what it was. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { joinCluster, openHoldsOf, retireNode } from '../../db/postgres/nodes.ts'
import { withoutPostgres } from '../../db/postgres/postgres.fixture.ts'
import type { Fate } from './ledger/faulty-connection.fixture.ts'
import { fencedWhy } from './ledger-parts.ts'
import {
  credit,
  expire,
  hold,
  openHolding,
  openLedger,
  openLedgerOf,
  openOperator,
  rejoin,
  settle,
  untilAdmitting,
  untilSome,
  verdictOf,
} from './shared-ledger.fixture.ts'

const skip = withoutPostgres

test(
  'nothing of a node that was given up is taken any more; it goes on in another epoch, also where it joins while a batch of the old one waits',
  { skip },
  async (t) => {
    const opened = await openHolding(t)
    const operator = await openOperator(t, opened)
    await operator.query(`begin; select 1 from owners where id = 'a:one' for update`)
    await retireNode(opened.db, 'one')
    const refused = hold(opened, 'req-2')
    await untilSome(opened.db, `application_name = 'sluice one ledger' and wait_event_type = 'Lock'`)
    const epoch = await joinCluster(opened.db, { id: 'one', name: 'one', version: '0' })
    const joined = opened.ledger.rejoin(epoch)
    await operator.query('commit')
    await joined
    assert.equal(await refused, null)
    assert.deepEqual(opened.told, [fencedWhy])
    assert.equal((await openHoldsOf(opened.db, 'one')).length, 1)
    await untilAdmitting(opened.ledger)
    const granted = await hold(opened, 'req-3')
    assert.ok(granted !== null && 'event' in granted)
  },
)

test(
  'a bill of an epoch that is over finds its money, however many others wait before it',
  { skip },
  async (t) => {
    const opened = await openHolding(t)
    await retireNode(opened.db, 'one')
    const first = settle(opened, 'unknown', 1)
    const bill = settle(opened, 'req-1', 10)
    while (opened.told.length === 0) await delay(5)
    // More than one batch takes, before and after it.
    const others = Array.from({ length: 1200 }, (_, index) => settle(opened, `unknown-${index}`, 1))
    const ended = rejoin(opened).then(() => expire(opened, 'req-1'))
    await Promise.all([first, bill, ...others, ended])
    await opened.ledger.drained()
    assert.deepEqual(opened.told, [fencedWhy])
    assert.deepEqual(await openHoldsOf(opened.db, 'one'), [])
    assert.deepEqual((await verdictOf(opened.url)).findings, [])
  },
)

test(
  'a database that comes back without commits that it had confirmed is found out, and nothing is built on what they were',
  { skip },
  async (t) => {
    const opened = await openHolding(t)
    const operator = await openOperator(t, opened)
    const tables = ['journal', 'entries', 'owners', 'holds', 'requests']
    // What a standby has that is a little behind.
    for (const table of tables) await operator.query(`create table behind_${table} as table ${table}`)
    await hold(opened, 'req-2')
    await settle(opened, 'req-1', 5)
    await operator.query(`begin; set local session_replication_role = replica;
      ${tables.map((table) => `delete from ${table}; insert into ${table} table behind_${table}`).join(';')};
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice one ledger';
      commit`)
    // Granted by nobody, as far as this database knows.
    const charged = settle(opened, 'req-2', 50)
    while (!opened.told.some((why) => why.includes('without commits that it had confirmed'))) await delay(5)
    await rejoin(opened)
    assert.equal(await charged, 0n)
    for (const { id } of await openHoldsOf(opened.db, 'one')) await expire(opened, id)
    const granted = await hold(opened, 'req-3')
    assert.ok(granted !== null && 'event' in granted)
    assert.equal(await settle(opened, 'req-3', 7), 7n)
    const { findings, openHolds } = await verdictOf(opened.url)
    assert.deepEqual([findings, openHolds], [[], 0])
  },
)

test(
  'a node that stands still with rows locked keeps the others waiting, and none of their callers is sent away',
  { skip },
  async (t) => {
    let fate: Fate = 'pass'
    const opened = await openLedger(t, () => fate)
    await credit(opened, 1_000_000n)
    const other = await openLedgerOf(t, 'two', opened.url, { fateOf: () => 'pass' })
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
  'whoever waits for a database that stands still, or takes nothing, is sent away when patience is over; others then at once; settlements wait',
  { skip },
  async (t) => {
    let fateOf = (): Fate => 'pass'
    const patienceMs = 1000
    // This node's own disk is full as well.
    const keep = (): Promise<void> => Promise.reject(new Error('full'))
    const opened = await openHolding(t, () => fateOf(), { patienceMs, keep })
    // Its connection breaks, and over the next one nothing comes back.
    const fates: Fate[] = ['lose', 'stand still']
    fateOf = () => fates.shift() ?? 'pass'
    assert.equal(await hold(opened, 'req-2'), null)
    await untilAdmitting(opened.ledger)
    const operator = await openOperator(t, opened)
    await operator.query(`create function full_disk() returns trigger language plpgsql
      as $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$;
      create trigger full_disk before insert on journal for each row execute function full_disk()`)
    assert.equal(await hold(opened, 'req-3'), null)
    await untilAdmitting(opened.ledger)
    const askedAt = performance.now()
    assert.equal(await hold(opened, 'req-4'), null)
    assert.ok(performance.now() - askedAt < patienceMs, 'it had to wait again')
    const charged = settle(opened, 'req-1', 5)
    await operator.query('drop trigger full_disk on journal')
    assert.equal(await charged, 5n)
    assert.deepEqual(opened.told, [])
    assert.deepEqual(await openHoldsOf(opened.db, 'one'), [])
    assert.deepEqual((await verdictOf(opened.url)).findings, [])
  },
)
