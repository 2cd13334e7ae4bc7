import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { deleteRequestsStep } from '../../db/retention/delete-requests.ts'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { openWriter, type Connection } from '../../db/sqlite/connection.ts'
import { createTemporaryDir } from '../../db/store.fixture.ts'
import type { ReadSnapshot } from './ledger-source.ts'
import { sumEntries, sumRequestCosts } from './scrub.ts'
import { openSqliteSnapshots } from './sqlite-source.ts'

const rows = 12_000
const costOf = (row: number): bigint => 1_000_000_000_001n + BigInt(row)

/** A database with more rows than one step reads, each with its entry, of three accounts. */
function createFilledDatabase(t: TestContext): { connection: Connection; path: string } {
  const path = join(createTemporaryDir(t), 'some.db')
  const connection = openWriter(path)
  t.after(() => connection.close())
  migrateSqlite(connection.database)
  connection.database.exec(`begin;
    with recursive counter (n) as (select 1 union all select n + 1 from counter where n < ${rows})
    insert into requests (row_id, request_id, at, account_id, key_id, model, http_status, outcome, stream, prompt_tokens,
      cached_tokens, completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
    select n, 'req_' || n, n, 'acc_' || (n % 3), 'key', 'm', 200, 'ok', 0, 1, 0, 1, 0, ${costOf(0)} + n, 1, '[]', 0 from counter;
    insert into entries (id, seq, at, debit, credit, amount_nanos, kind, account_id)
    select row_id, row_id, at, 'account:' || account_id, 'operator:revenue', cost_nanos, 'charge', account_id from requests;
    insert into cursors values ('usage_hourly', ${rows});
    commit`)
  return { connection, path }
}

const expected = new Map(
  [0, 1, 2].map((account) => {
    const own = Array.from({ length: rows }, (_, index) => index + 1).filter((row) => row % 3 === account)
    return [`acc_${account}`, own.reduce((sum, row) => sum + costOf(row), 0n)]
  }),
)

/** Reads snapshots, and calls `afterSnapshot` after each. */
function snapshotsOf(t: TestContext, path: string, afterSnapshot: (count: number) => void): ReadSnapshot {
  let count = 0
  const snapshots = openSqliteSnapshots(path)
  t.after(() => snapshots.close())
  return async (read) => {
    const result = await snapshots.read(read)
    afterSnapshot((count += 1))
    return result
  }
}

describe('sums of a scrub', () => {
  test('entries of many steps – add up by book and by account', async (t) => {
    const { books, charges } = await sumEntries(
      snapshotsOf(t, createFilledDatabase(t).path, () => {}),
      rows,
    )
    assert.deepEqual(charges, expected)
    for (const [account, nanos] of expected) assert.equal(books.get(`account:${account}`), -nanos)
    assert.equal(
      books.values().reduce((sum, nanos) => sum + nanos, 0n),
      0n,
    )
  })

  for (const dropped of [0, 2000, 5000, 8000, 11_999]) {
    test(`request rows – add up to the same if the oldest ${dropped} are deleted between steps`, async (t) => {
      const { connection, path } = createFilledDatabase(t)
      const drop = (moment: number): void => {
        if (moment !== 1) return
        connection.database.exec('begin')
        assert.equal(deleteRequestsStep(connection, rows + 1, dropped), dropped)
        connection.database.exec('commit')
      }
      assert.deepEqual(await sumRequestCosts(snapshotsOf(t, path, drop), rows), expected)
    })
  }
})
