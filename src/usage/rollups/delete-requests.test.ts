import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { deleteRequestsStep } from '../../db/retention/delete-requests.ts'
import { createLedgerCommit, createRequestRow, createTemporaryDir } from '../../db/store.fixture.ts'
import { openWriter, type Connection } from '../../db/sqlite/connection.ts'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { packCommit } from '../../db/sqlite/packed-commit.ts'
import { StoreWriter } from '../../db/sqlite/store-writer.ts'
import { maintenanceSteps } from './rollup.ts'

/** Creates a store with request rows at these times, each with a cost of 3 nanos. */
function createStore(
  t: TestContext,
  times: readonly number[],
): { connection: Connection; writer: StoreWriter } {
  const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  migrateSqlite(connection.database)
  const writer = new StoreWriter(connection, maintenanceSteps)
  write(writer, 1, times)
  return { connection, writer }
}

function write(writer: StoreWriter, seq: number, times: readonly number[]): void {
  const requests = times.map((at) => createRequestRow(`req_${seq}_${at}`, { at, cost_nanos: 3n }))
  const [outcome] = writer.runGroup([
    { kind: 'commit', commit: packCommit(createLedgerCommit(seq, { requests })) },
  ])
  assert.deepEqual(outcome, { result: [] })
}

function readRows(connection: Connection, sql: string): unknown[] {
  return connection.run({ sql, parameters: [] }).rows.map((row) => Object.values(row))
}

const timesText = 'select at from requests order by row_id'

describe('deletion of request rows', () => {
  test('old rows – are deleted after the roll-ups counted them, and their bills are summed', (t) => {
    const { connection, writer } = createStore(t, [10, 20, 30, 40])
    assert.equal(writer.deleteRequests(35), 0)
    while (writer.rollUp());
    assert.equal(writer.deleteRequests(35), 3)
    assert.equal(writer.deleteRequests(35), 0)
    assert.deepEqual(readRows(connection, timesText), [[40]])
    assert.deepEqual(readRows(connection, 'select * from dropped_bills'), [['acc_one', 3, 9n]])
    assert.deepEqual(
      readRows(connection, 'select sum(requests), sum(cost_nanos) as c_nanos from usage_hourly'),
      [[4, 12n]],
    )
  })

  test('step – deletes at most the given number of rows, and none behind a younger one', (t) => {
    const { connection, writer } = createStore(t, [10, 11, 12, 90, 13, 14])
    while (writer.rollUp());
    assert.equal(deleteRequestsStep(connection, 50, 2), 2)
    assert.equal(deleteRequestsStep(connection, 50, 2), 1)
    assert.equal(deleteRequestsStep(connection, 50, 2), 0)
    assert.deepEqual(readRows(connection, timesText), [[90], [13], [14]])
  })

  test('last row – is kept, so that later rows get new ids and are counted', (t) => {
    const { connection, writer } = createStore(t, [10, 20])
    while (writer.rollUp());
    assert.equal(writer.deleteRequests(1000), 1)
    write(writer, 2, [30])
    assert.deepEqual(readRows(connection, 'select row_id from requests'), [[2], [3]])
    while (writer.rollUp());
    assert.deepEqual(readRows(connection, 'select sum(requests) from usage_hourly'), [[3]])
  })
})
