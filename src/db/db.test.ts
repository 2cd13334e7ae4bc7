/** The contract of a Db for every database; test/checks/unit-tests-on-postgres.test.ts runs these tests on PostgreSQL. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import { expectChanges, reportsOfAccount, type Query } from './db.ts'
import { sql } from './schema/schema.ts'
import { setSetting, getSetting } from './settings.ts'
import {
  isForeignKeyViolation,
  isUniqueViolation,
  isExpectationFailureOf,
  StoreError,
} from './store-error.ts'
import { openAnyStore, createLedgerCommit, openTemporaryDb } from './store.fixture.ts'

function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'conflict'
}

const insertTier = (name: string) => sql.insertInto('tiers').values({ name, price_factor_ppm: 1 })
/** Takes some milliseconds. */
const slowReport: Query<{ found: number }> = {
  sql: `with recursive counter (n) as (select 1 union all select n + 1 from counter where n < 20000)
    select count(*) as found from counter`,
  parameters: [],
}
const tierNames = sql.selectFrom('tiers').select('name').orderBy('name')

describe('Db', () => {
  test('write – runs a batch completely or not at all', async (t) => {
    const db = await openTemporaryDb(t)
    const before = await db.all(tierNames)
    await assert.rejects(db.write(insertTier('one'), insertTier('one')), isConflict)
    await assert.rejects(
      db.write(insertTier('two'), expectChanges(sql.deleteFrom('tiers').where('name', '=', 'x'), 1)),
      isConflict,
    )
    assert.deepEqual(await db.all(tierNames), before)
    const results = await db.write(insertTier('one'), insertTier('two').returning('name'))
    assert.deepEqual(
      results.map((result) => ({ changes: result.changes, rows: result.rows.map((row) => row['name']) })),
      [
        { changes: 1, rows: [] },
        { changes: 1, rows: ['two'] },
      ],
    )
  })

  test('group commit – only the invalid batch fails, and acknowledged writes are readable', async (t) => {
    const db = await openTemporaryDb(t)
    const outcomes = await Promise.allSettled([
      db.write(insertTier('a1')),
      db.write(insertTier('a2'), insertTier('a1')),
      db.write({ sql: 'insert into nowhere values (1)', parameters: [] }),
      db.write(insertTier('a3')),
    ])
    assert.deepEqual(
      outcomes.map((outcome) =>
        outcome.status === 'rejected' ? (outcome.reason as StoreError).class : 'done',
      ),
      ['done', 'conflict', 'invalid', 'done'],
    )
    const names = (await db.all(tierNames)).map((row) => row.name)
    assert.deepEqual(names.slice(0, 2), ['a1', 'a3'])
  })

  test('integers – money columns are exact bigints, all other integers are numbers', async (t) => {
    const store = await openAnyStore(t)
    await store.commit(createLedgerCommit(1))
    const entry = await store.db.first(sql.selectFrom('entries').selectAll())
    assert.equal(entry?.amount_nanos, 9_007_199_254_740_993n)
    assert.equal(entry.seq, 1)
    assert.equal(entry.at, 1001)
  })

  test('report – accounts take turns, however many reports one of them has requested', async (t) => {
    const db = await openTemporaryDb(t)
    const ended: string[] = []
    const report = async (account: string): Promise<void> => {
      await reportsOfAccount(db, account).report(slowReport)
      ended.push(account)
    }
    const reports = Array.from({ length: 40 }, () => report('many'))
    await Promise.all([...reports, report('one'), report('other')])
    assert.ok(ended.indexOf('one') <= 4 && ended.indexOf('other') <= 5, ended.join())
  })

  test('report – too many of an account are rejected with 429, those of operators are not', async (t) => {
    const db = await openTemporaryDb(t)
    const reports = Array.from({ length: 300 }, () => reportsOfAccount(db, 'many').report(slowReport))
    const operators = Array.from({ length: 300 }, () =>
      db.report<{ found: number }>({ sql: 'select 1 as found', parameters: [] }),
    )
    const outcomes = await Promise.allSettled(reports)
    const reasons = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
    )
    assert.ok(reasons.length > 0 && reasons.length <= 199, `${reasons.length} were rejected`)
    for (const reason of reasons) {
      assert.ok(reason instanceof ApiError)
      assert.equal(reason.code, 'rate_limit_exceeded')
      assert.match(reason.message, /Too many reports of this account/)
    }
    for (const rows of await Promise.all(operators)) assert.deepEqual(rows, [{ found: 1 }])
  })

  test('reads – reject statements that write', async (t) => {
    const db = await openTemporaryDb(t)
    await assert.rejects(db.all(sql.deleteFrom('tiers')), /readonly|read-only/)
  })

  test('constraint errors – name the violated constraint by its column', async (t) => {
    const db = await openTemporaryDb(t)
    const row = {
      id: 'acc_one',
      email: 'One@example.com',
      email_normalised: 'one@example.com',
      name: 'One',
      tier: 'standard',
      status: 'active' as const,
      timezone: 'UTC',
      limits: '{}',
      trial: 0 as const,
      created_at: 1,
      updated_at: 1,
    }
    const account = sql.insertInto('accounts')
    await db.write(account.values(row))
    const duplicate = db.write(account.values({ ...row, id: 'acc_two' }))
    await assert.rejects(duplicate, (error) => isUniqueViolation(error, 'accounts.email_normalised'))
    const orphan = db.write(account.values({ ...row, id: 'acc_3', email_normalised: '3', tier: 'none' }))
    await assert.rejects(orphan, isForeignKeyViolation)
    const failedExpectation = expectChanges(sql.deleteFrom('tiers').where('name', '=', 'none'), 1)
    await assert.rejects(db.write(insertTier('other'), failedExpectation), (error) =>
      isExpectationFailureOf(error, 1),
    )
  })

  test('append-only tables – reject updates and deletes', async (t) => {
    const { db, commit } = await openAnyStore(t)
    await commit(createLedgerCommit(1))
    for (const text of ['update journal set body = ?', 'update entries set ref = ?']) {
      await assert.rejects(db.write({ sql: text, parameters: ['x'] }), isConflict)
    }
    await assert.rejects(db.write({ sql: 'delete from entries', parameters: [] }), isConflict)
  })

  test('text – is ordered by its bytes and compared case-sensitively', async (t) => {
    const db = await openTemporaryDb(t)
    await db.write(...['_a', 'B', 'a', 'é', 'Z'].map(insertTier))
    const names = (await db.all(tierNames.where('name', 'not in', ['new', 'standard', 'enterprise']))).map(
      (row) => row.name,
    )
    assert.deepEqual(names, ['B', 'Z', '_a', 'a', 'é'])
  })

  test('parameters – bytes are returned as bytes, and a question mark in a string is literal', async (t) => {
    const { db, commit } = await openAnyStore(t)
    await commit(createLedgerCommit(1))
    const row = await db.first(sql.selectFrom('journal').select('hash'))
    assert.equal(Buffer.from(row?.hash ?? []).length, 32)
    const query = { sql: `select '?' as sign, name from tiers where name = ?`, parameters: ['new'] }
    const found = await db.first<{ sign: string; name: string }>(query)
    assert.deepEqual([found?.sign, found?.name], ['?', 'new'])
  })

  test('settings – are stored and replaced', async (t) => {
    const db = await openTemporaryDb(t)
    assert.equal(await getSetting(db, 'began_as'), undefined)
    await setSetting(db, 'began_as', 'demo')
    await setSetting(db, 'began_as', 'other')
    assert.equal(await getSetting(db, 'began_as'), 'other')
  })
})
