import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { dropRequestsStep } from '../../db/drop-requests.ts'
import { migrate } from '../../db/sqlite/migrate.ts'
import { openWriter, type Connection } from '../../db/sqlite/connection.ts'
import { temporaryDir } from '../../db/store.fixture.ts'
import { entrySums, requestSums, type Snapshots } from './table-sums.ts'
import { inSnapshot } from '../verify-thread.ts'

const rows = 12_000
const costOf = (row: number): bigint => 1_000_000_000_001n + BigInt(row)

/** A database of more rows than one step reads, each with its entry, of three accounts. */
function filled(t: TestContext): Connection {
  const connection = openWriter(join(temporaryDir(t), 'some.db'))
  t.after(() => connection.close())
  migrate(connection.database)
  connection.database.exec(`begin;
    with recursive counter (n) as (select 1 union all select n + 1 from counter where n < ${rows})
    insert into requests (row_id, request_id, at, account_id, key_id, model, http_status, outcome, stream, prompt_tokens,
      cached_tokens, completion_tokens, reasoning_tokens, cost_nanos, duration_ms, attempts, hold_nanos)
    select n, 'req_' || n, n, 'acc_' || (n % 3), 'key', 'm', 200, 'ok', 0, 1, 0, 1, 0, ${costOf(0)} + n, 1, '[]', 0 from counter;
    insert into entries (id, seq, at, debit, credit, amount_nanos, kind, account_id)
    select row_id, row_id, at, 'account:' || account_id, 'operator:revenue', cost_nanos, 'charge', account_id from requests;
    insert into cursors values ('usage_hourly', ${rows});
    commit`)
  return connection
}

const expected = new Map(
  [0, 1, 2].map((account) => {
    const own = Array.from({ length: rows }, (_, index) => index + 1).filter((row) => row % 3 === account)
    return [`acc_${account}`, own.reduce((sum, row) => sum + costOf(row), 0n)]
  }),
)

/** Each moment that is read is followed by what happens then. */
function momentsOf(connection: Connection, then: (moment: number) => void): Snapshots {
  let moment = 0
  return async (read) => {
    const result = await inSnapshot(connection, read)
    then((moment += 1))
    return result
  }
}

test('entries of many steps add up by book and by account', async (t) => {
  const { books, charges } = await entrySums(
    momentsOf(filled(t), () => {}),
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
  test(`request rows add up to the same when the oldest ${dropped} are deleted between two steps`, async (t) => {
    const connection = filled(t)
    const drop = (moment: number): void => {
      if (moment !== 1) return
      connection.database.exec('begin')
      assert.equal(dropRequestsStep(connection, rows + 1, dropped), dropped)
      connection.database.exec('commit')
    }
    assert.deepEqual(await requestSums(momentsOf(connection, drop), rows), expected)
  })
}
