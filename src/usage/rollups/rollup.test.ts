import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openWriter } from '../../db/sqlite/connection.ts'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { packCommit } from '../../db/sqlite/packed-commit.ts'
import { StoreWriter } from '../../db/sqlite/store-writer.ts'
import { createLedgerCommit, createRequestRow, createTemporaryDir } from '../../db/store.fixture.ts'
import { maintenanceSteps } from './rollup.ts'

describe('usage roll-up', () => {
  test('requests – are counted exactly once, in steps, in their hour', (t) => {
    const connection = openWriter(join(createTemporaryDir(t), 'some.db'))
    t.after(() => connection.close())
    migrateSqlite(connection.database)
    const writer = new StoreWriter(connection, maintenanceSteps)
    const hour = 3_600_000
    const requests = Array.from({ length: 2500 }, (_, index) =>
      createRequestRow(`req_${index}`, {
        at: hour * (index % 2) + index,
        outcome: index % 10 === 0 ? 'failed' : 'ok',
        upstream_cost_nanos: index % 5 === 0 ? 7n : null,
      }),
    )
    writer.runGroup([{ kind: 'commit', commit: packCommit(createLedgerCommit(1, { requests })) }])
    let steps = 0
    while (writer.rollUp()) steps += 1
    assert.equal(steps, 3)
    assert.equal(writer.rollUp(), false)
    writer.runGroup([
      {
        kind: 'commit',
        commit: packCommit(createLedgerCommit(2, { requests: [createRequestRow('req_late', { at: 5 })] })),
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
        row['unpriced_requests'],
      ]),
      [
        [0, 1251, 250, 125_100, 220_000n * 1251n, 7n * 250n, 1001],
        [hour, 1250, 0, 125_000, 220_000n * 1250n, 7n * 250n, 1000],
      ],
    )
  })
})
