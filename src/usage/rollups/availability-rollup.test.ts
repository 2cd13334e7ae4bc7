import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { migrations } from '../../db/migrations/migrations.ts'
import { rollUpStep } from './rollup.ts'
import { openWriter, type Connection } from '../../db/sqlite/connection.ts'
import { createRequestRow, createTemporaryDir } from '../../db/store.fixture.ts'
import { requestColumns } from '../../db/journal.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
const outcomes = [
  { fields: {}, counts: [1, 0, 0] },
  { fields: { outcome: 'truncated', error_code: 'upstream_unavailable' }, counts: [0, 1, 0] },
  { fields: { outcome: 'truncated', finish: 'tired' }, counts: [0, 0, 1] },
  { fields: { outcome: 'failed', http_status: 503 }, counts: [0, 1, 0] },
  { fields: { outcome: 'failed', http_status: 429 }, counts: [0, 1, 0] },
  { fields: { outcome: 'failed', http_status: 404 }, counts: [0, 1, 0] },
  { fields: { outcome: 'failed', http_status: 400 }, counts: [0, 0, 1] },
  { fields: { outcome: 'failed', http_status: 413 }, counts: [0, 0, 1] },
  { fields: { outcome: 'refused', http_status: 503, error_code: 'service_unavailable' }, counts: [0, 1, 0] },
  { fields: { outcome: 'refused', http_status: 503, count: 40 }, counts: [0, 40, 0] },
  { fields: { outcome: 'refused', http_status: 402, error_code: 'insufficient_quota' }, counts: [0, 0, 1] },
  { fields: { outcome: 'refused', http_status: 402, count: 40 }, counts: [0, 0, 40] },
  { fields: { outcome: 'refused', http_status: 429, error_code: 'rate_limit_exceeded' }, counts: [0, 0, 1] },
  { fields: { outcome: 'ended', error_code: 'insufficient_quota' }, counts: [0, 0, 1] },
  { fields: { outcome: 'ended', error_code: 'service_unavailable' }, counts: [0, 1, 0] },
  { fields: { outcome: 'aborted' }, counts: [0, 0, 1] },
  { fields: { outcome: 'aborted', http_status: 499, stream: 1, duration_ms: 29_999 }, counts: [0, 0, 1] },
  { fields: { outcome: 'aborted', http_status: 499, stream: 1, duration_ms: 30_000 }, counts: [0, 1, 0] },
] as const

function insertRow(connection: Connection, index: number, fields: object): void {
  const row: Record<string, unknown> = { ...createRequestRow(`req_${index}`), ...fields }
  const there = connection.run({ sql: `select name from pragma_table_info('requests')`, parameters: [] })
  const columns = requestColumns.filter((column) => there.rows.some(({ name }) => name === column))
  const marks = columns.map(() => '?').join(', ')
  const parameters = columns.map((column) => row[column] as string)
  connection.run({ sql: `insert into requests (${columns.join(', ')}) values (${marks})`, parameters })
}

function readCounts(connection: Connection, table: string): unknown {
  const { rows } = connection.run({ sql: `select * from ${table} order by 1, 2`, parameters: [] })
  return rows.map(({ model, minute, day, answered, failed, apart }) => ({
    model,
    start: minute ?? day,
    counts: [answered, failed, apart],
  }))
}

function addModel(connection: Connection, id: string): void {
  const text = `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
    values (?, 1000, 0, 'us', 1, 0, 0)`
  connection.run({ sql: text, parameters: [id] })
}

describe('availability roll-up', () => {
  test('outcomes – count in the minute and day of their end, and only for known models', (t) => {
    const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
    t.after(() => connection.close())
    migrateSqlite(connection.database)
    for (const [index, { fields }] of outcomes.entries()) {
      addModel(connection, `model-${String(index).padStart(2, '0')}`)
      insertRow(connection, index, {
        model: `model-${String(index).padStart(2, '0')}`,
        at: dayMs - 5,
        ...fields,
      })
    }
    insertRow(connection, 100, { model: 'made-up-by-a-caller', outcome: 'refused', http_status: 404 })
    insertRow(connection, 101, { model: '', at: 0, outcome: 'refused', http_status: 503, duration_ms: 0 })
    while (rollUpStep(connection, 4));
    const expected = (spanMs: number) => [
      { model: '', start: 0, counts: [0, 1, 0] },
      ...outcomes.map(({ fields, counts }, index) => {
        const end = dayMs - 5 + ('duration_ms' in fields ? fields.duration_ms : 12)
        const model = `model-${String(index).padStart(2, '0')}`
        return { model, start: end - (end % spanMs), counts: [...counts] }
      }),
    ]
    assert.deepEqual(readCounts(connection, 'availability_minutes'), expected(minuteMs))
    assert.deepEqual(readCounts(connection, 'availability_days'), expected(dayMs))
  })

  test('migration – counts the existing requests exactly once', (t) => {
    const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
    t.after(() => connection.close())
    const before = migrations.filter(({ name }) => name !== 'availability and incidents')
    const migration = migrations.find(({ name }) => name === 'availability and incidents')
    assert.ok(migration)
    migrateSqlite(
      connection.database,
      before.filter(({ version }) => version < migration.version),
    )
    addModel(connection, 'old')
    for (let index = 0; index < 10; index += 1) {
      insertRow(connection, index, {
        model: 'old',
        at: index,
        outcome: index % 5 === 0 ? 'failed' : 'ok',
        http_status: 503,
      })
    }
    const cursor = `insert into cursors (name, position) values ('usage_hourly', 6)`
    connection.run({ sql: cursor, parameters: [] })
    migrateSqlite(connection.database)
    while (rollUpStep(connection, 3));
    const all = [{ model: 'old', start: 0, counts: [8, 2, 0] }]
    assert.deepEqual(readCounts(connection, 'availability_minutes'), all)
    assert.deepEqual(readCounts(connection, 'availability_days'), all)
  })
})
