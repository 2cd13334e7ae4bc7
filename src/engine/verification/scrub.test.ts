import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { deleteRequestsStep } from '../../db/retention/delete-requests.ts'
import { migrateSqlite } from '../../db/sqlite/migrate.ts'
import { openWriter, type Connection } from '../../db/sqlite/connection.ts'
import { createTemporaryDir } from '../../db/store.fixture.ts'
import type { ReadSnapshot } from './ledger-source.ts'
import { LedgerMonitor, scrubJournal, scrubSums, sumInSteps } from './ledger-monitor.ts'
import { compareAccounts, noRows, totalsOf, type RowGroup } from './row-sums.ts'
import { copyLedger, tamper } from './served-ledger.fixture.ts'
import { openSqliteSnapshots, sqliteSource } from './sqlite-source.ts'

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

const cost = expected.values().reduce((sum, nanos) => sum + nanos)

function nanosByAccount(groups: readonly RowGroup[]): Map<string, bigint> {
  const sorted = groups.toSorted((one, other) => one.account.localeCompare(other.account))
  return new Map(sorted.map(({ account, nanos }) => [account, nanos]))
}

/** Reads snapshots, and calls `afterSnapshot` after each. */
function snapshotsOf(t: TestContext, path: string, afterSnapshot: (count: number) => void): ReadSnapshot {
  let count = 0
  const snapshots = openSqliteSnapshots(path)
  t.after(() => snapshots[Symbol.asyncDispose]())
  return async (read) => {
    const result = await snapshots.read(read)
    afterSnapshot((count += 1))
    return result
  }
}

describe('sums of a scrub', () => {
  test('entries of many steps – add up by account', async (t) => {
    const groups = await sumInSteps(
      snapshotsOf(t, createFilledDatabase(t).path, () => {}),
      'entries',
      rows,
    )
    assert.deepEqual(nanosByAccount(groups), expected)
    assert.ok(groups.every(({ debit, account }) => debit === `account:${account}`))
    assert.deepEqual(totalsOf(groups), { ...noRows, entries: rows, amount: cost })
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
      const groups = await sumInSteps(snapshotsOf(t, path, drop), 'requests', rows)
      assert.deepEqual(nanosByAccount(groups), expected)
      assert.deepEqual(totalsOf(groups), { ...noRows, bills: rows, cost })
    })
  }
})

describe('sums by account', () => {
  const group = { debit: '', credit: '', account: 'acc', rows: 1, bills: 1, last: 1 } as const
  const entries: RowGroup[] = [
    { ...group, kind: 'credit', debit: 'operator:funding', credit: 'account:acc', nanos: 9n },
    { ...group, kind: 'charge', debit: 'account:acc', credit: 'operator:revenue', nanos: 5n },
    { ...group, kind: 'overrun', debit: 'operator:overrun', credit: 'operator:revenue', nanos: 3n },
  ]

  test('charges – equal the costs of the request rows, whatever else the account has', () => {
    const cost: RowGroup = { ...group, kind: 'cost', nanos: 5n }
    assert.deepEqual(compareAccounts([...entries, cost], [{ id: 'a:acc', balance_nanos: 4n }]), [])
    assert.deepEqual(compareAccounts(entries, [{ id: 'a:acc', balance_nanos: 2n }]), [
      { message: 'the entries of account:acc and its balance differ by 2 nanos', drift: 2n },
      { message: 'the entries and the request rows of acc differ by 5 nanos', drift: 5n },
    ])
  })
})

describe('scrubs', () => {
  for (const [name, scrub] of Object.entries({ scrubSums, scrubJournal })) {
    test(`${name} – may read each snapshot twice, as after a lost connection`, async (t) => {
      const path = await copyLedger(t)
      let reads = 0
      await scrub(
        sqliteSource,
        snapshotsOf(t, path, (count) => (reads = count)),
      )
      assert.ok(reads > 1)
      const snapshots = openSqliteSnapshots(path)
      t.after(() => snapshots[Symbol.asyncDispose]())
      for (let repeated = 1; repeated <= reads; repeated += 1) {
        let number = 0
        const read: ReadSnapshot = async (work) => {
          number += 1
          if (number === repeated) await snapshots.read(work)
          return snapshots.read(work)
        }
        const report = await scrub(sqliteSource, read)
        assert.deepEqual([report?.ok, report?.findings], [true, []], `read ${repeated} of ${reads}`)
      }
    })
  }

  test('lost request rows behind the deleted ones – are found', { timeout: 20_000 }, async (t) => {
    const path = await copyLedger(t)
    tamper(
      path,
      `insert into cursors (name, position) values ('usage_hourly', 40), ('requests_dropped', 30)
        on conflict (name) do update set position = excluded.position`,
      `insert into dropped_bills select account_id, sum(cost_nanos <> 0), sum(cost_nanos) from requests
        where row_id <= 30 group by account_id`,
      'delete from requests',
    )
    const findings: string[] = []
    const listener = {
      onReport: (report: { findings: readonly string[] }) => findings.push(...report.findings),
      onError: (error: unknown) => assert.fail(String(error)),
    }
    const openSnapshots = () => openSqliteSnapshots(path)
    await new LedgerMonitor({ source: sqliteSource, openSnapshots }, listener).scrub(1, false)
    assert.match(findings.join(), /the entries and the request rows of acc differ by \d+ nanos/)
  })
})
