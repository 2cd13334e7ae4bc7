import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dropRequestsStep } from '../db/drop-requests.ts'
import { openReader, openWriter } from '../db/sqlite/connection.ts'
import { StoreWriter } from '../db/sqlite/store-writer.ts'
import { Recomputation } from '../ledger/verify.ts'
import { copied, tamper, verified, watching } from './verification/served-ledger.fixture.ts'
import { verifySwiftly } from './swift-verify.ts'

/** Deletes the oldest request rows: each second one has a bill. */
function drop(path: string, rows: number): void {
  const connection = openWriter(path)
  const writer = new StoreWriter(connection)
  while (writer.rollUp());
  assert.equal(dropRequestsStep(connection, Date.now(), rows), rows)
  connection.close()
}

test('the ledger holds when old request rows are gone, wherever they end, and is told in the same words', async (t) => {
  const path = await copied(t)
  for (const rows of [1, 12, 1, 20]) {
    drop(path, rows)
    const verdict = await verified(path)
    assert.deepEqual(verdict, { ok: true, entries: 21, drift: 0n, openHolds: 0, overrun: 0n, findings: [] })
    assert.deepEqual(await verifySwiftly(path), verdict)
  }
  const until = await watching(t, path)
  assert.equal((await until(() => true)).ok, true)
  drop(path, 3)
  assert.equal((await until(() => true)).ok, true)
})

for (const [name, { statement, finding }] of Object.entries({
  'a row removed of those that are left': {
    statement: `delete from requests where request_id = 'req_18'`,
    finding: /request req_18 has no row for its 28 nanos/,
  },
  'a row made cheaper of those that are left': {
    statement: `update requests set cost_nanos = 1 where request_id = 'req_18'`,
    finding: /request req_18 was billed 28 nanos, its row has 1/,
  },
  'a row removed and counted as deleted for its age': {
    statement: `delete from requests where request_id = 'req_18';
      update dropped_bills set bills = bills + 1, cost_nanos = cost_nanos + 28`,
    finding: /request req_18 has no row/,
  },
  'deleted rows said to have cost less': {
    statement: 'update dropped_bills set cost_nanos = cost_nanos - 5',
    finding:
      /request rows of 8 bills of \d+ nanos were deleted for their age, the journal has 8 of \d+ nanos/,
  },
  'rows said to be deleted that never were': {
    statement: 'update dropped_bills set bills = 100',
    finding: /the journal has 20 of/,
  },
})) {
  test(`verify finds, where old request rows are gone, ${name}`, async (t) => {
    const path = await copied(t)
    drop(path, 16)
    tamper(path, statement)
    assert.equal(await verifySwiftly(path), null)
    const verdict = await verified(path)
    assert.equal(verdict.ok, false)
    assert.match(verdict.findings.join('\n'), finding)
  })
}

test('the watch begins with the sums of deleted rows, and finds what they lack', async (t) => {
  const path = await copied(t)
  drop(path, 16)
  tamper(path, 'update dropped_bills set cost_nanos = cost_nanos - 5')
  const until = await watching(t, path)
  const verdict = await until(() => true)
  assert.deepEqual([verdict.ok, verdict.drift], [false, 5n])
})

test('where rows have no order, as many awaited ones are given up as were deleted, and no more', async (t) => {
  const connection = openReader(await copied(t))
  t.after(() => connection.close())
  const recomputation = new Recomputation()
  for (const { seq, body } of connection.run({ sql: 'select seq, body from journal', parameters: [] }).rows)
    recomputation.take({ seq: Number(seq), body: String(body), entries: [], holds: undefined })
  assert.equal(recomputation.awaited, 20)
  recomputation.forgoAwaited(19)
  recomputation.forgoAwaited(19)
  assert.equal(recomputation.awaited, 1)
  const { findings } = recomputation.verdict([])
  assert.deepEqual(
    findings.filter((finding) => finding.includes('has no row for')),
    ['request req_20 has no row for its 30 nanos'],
  )
})
