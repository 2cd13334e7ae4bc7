import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Db } from '../../db/db.ts'
import { joinCluster, retireNode } from '../../db/postgres/nodes.ts'
import { postgresSkipReason as skip } from '../../db/postgres/postgres.fixture.ts'
import { noCaps, streamHold } from '../../ledger/ledger.fixture.ts'
import { dayEndOf, monthEndOf } from '../../ledger/periods.ts'
import type { Results } from '../../ledger/transaction.ts'
import {
  credit,
  hold,
  openLedger,
  openNodeLedger,
  setDatabaseClock,
  settle,
  verifyDatabase,
  type TestLedger,
} from './shared-ledger.fixture.ts'
import { waitUntil } from '../../../test/support/wait.ts'

const timezone = 'UTC'
const dayMs = 86_400_000
const present = Date.parse('2026-11-21T12:00:00Z')
type HoldReply = Results['hold'] | null

/** Requests a hold of at most 60 nanos, with a daily cap of 100. `at`: by the clock of the node. */
function holdAt({ ledger }: TestLedger, id: string, at: number): Promise<HoldReply> {
  const who = { id, at, account: 'one', key: 'key', model: 'm' }
  const periods = { dayEnd: dayEndOf(timezone, at), monthEnd: monthEndOf(timezone, at) }
  const size = { modelTokens: 60, requestedTokens: 60, mode: 'non-streaming' } as const
  const caps = { ...noCaps, accountDay: 100n, keyMonth: 1000n }
  const operation = { ...streamHold, ...size, ...who, ...periods, caps }
  return ledger.decide({ kind: 'hold', hold: operation, timezone })
}

/** How many output tokens a granted hold got. */
async function grantedTokens(node: TestLedger, id: string, at: number): Promise<number | null> {
  const granted = await holdAt(node, id, at)
  assert.ok(granted !== null && 'event' in granted)
  return granted.maximumTokens
}

/** A ledger whose account has spent 60 nanos of the present day's cap of 100, and a clock of its database. */
async function openSpentLedger(t: TestContext) {
  const node = await openLedger(t, () => 'pass')
  const setClock = (ms: number): Promise<void> => setDatabaseClock(node.db, ms)
  await setClock(present)
  await credit(node, 1_000_000n)
  await holdAt(node, 'before', present)
  await settle(node, 'before', 60)
  return { node, setClock }
}

async function assertCapReached(node: TestLedger): Promise<void> {
  const denied = await holdAt(node, 'over', present + 2)
  assert.deepEqual(denied, { kind: 'cap', cap: 'accountDay', resumesAt: dayEndOf(timezone, present) })
  assert.deepEqual((await verifyDatabase(node.url)).findings, [])
}

describe('a cluster whose clocks are wrong', () => {
  test(
    'database ahead and back – the daily cap counts what was spent in the present day',
    { skip },
    async (t) => {
      const { node, setClock } = await openSpentLedger(t)
      await setClock(present + 40 * dayMs)
      await holdAt(node, 'ahead', present + 40 * dayMs)
      await settle(node, 'ahead', 60)
      await setClock(present)
      assert.equal(await grantedTokens(node, 'after', present + 1), 40)
      await settle(node, 'after', 40)
      await assertCapReached(node)
      const owners = await node.db.all<{ id: string }>({
        sql: 'select id, day_spent_nanos, day_requests, month_spent_nanos from owners order by id',
        parameters: [],
      })
      const spent = { day_spent_nanos: 100n, day_requests: 2, month_spent_nanos: 100n }
      assert.deepEqual(owners, [
        { id: 'a:one', ...spent },
        { id: 'k:key', ...spent },
      ])
    },
  )

  test('database behind and back – the present day’s cap is not spent twice', { skip }, async (t) => {
    const { node, setClock } = await openSpentLedger(t)
    const behind = present - 2 * dayMs
    await setClock(behind)
    assert.equal(await grantedTokens(node, 'behind', behind), null, 'the cap of that day is not spent')
    await settle(node, 'behind', 60)
    await setClock(present)
    const other = await openNodeLedger(t, 'two', node.url, { nextFault: () => 'pass' })
    await setClock(present)
    assert.equal(await grantedTokens(other, 'after', present), 40)
    await settle(other, 'after', 40)
    await assertCapReached(node)
  })

  for (const days of [-40, -2, 2, 40]) {
    test(`node off by ${days} days – gets the database's time`, { skip }, async (t) => {
      const { node } = await openSpentLedger(t)
      const granted = await holdAt(node, 'wrong', present + days * dayMs)
      assert.ok(granted !== null && 'event' in granted && granted.event.kind === 'held')
      assert.deepEqual([granted.maximumTokens, granted.event.at], [40, present])
      assert.equal(granted.event.dayEnd, dayEndOf(timezone, present))
      await settle(node, 'wrong', 40)
      await assertCapReached(node)
    })
  }

  test('slow reading – delays only the owner whose spending is read', { skip }, async (t) => {
    const { node: first, setClock } = await openSpentLedger(t)
    const gate = Promise.withResolvers<void>()
    const { db } = first
    const slowDb: Pick<Db, 'all' | 'report' | 'write'> = {
      ...db,
      report: (query) => gate.promise.then(() => db.report(query)),
    }
    const node = await openNodeLedger(t, 'two', first.url, { nextFault: () => 'pass', db: slowDb })
    await setClock(present - 2 * dayMs)
    const behind = grantedTokens(node, 'behind', present)
    const alsoBehind = grantedTokens(node, 'also behind', present)
    await credit(node, 1_000_000n, 'two')
    const other = await hold(node, 'other', 'two')
    assert.ok(other !== null && 'event' in other)
    gate.resolve()
    assert.deepEqual(await Promise.all([behind, alsoBehind]), [null, 40])
    await settle(node, 'also behind', 1)
    await settle(node, 'behind', 60)
    await settle(node, 'other', 1)
    assert.deepEqual((await verifyDatabase(node.url)).findings, [])
  })

  test(
    'node of an older release – no event that it cannot read is written while it runs',
    { skip },
    async (t) => {
      const { node, setClock } = await openSpentLedger(t)
      await joinCluster(node.db, { id: 'old', name: 'old', version: '0.2.1' })
      await setClock(present - 2 * dayMs)
      assert.equal(await holdAt(node, 'behind', present), null)
      await waitUntil(() => node.events.length > 0)
      assert.match(node.events[0] ?? '', /releases before 0\.3\.0/)
      assert.equal(await holdAt(node, 'behind', present), null)
      await retireNode(node.db, 'old')
      await grantedTokens(node, 'behind', present)
      await settle(node, 'behind', 1)
      assert.equal(node.events.length, 1)
      assert.deepEqual((await verifyDatabase(node.url)).findings, [])
    },
  )
})
