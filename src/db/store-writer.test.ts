import assert from 'node:assert/strict'
import { packedCommit } from './sqlite/packed-commit.ts'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Connection } from './sqlite/connection.ts'
import { migrate } from './sqlite/migrate.ts'
import { openWriter } from './sqlite/connection.ts'
import { ledgerCommit, requestRow, temporaryDir } from './store.fixture.ts'
import { failureOf } from './store-error.ts'
import { StoreWriter } from './sqlite/store-writer.ts'

function openedWriter(t: TestContext): { connection: Connection; writer: StoreWriter } {
  const connection = openWriter(join(temporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  migrate(connection.database)
  return { connection, writer: new StoreWriter(connection) }
}

function classesOf(outcomes: ReturnType<StoreWriter['runGroup']>): string[] {
  return outcomes.map((outcome) => ('failure' in outcome ? outcome.failure.class : 'done'))
}

/** Makes the file as large as it may get. */
function fill({ database }: Connection): void {
  const pages = Number(database.prepare('pragma page_count').get()?.['page_count'])
  database.exec(`pragma max_page_count = ${pages}`)
}

test('a full disk undoes the group, is told as full, and the same commits succeed once there is space', (t) => {
  const { connection, writer } = openedWriter(t)
  fill(connection)
  const large = (seq: number) => ({
    id: seq,
    kind: 'commit' as const,
    commit: packedCommit(ledgerCommit(seq, { journal: `["${'x'.repeat(50_000)}"]` })),
  })
  assert.deepEqual(classesOf(writer.runGroup([large(1), large(2)])), ['full', 'full'])
  assert.equal(writer.broken, undefined)
  connection.database.exec('pragma max_page_count = 1000000')
  assert.deepEqual(classesOf(writer.runGroup([large(1), large(2)])), ['done', 'done'])
  assert.equal(connection.database.prepare('select count(*) as n from journal').get()?.['n'], 2)
})

test('a commit that fails leaves no gap: those behind it fail alike, and batches beside it are written', (t) => {
  const { connection, writer } = openedWriter(t)
  const commit = (seq: number, request: string) => ({
    id: seq,
    kind: 'commit' as const,
    commit: packedCommit(ledgerCommit(seq, { requests: [requestRow(request)] })),
  })
  const write = {
    id: 9,
    kind: 'write' as const,
    statements: [{ sql: `insert into settings values ('a', 'b')`, parameters: [] }],
  }
  const outcomes = writer.runGroup([commit(1, 'req_1'), commit(2, 'req_1'), write, commit(3, 'req_3')])
  assert.deepEqual(classesOf(outcomes), ['done', 'conflict', 'done', 'conflict'])
  const seqs = connection.database
    .prepare('select seq from journal')
    .all()
    .map((row) => row['seq'])
  assert.deepEqual(seqs, [1])
})

test('a failing disk stops every further write', (t) => {
  const { connection, writer } = openedWriter(t)
  connection.database.enableDefensive(false)
  // A corrupted page is what a disk that cannot be trusted looks like from inside.
  connection.database.exec(
    `pragma writable_schema = on; update sqlite_schema set rootpage = 999999 where name = 'journal'`,
  )
  connection.database.exec('pragma writable_schema = reset')
  const failed = writer.runGroup([{ id: 1, kind: 'commit', commit: packedCommit(ledgerCommit(1)) }])
  assert.deepEqual(classesOf(failed), ['failed'])
  assert.notEqual(writer.broken, undefined)
  const write = {
    id: 2,
    kind: 'write' as const,
    statements: [{ sql: `insert into settings values ('a', 'b')`, parameters: [] }],
  }
  assert.deepEqual(classesOf(writer.runGroup([write])), ['failed'])
})

test('errors are told apart by what the process has to do about them', () => {
  const classOf = (errcode: number): string => failureOf(Object.assign(new Error('x'), { errcode })).class
  assert.deepEqual([13, 5, 4874].map(classOf), ['full', 'full', 'full'])
  assert.deepEqual([1034, 778, 11, 26, 8].map(classOf), ['failed', 'failed', 'failed', 'failed', 'failed'])
  assert.deepEqual([2067, 787].map(classOf), ['conflict', 'conflict'])
  assert.deepEqual([1].map(classOf), ['invalid'])
})

test('every request is rolled up exactly once, in steps, into its hour', (t) => {
  const { connection, writer } = openedWriter(t)
  const hour = 3_600_000
  const requests = Array.from({ length: 2500 }, (_, index) =>
    requestRow(`req_${index}`, {
      at: hour * (index % 2) + index,
      outcome: index % 10 === 0 ? 'failed' : 'ok',
      upstream_cost_nanos: index % 5 === 0 ? 7n : null,
    }),
  )
  writer.runGroup([{ id: 1, kind: 'commit', commit: packedCommit(ledgerCommit(1, { requests })) }])
  let steps = 0
  while (writer.rollUp()) steps += 1
  assert.equal(steps, 3)
  assert.equal(writer.rollUp(), false)
  writer.runGroup([
    {
      id: 2,
      kind: 'commit',
      commit: packedCommit(ledgerCommit(2, { requests: [requestRow('req_late', { at: 5 })] })),
    },
  ])
  assert.equal(writer.rollUp(), true)
  const { rows } = connection.run({ sql: 'select * from usage_hourly order by hour', parameters: [] })
  assert.deepEqual(
    rows.map((row) => [
      row['hour'],
      row['requests'],
      row['errors'],
      row['prompt_tokens'],
      row['cost_nanos'],
      row['upstream_cost_nanos'],
    ]),
    [
      [0, 1251, 250, 125_100, 220_000n * 1251n, 7n * 250n],
      [hour, 1250, 0, 125_000, 220_000n * 1250n, 7n * 250n],
    ],
  )
})
