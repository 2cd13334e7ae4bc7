import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { dropRequestsStep } from './drop-requests.ts'
import { ledgerCommit, requestRow, temporaryDir } from './store.fixture.ts'
import { openWriter, type Connection } from './sqlite/connection.ts'
import { migrate } from './sqlite/migrate.ts'
import { packedCommit } from './sqlite/packed-commit.ts'
import { RequestRetention } from './request-retention.ts'
import { StoreWriter } from './sqlite/store-writer.ts'

/** A store with rows of these times, each of 3 nanos. */
function storeOf(t: TestContext, times: readonly number[]): { connection: Connection; writer: StoreWriter } {
  const connection = openWriter(join(temporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  migrate(connection.database)
  const writer = new StoreWriter(connection)
  write(writer, 1, times)
  return { connection, writer }
}

function write(writer: StoreWriter, seq: number, times: readonly number[]): void {
  const requests = times.map((at) => requestRow(`req_${seq}_${at}`, { at, cost_nanos: 3n }))
  const [outcome] = writer.runGroup([
    { id: seq, kind: 'commit', commit: packedCommit(ledgerCommit(seq, { requests })) },
  ])
  assert.deepEqual(outcome, { result: [] })
}

function rowsOf(connection: Connection, sql: string): unknown[] {
  return connection.run({ sql, parameters: [] }).rows.map((row) => Object.values(row))
}

const timesText = 'select at from requests order by row_id'

test('a row goes when it is too old and the roll-ups have counted it, and what it cost is added up', (t) => {
  const { connection, writer } = storeOf(t, [10, 20, 30, 40])
  assert.equal(writer.dropRequests(35), 0)
  while (writer.rollUp());
  assert.equal(writer.dropRequests(35), 3)
  assert.equal(writer.dropRequests(35), 0)
  assert.deepEqual(rowsOf(connection, timesText), [[40]])
  assert.deepEqual(rowsOf(connection, 'select * from dropped_bills'), [['acc_one', 3, 9n]])
  assert.deepEqual(rowsOf(connection, 'select sum(requests), sum(cost_nanos) as c_nanos from usage_hourly'), [
    [4, 12n],
  ])
})

test('a step deletes no more rows than it was given, and none behind one that is younger', (t) => {
  const { connection, writer } = storeOf(t, [10, 11, 12, 90, 13, 14])
  while (writer.rollUp());
  assert.equal(dropRequestsStep(connection, 50, 2), 2)
  assert.equal(dropRequestsStep(connection, 50, 2), 1)
  assert.equal(dropRequestsStep(connection, 50, 2), 0)
  assert.deepEqual(rowsOf(connection, timesText), [[90], [13], [14]])
})

test('the last row stays, so that the rows after it are numbered on and counted', (t) => {
  const { connection, writer } = storeOf(t, [10, 20])
  while (writer.rollUp());
  assert.equal(writer.dropRequests(1000), 1)
  write(writer, 2, [30])
  assert.deepEqual(rowsOf(connection, 'select row_id from requests'), [[2], [3]])
  while (writer.rollUp());
  assert.deepEqual(rowsOf(connection, 'select sum(requests) from usage_hourly'), [[3]])
})

test('rows are looked for until none is too old, then not for a while, and told of together', () => {
  const told: number[] = []
  const retention = new RequestRetention(1000, (requests) => told.push(requests))
  assert.ok(Math.abs(Date.now() - 1000 - (retention.before ?? 0)) < 500)
  for (const rows of [200, 100]) retention.note(rows)
  assert.notEqual(retention.before, null)
  retention.note(0)
  assert.equal(retention.before, null)
  assert.deepEqual(told, [300])
  retention.note(100_000)
  retention.note(0)
  assert.deepEqual(told, [300, 100_000])
  assert.equal(new RequestRetention(0, () => {}).before, null)
})
