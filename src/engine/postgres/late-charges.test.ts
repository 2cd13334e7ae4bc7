/** Bills that a node enters after it was retired and its holds were charged at their last marks. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { retireNode } from '../../db/postgres/nodes.ts'
import { postgresSkipReason as skip } from '../../db/postgres/postgres.fixture.ts'
import { noCaps } from '../../ledger/ledger.fixture.ts'
import type { Caps } from '../../ledger/caps.ts'
import {
  expire,
  openLedgerWithHold,
  openNodeLedger,
  rejoin,
  settle,
  verifyDatabase,
  type TestLedger,
} from './shared-ledger.fixture.ts'

/** A node that rejoined after its stream was charged five nanos at its mark; all nodes have these releases. */
async function openRetired(
  t: TestContext,
  caps: Caps,
  versions: readonly [string, string],
): Promise<TestLedger> {
  const node = await openLedgerWithHold(t, () => 'pass', { capsOf: () => caps })
  const other = await openNodeLedger(t, 'two', node.url, { nextFault: () => 'pass' })
  await node.db.write({ sql: 'update holds set mark_input = 1, mark_output = 4', parameters: [] })
  await retireNode(node.db, 'one')
  await expire(other, 'req-1')
  await rejoin(node)
  for (const [index, id] of ['one', 'two'].entries()) {
    const parameters = [versions[index] ?? '', id]
    await node.db.write({ sql: 'update nodes set version = ? where id = ?', parameters })
  }
  return node
}

async function entriesOf({ db }: TestLedger): Promise<[string, bigint][]> {
  const sql = `select kind, amount_nanos from entries where ref = 'req-1' order by id`
  const rows = await db.all<{ kind: string; amount_nanos: bigint }>({ sql, parameters: [] })
  return rows.map(({ kind, amount_nanos: amount }) => [kind, amount])
}

describe('Late bill of a retired node', () => {
  test('account with money – pays the difference once, and the ledger is consistent', { skip }, async (t) => {
    const node = await openRetired(t, noCaps, ['0.6.0', '0.6.1'])
    await settle(node, 'req-1', 50)
    await settle(node, 'req-1', 50)
    assert.deepEqual(await entriesOf(node), [
      ['charge', 5n],
      ['late', 45n],
    ])
    const sql = `select id, total_spent_nanos, day_spent_nanos from owners where id in ('a:one', 'k:key') order by id`
    const owners = await node.db.all({ sql, parameters: [] })
    assert.deepEqual(owners, [
      { id: 'a:one', total_spent_nanos: 50n, day_spent_nanos: 50n },
      { id: 'k:key', total_spent_nanos: 50n, day_spent_nanos: 50n },
    ])
    const { findings, overrun } = await verifyDatabase(node.url)
    assert.deepEqual([findings, overrun], [[], 0n])
  })

  test('cap of the key – bounds the charge, and the rest is overrun', { skip }, async (t) => {
    const node = await openRetired(t, { ...noCaps, keyTotal: 25n }, ['0.6.0', '0.6.0'])
    await settle(node, 'req-1', 50)
    assert.deepEqual(await entriesOf(node), [
      ['charge', 5n],
      ['late', 20n],
      ['overrun', 25n],
    ])
    const { findings, overrun } = await verifyDatabase(node.url)
    assert.deepEqual([findings, overrun], [[], 25n])
  })

  test('while a node of an earlier release runs – all of it is overrun', { skip }, async (t) => {
    const node = await openRetired(t, noCaps, ['0.6.0', '0.5.1'])
    await settle(node, 'req-1', 50)
    assert.deepEqual(await entriesOf(node), [
      ['charge', 5n],
      ['overrun', 45n],
    ])
    assert.deepEqual((await verifyDatabase(node.url)).findings, [])
  })
})
