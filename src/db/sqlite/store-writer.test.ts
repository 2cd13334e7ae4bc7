import assert from 'node:assert/strict'
import { packCommit } from './packed-commit.ts'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { Connection } from './connection.ts'
import { migrateSqlite } from './migrate.ts'
import { openWriter } from './connection.ts'
import { createLedgerCommit, createRequestRow, createTemporaryDir } from '../store.fixture.ts'
import { toStoreFailure } from '../store-error.ts'
import { StoreWriter } from './store-writer.ts'

function openTestWriter(t: TestContext): { connection: Connection; writer: StoreWriter } {
  const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  migrateSqlite(connection.database)
  return { connection, writer: new StoreWriter(connection) }
}

function outcomeClasses(outcomes: ReturnType<StoreWriter['runGroup']>): string[] {
  return outcomes.map((outcome) => ('failure' in outcome ? outcome.failure.class : 'done'))
}

/** Limits the file to its current size. */
function limitFileSize({ database }: Connection): void {
  const pages = Number(database.prepare('pragma page_count').get()?.['page_count'])
  database.exec(`pragma max_page_count = ${pages}`)
}

describe('StoreWriter', () => {
  test('full disk – rolls the group back with class full, and a retry succeeds once there is space', (t) => {
    const { connection, writer } = openTestWriter(t)
    limitFileSize(connection)
    const large = (seq: number) => ({
      kind: 'commit' as const,
      commit: packCommit(createLedgerCommit(seq, { journal: `["${'x'.repeat(50_000)}"]` })),
    })
    assert.deepEqual(outcomeClasses(writer.runGroup([large(1), large(2)])), ['full', 'full'])
    assert.equal(writer.failure, undefined)
    connection.database.exec('pragma max_page_count = 1000000')
    assert.deepEqual(outcomeClasses(writer.runGroup([large(1), large(2)])), ['done', 'done'])
    assert.equal(connection.database.prepare('select count(*) as n from journal').get()?.['n'], 2)
  })

  test('failed commit – fails all later commits, so that no gap arises, but not other batches', (t) => {
    const { connection, writer } = openTestWriter(t)
    const commit = (seq: number, request: string) => ({
      kind: 'commit' as const,
      commit: packCommit(createLedgerCommit(seq, { requests: [createRequestRow(request)] })),
    })
    const write = {
      kind: 'write' as const,
      statements: [{ sql: `insert into settings values ('a', 'b')`, parameters: [] }],
    }
    const outcomes = writer.runGroup([commit(1, 'req_1'), commit(2, 'req_1'), write, commit(3, 'req_3')])
    assert.deepEqual(outcomeClasses(outcomes), ['done', 'conflict', 'done', 'conflict'])
    const seqs = connection.database
      .prepare('select seq from journal')
      .all()
      .map((row) => row['seq'])
    assert.deepEqual(seqs, [1])
  })

  test('failing disk – stops all further writes', (t) => {
    const { connection, writer } = openTestWriter(t)
    connection.database.enableDefensive(false)
    // A corrupted page simulates a failing disk.
    connection.database.exec(
      `pragma writable_schema = on; update sqlite_schema set rootpage = 999999 where name = 'journal'`,
    )
    connection.database.exec('pragma writable_schema = reset')
    const failed = writer.runGroup([{ kind: 'commit', commit: packCommit(createLedgerCommit(1)) }])
    assert.deepEqual(outcomeClasses(failed), ['failed'])
    assert.notEqual(writer.failure, undefined)
    const write = {
      kind: 'write' as const,
      statements: [{ sql: `insert into settings values ('a', 'b')`, parameters: [] }],
    }
    assert.deepEqual(outcomeClasses(writer.runGroup([write])), ['failed'])
  })

  test('error classes – follow from the SQLite result codes', () => {
    const classOf = (errcode: number): string =>
      toStoreFailure(Object.assign(new Error('x'), { errcode })).class
    assert.deepEqual([13, 5, 4874].map(classOf), ['full', 'full', 'full'])
    assert.deepEqual([1034, 778, 11, 26, 8].map(classOf), ['failed', 'failed', 'failed', 'failed', 'failed'])
    assert.deepEqual([2067, 787].map(classOf), ['conflict', 'conflict'])
    assert.deepEqual([1].map(classOf), ['invalid'])
  })
})
