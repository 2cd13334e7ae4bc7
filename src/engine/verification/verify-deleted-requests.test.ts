import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deleteRequestsStep } from '../../db/retention/delete-requests.ts'
import { openReader, openWriter } from '../../db/sqlite/connection.ts'
import { StoreWriter } from '../../db/sqlite/store-writer.ts'
import { maintenanceSteps } from '../../usage/rollups/rollup.ts'
import { noRows } from './row-sums.ts'
import { LedgerReplay } from './replay.ts'
import { copyLedger, tamper, verifyFile, startMonitor } from './served-ledger.fixture.ts'

/** Deletes the oldest request rows, of which every second one has a bill. */
function drop(path: string, rows: number): void {
  const connection = openWriter(path)
  const writer = new StoreWriter(connection, maintenanceSteps)
  while (writer.rollUp());
  assert.equal(deleteRequestsStep(connection, Date.now(), rows), rows)
  connection.close()
}

describe('verify with deleted request rows', () => {
  test('deleted request rows – the ledger stays consistent, with the same report', async (t) => {
    const path = await copyLedger(t)
    for (const rows of [1, 12, 1, 20]) {
      drop(path, rows)
      const report = await verifyFile(path)
      assert.deepEqual(report, { ok: true, entries: 21, drift: 0n, openHolds: 0, overrun: 0n, findings: [] })
    }
    const until = await startMonitor(t, path)
    assert.equal((await until(() => true)).ok, true)
    drop(path, 3)
    assert.equal((await until(() => true)).ok, true)
  })

  for (const [name, { statement, finding }] of Object.entries({
    'a remaining row removed': {
      statement: `delete from requests where request_id = 'req_18'`,
      finding: /request req_18 has no row for its 28 nanos/,
    },
    'a remaining row made cheaper': {
      statement: `update requests set cost_nanos = 1 where request_id = 'req_18'`,
      finding: /request req_18 was billed 28 nanos, its row has 1/,
    },
    'a row removed and counted as deleted for its age': {
      statement: `delete from requests where request_id = 'req_18';
      update dropped_bills set bills = bills + 1, cost_nanos = cost_nanos + 28`,
      finding: /request req_18 has no row/,
    },
    'deleted rows recorded with a lower cost': {
      statement: 'update dropped_bills set cost_nanos = cost_nanos - 5',
      finding: /with deleted ones, have 20 bills of \d+ nanos, but the journal has 20 of \d+/,
    },
    'rows recorded as deleted that never existed': {
      statement: 'update dropped_bills set bills = 100',
      finding: /with deleted ones, have 112 bills of \d+ nanos, but the journal has 20 of/,
    },
  })) {
    test(`deleted request rows – verify finds ${name}`, async (t) => {
      const path = await copyLedger(t)
      drop(path, 16)
      tamper(path, statement)
      const report = await verifyFile(path)
      assert.equal(report.ok, false)
      assert.match(report.findings.join('\n'), finding)
    })
  }

  test('monitor – starts with the sums of deleted rows, and finds a missing amount', async (t) => {
    const path = await copyLedger(t)
    drop(path, 16)
    tamper(path, 'update dropped_bills set cost_nanos = cost_nanos - 5')
    const until = await startMonitor(t, path)
    const report = await until(({ ok }) => !ok)
    assert.equal(report.drift, 5n)
  })

  test('rows without order – as many pending bills are skipped as rows were deleted', async (t) => {
    const connection = openReader(await copyLedger(t))
    t.after(() => connection.close())
    const replay = new LedgerReplay({ deletesInOrder: false })
    const { rows } = connection.run({ sql: 'select seq, body from journal', parameters: [] })
    replay.apply({
      seqs: rows.map(({ seq }) => Number(seq)),
      bodies: rows.map(({ body }) => String(body)),
      holds: new Map(),
      rows: { entries: '[]', bills: '[]', deletedBills: 19 },
      broken: null,
      isLast: true,
    })
    const { findings } = replay.report({ totals: noRows, state: { owners: [], holds: null } })
    assert.deepEqual(
      findings.filter((finding) => finding.includes('has no row for')),
      ['request req_20 has no row for its 30 nanos'],
    )
  })
})
