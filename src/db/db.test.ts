/** What a Db promises, whichever database is behind it: test/over-postgres.test.ts runs these tests a second time. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expecting } from './db.ts'
import { sql } from './schema/schema.ts'
import { putSetting, setting } from './settings.ts'
import { isReferenced, isTaken, isUnmet, StoreError } from './store-error.ts'
import { anyStore, ledgerCommit, temporaryDb } from './store.fixture.ts'

function isConflict(error: unknown): boolean {
  return error instanceof StoreError && error.class === 'conflict'
}

const tierNamed = (name: string) => sql.insertInto('tiers').values({ name, price_factor_ppm: 1 })
const tierNames = sql.selectFrom('tiers').select('name').orderBy('name')

test('a batch happens as a whole or not at all', async (t) => {
  const db = await temporaryDb(t)
  const before = await db.all(tierNames)
  await assert.rejects(db.write(tierNamed('one'), tierNamed('one')), isConflict)
  await assert.rejects(
    db.write(tierNamed('two'), expecting(sql.deleteFrom('tiers').where('name', '=', 'x'), 1)),
    isConflict,
  )
  assert.deepEqual(await db.all(tierNames), before)
  const results = await db.write(tierNamed('one'), tierNamed('two').returning('name'))
  assert.deepEqual(
    results.map((result) => ({ changes: result.changes, rows: result.rows.map((row) => row['name']) })),
    [
      { changes: 1, rows: [] },
      { changes: 1, rows: ['two'] },
    ],
  )
})

test('of batches that share a commit only the wrong one fails, and everyone reads what was acknowledged', async (t) => {
  const db = await temporaryDb(t)
  const outcomes = await Promise.allSettled([
    db.write(tierNamed('a1')),
    db.write(tierNamed('a2'), tierNamed('a1')),
    db.write({ sql: 'insert into nowhere values (1)', parameters: [] }),
    db.write(tierNamed('a3')),
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

test('money is read as bigint, to the nano, and every other integer as number', async (t) => {
  const store = await anyStore(t)
  await store.commit(ledgerCommit(1))
  const entry = await store.db.first(sql.selectFrom('entries').selectAll())
  assert.equal(entry?.amount_nanos, 9_007_199_254_740_993n)
  assert.equal(entry.seq, 1)
  assert.equal(entry.at, 1001)
})

test('a read cannot write', async (t) => {
  const db = await temporaryDb(t)
  await assert.rejects(db.all(sql.deleteFrom('tiers')), /readonly|read-only/)
})

test('who breaks a rule of the schema is told which, by its column', async (t) => {
  const db = await temporaryDb(t)
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
  const again = db.write(account.values({ ...row, id: 'acc_two' }))
  await assert.rejects(again, (error) => isTaken(error, 'accounts.email_normalised'))
  const astray = db.write(account.values({ ...row, id: 'acc_3', email_normalised: '3', tier: 'none' }))
  await assert.rejects(astray, isReferenced)
  const missed = expecting(sql.deleteFrom('tiers').where('name', '=', 'none'), 1)
  await assert.rejects(db.write(tierNamed('other'), missed), (error) => isUnmet(error, 1))
})

test('what may only be added to is neither changed nor taken away', async (t) => {
  const { db, commit } = await anyStore(t)
  await commit(ledgerCommit(1))
  for (const text of ['update journal set body = ?', 'update entries set ref = ?']) {
    await assert.rejects(db.write({ sql: text, parameters: ['x'] }), isConflict)
  }
  await assert.rejects(db.write({ sql: 'delete from entries', parameters: [] }), isConflict)
})

test('text is ordered by its bytes, and compared with its case', async (t) => {
  const db = await temporaryDb(t)
  await db.write(...['_a', 'B', 'a', 'é', 'Z'].map(tierNamed))
  const names = (await db.all(tierNames.where('name', 'not in', ['new', 'standard', 'enterprise']))).map(
    (row) => row.name,
  )
  assert.deepEqual(names, ['B', 'Z', '_a', 'a', 'é'])
})

test('bytes come back as bytes, and a question mark in a text is no parameter', async (t) => {
  const { db, commit } = await anyStore(t)
  await commit(ledgerCommit(1))
  const row = await db.first(sql.selectFrom('journal').select('hash'))
  assert.equal(Buffer.from(row?.hash ?? []).length, 32)
  const asked = { sql: `select '?' as sign, name from tiers where name = ?`, parameters: ['new'] }
  const found = await db.first<{ sign: string; name: string }>(asked)
  assert.deepEqual([found?.sign, found?.name], ['?', 'new'])
})

test('a setting is kept and replaced', async (t) => {
  const db = await temporaryDb(t)
  assert.equal(await setting(db, 'began_as'), undefined)
  await putSetting(db, 'began_as', 'demo')
  await putSetting(db, 'began_as', 'other')
  assert.equal(await setting(db, 'began_as'), 'other')
})
