import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { rollUpSql, rollUpStep } from './rollup.ts'
import { createLedgerCommit, createRequestRow, createTemporaryDir } from '../../db/store.fixture.ts'
import { openWriter, type Connection } from '../../db/sqlite/connection.ts'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { packCommit } from '../../db/sqlite/packed-commit.ts'
import { StoreWriter } from '../../db/sqlite/store-writer.ts'
import type { RequestRow } from '../../db/ledger-commit.ts'
import { latencyBucketsMs } from './traffic-rollup.ts'

function openRolledUp(t: TestContext, rows: readonly RequestRow[]): Connection {
  const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  migrateSqlite(connection.database)
  connection.run({
    sql: `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
      values ('m', 1000, 0, 'x', 1, 0, 0)`,
    parameters: [],
  })
  const writer = new StoreWriter(connection)
  const commit = packCommit(createLedgerCommit(1, { requests: rows }))
  writer.runGroup([{ kind: 'commit', commit }])
  while (rollUpStep(connection, 2));
  return connection
}

function readRows(connection: Connection, sql: string): unknown[] {
  return connection.run({ sql, parameters: [] }).rows.map((row) => Object.values(row))
}

const hour = 3_600_000

describe('traffic roll-up', () => {
  test('traffic – is summed by hour and model, with unknown models as one', (t) => {
    const rejected = {
      at: 30,
      cost_nanos: 0n,
      prompt_tokens: 0,
      completion_tokens: 0,
      outcome: 'refused',
    } as const
    const connection = openRolledUp(t, [
      createRequestRow('req_1', { at: 10, model: 'm', cost_nanos: 5n, upstream_cost_nanos: 2n }),
      createRequestRow('req_2', { at: 20, model: 'm', cost_nanos: 7n, outcome: 'truncated' }),
      createRequestRow('req_3', { at: hour, model: 'm', cost_nanos: 1n }),
      createRequestRow('req_4', { ...rejected, model: 'a' }),
      createRequestRow('req_5', { ...rejected, model: 'b', count: 40 }),
    ])
    assert.deepEqual(readRows(connection, 'select * from traffic_hourly order by hour, model'), [
      [0, '', 41, 41, 0n, 0n, 0, 0, 0],
      [0, 'm', 2, 1, 12n, 2n, 200, 20, 1],
      [hour, 'm', 1, 0, 1n, 0n, 100, 10, 1],
    ])
  })

  test('latency – is a histogram per account and in total, of successful requests only', (t) => {
    const fields = { model: 'm', account_id: 'acc' }
    const connection = openRolledUp(t, [
      createRequestRow('req_1', { ...fields, duration_ms: 10, first_token_ms: 5 }),
      createRequestRow('req_2', { ...fields, duration_ms: 11 }),
      createRequestRow('req_3', { ...fields, duration_ms: 9_999_999 }),
      createRequestRow('req_4', { ...fields, duration_ms: 10, outcome: 'failed' }),
    ])
    const text = 'select measure, bucket, requests from latency_daily where account_id = '
    const expected = [
      ['duration', 0, 1],
      ['duration', 1, 1],
      ['duration', latencyBucketsMs.length, 1],
      ['first_token', 0, 1],
    ]
    assert.deepEqual(readRows(connection, `${text}'acc' order by 1, 2`), expected)
    assert.deepEqual(readRows(connection, `${text}'' order by 1, 2`), expected)
  })

  test('failures – are counted by cause and upstream, with the first, the last and a sample', (t) => {
    const failed = {
      model: 'm',
      outcome: 'failed',
      http_status: 503,
      error_code: 'upstream_unavailable',
    } as const
    const connection = openRolledUp(t, [
      createRequestRow('req_1', { ...failed, at: 10, fault: 'timeout', fault_upstream: 'ups_a' }),
      createRequestRow('req_2', { ...failed, at: 30, fault: 'timeout', fault_upstream: 'ups_a' }),
      createRequestRow('req_3', { ...failed, at: 20, fault: 'timeout', fault_upstream: 'ups_a' }),
      createRequestRow('req_4', {
        model: 'm',
        at: 40,
        outcome: 'refused',
        http_status: 402,
        error_code: 'insufficient_quota',
        count: 7940,
      }),
      createRequestRow('req_5', {
        model: 'm',
        at: 50,
        outcome: 'truncated',
        error_code: 'upstream_unavailable',
        upstream_id: 'ups_b',
      }),
      createRequestRow('req_6', { model: 'm', at: 60 }),
    ])
    const rows = readRows(connection, 'select * from failures_hourly order by last_at')
    assert.deepEqual(rows, [
      [0, 'timeout', 'ups_a', 'm', 503, 3, 10, 30, 'req_2'],
      [0, 'insufficient_quota', '', 'm', 402, 7940, 40, 40, 'req_4'],
      [0, 'truncated', 'ups_b', 'm', 200, 1, 50, 50, 'req_5'],
    ])
  })

  test('query plan – every roll-up finds its rows by row id, not by model', (t) => {
    const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
    t.after(() => connection.close())
    migrateSqlite(connection.database)
    for (const text of rollUpSql) {
      const { rows } = connection.run({ sql: `explain query plan ${text}`, parameters: [0, 1000] })
      const reads = rows.map(({ detail }) => String(detail)).filter((detail) => / requests\b/.test(detail))
      assert.deepEqual(reads, ['SEARCH requests USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)'], text)
    }
  })
})
