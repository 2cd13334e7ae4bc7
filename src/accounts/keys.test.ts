import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { temporaryDb } from '../db/store.fixture.ts'
import { Refusal } from '../errors.ts'
import { createAccount } from './accounts.ts'
import { createKey, deleteKey, deleteStaleKeys, keyById, listKeys, noteKeyUse, updateKey } from './keys.ts'
import { hashOfKey, looksLikeKey } from './key-secret.ts'

function refusedWith(status: number, param?: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.status === status && error.detail.param === param
}

async function dbWithAccount(t: TestContext): Promise<{ db: Db; accountId: string }> {
  const db = await temporaryDb(t)
  const { value } = await createAccount(db, { email: 'alice@example.com' }, 'admin')
  return { db, accountId: value.id }
}

const rules = { by: 'admin' }

test('a secret is shown once and kept nowhere', async (t) => {
  const { db, accountId } = await dbWithAccount(t)
  const { value, changes } = await createKey(db, { accountId, name: 'first' }, rules)
  assert.ok(looksLikeKey(value.secret))
  assert.deepEqual(changes, [{ kind: 'key', id: value.id }])
  const { secret, ...shown } = value
  assert.deepEqual(await keyById(db, value.id), shown)
  assert.ok(secret.startsWith(shown.prefix) && secret.endsWith(shown.lastFour))
  const rows = JSON.stringify(
    [await db.all(sql.selectFrom('keys').selectAll()), await db.all(sql.selectFrom('audit').selectAll())],
    (_name, field: unknown) => (typeof field === 'bigint' ? String(field) : field),
  )
  assert.ok(!rows.includes(secret.slice(12, -4)))
  assert.ok(rows.includes(hashOfKey(secret)))
})

test('an account never holds more keys than it may, also when they are made at once', async (t) => {
  const { db, accountId } = await dbWithAccount(t)
  const made = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      createKey(db, { accountId, name: `k${index}` }, { by: 'admin', keysMax: 5 }),
    ),
  )
  const refused = made.filter((outcome) => outcome.status === 'rejected')
  assert.equal(refused.length, 3)
  for (const outcome of refused)
    assert.ok(refusedWith(409)(outcome.reason) && /at most 5 keys/.test(String(outcome.reason)))
  const keys = await listKeys(db, accountId)
  assert.equal(keys.length, 5)
  await deleteKey(db, keys[0]?.id ?? '', 'admin')
  await createKey(db, { accountId, name: 'again' }, { by: 'admin', keysMax: 5 })
})

test('a key of an account that does not exist is refused', async (t) => {
  const { db } = await dbWithAccount(t)
  await assert.rejects(createKey(db, { accountId: 'acc_none', name: 'x' }, rules), refusedWith(404))
})

test('a key is restricted field by field: not named stays, null removes', async (t) => {
  const { db, accountId } = await dbWithAccount(t)
  const soon = Date.now() + 60_000
  const { value } = await createKey(
    db,
    {
      accountId,
      name: 'x',
      expiresAt: soon,
      models: ['family-a-*'],
      ips: ['10.0.0.1'],
      caps: { dailyNanos: 1n, totalNanos: 3n },
      limits: { rpm: 5, tpm: null },
    },
    rules,
  )
  assert.deepEqual([value.expiresAt, value.models, value.ips], [soon, ['family-a-*'], ['10.0.0.1/32']])
  assert.deepEqual(
    [value.caps, value.limits],
    [{ dailyNanos: 1n, monthlyNanos: null, totalNanos: 3n }, { rpm: 5 }],
  )
  const patch = {
    status: 'disabled',
    models: [],
    expiresAt: null,
    caps: { dailyNanos: null, monthlyNanos: 2n },
    limits: { concurrency: 1 },
  } as const
  const patched = (await updateKey(db, value.id, patch, 'admin')).value
  assert.deepEqual(
    [patched.status, patched.models, patched.ips, patched.expiresAt],
    ['disabled', null, ['10.0.0.1/32'], null],
  )
  assert.deepEqual(patched.caps, { dailyNanos: null, monthlyNanos: 2n, totalNanos: 3n })
  assert.deepEqual(patched.limits, { rpm: 5, concurrency: 1 })
})

test('a field that is not allowed is refused by its name', async (t) => {
  const { db, accountId } = await dbWithAccount(t)
  const wrong: [object, string][] = [
    [{ name: ' ' }, 'name'],
    [{ expiresAt: Date.now() - 1 }, 'expires_at'],
    [{ ips: ['nowhere'] }, 'ips[0]'],
    [{ models: ['a*b'] }, 'models[0]'],
    [{ caps: { totalNanos: -1n } }, 'caps.total'],
    [{ limits: { rpd: -1 } }, 'limits.rpd'],
  ]
  for (const [fields, param] of wrong) {
    await assert.rejects(
      createKey(db, { accountId, name: 'x', ...fields }, rules),
      refusedWith(400, param),
      param,
    )
  }
  assert.deepEqual(await listKeys(db, accountId), [])
})

test('a deleted key is gone for everyone, and cannot be changed or deleted again', async (t) => {
  const { db, accountId } = await dbWithAccount(t)
  const { id } = (await createKey(db, { accountId, name: 'x' }, rules)).value
  assert.deepEqual((await deleteKey(db, id, 'admin')).changes, [{ kind: 'key', id }])
  assert.equal(await keyById(db, id), undefined)
  await assert.rejects(deleteKey(db, id, 'admin'), refusedWith(404))
  await assert.rejects(updateKey(db, id, { status: 'active' }, 'admin'), refusedWith(404))
})

test('keys that nobody used for long are cleaned up, those in use stay', async (t) => {
  const { db, accountId } = await dbWithAccount(t)
  const used = (await createKey(db, { accountId, name: 'used' }, rules)).value.id
  const stale = (await createKey(db, { accountId, name: 'stale' }, rules)).value.id
  const later = Date.now() + 1000
  await noteKeyUse(db, new Map([[used, later + 5]]))
  await noteKeyUse(db, new Map([[used, later]]))
  await noteKeyUse(db, new Map())
  assert.equal((await keyById(db, used))?.lastUsedAt, later + 5)
  const { value, changes } = await deleteStaleKeys(db, later, 'clock')
  assert.deepEqual([value, changes], [1, [{ kind: 'key', id: stale }]])
  assert.deepEqual(
    (await listKeys(db, accountId)).map((key) => key.id),
    [used],
  )
  assert.equal((await deleteStaleKeys(db, later, 'clock')).value, 0)
})
