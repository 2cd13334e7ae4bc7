import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { ApiError } from '../errors.ts'
import { createAccount } from './accounts.ts'
import { createKey, deleteKey, deleteStaleKeys, keyById, listKeys, recordKeyUse, updateKey } from './keys.ts'
import { hashKey, isWellFormedKey } from './key-secret.ts'

function isApiError(status: number, param?: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.status === status && error.detail.param === param
}

async function dbWithAccount(t: TestContext): Promise<{ db: Db; accountId: string }> {
  const db = await openTemporaryDb(t)
  const { value } = await createAccount(db, { email: 'alice@example.com' }, 'admin')
  return { db, accountId: value.id }
}

const options = { by: 'admin' }

describe('keys', () => {
  test('a secret – is returned once and stored nowhere', async (t) => {
    const { db, accountId } = await dbWithAccount(t)
    const { value, changes } = await createKey(db, { accountId, name: 'first' }, options)
    assert.ok(isWellFormedKey(value.secret))
    assert.deepEqual(changes, [{ kind: 'key', id: value.id }])
    const { secret, ...shown } = value
    assert.deepEqual(await keyById(db, value.id), shown)
    assert.ok(secret.startsWith(shown.prefix) && secret.endsWith(shown.lastFour))
    const rows = JSON.stringify(
      [await db.all(sql.selectFrom('keys').selectAll()), await db.all(sql.selectFrom('audit').selectAll())],
      (_name, field: unknown) => (typeof field === 'bigint' ? String(field) : field),
    )
    assert.ok(!rows.includes(secret.slice(12, -4)))
    assert.ok(rows.includes(hashKey(secret)))
  })

  test('an account – never has more keys than allowed, also under concurrency', async (t) => {
    const { db, accountId } = await dbWithAccount(t)
    const made = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        createKey(db, { accountId, name: `k${index}` }, { by: 'admin', maxKeys: 5 }),
      ),
    )
    const rejected = made.filter((outcome) => outcome.status === 'rejected')
    assert.equal(rejected.length, 3)
    for (const outcome of rejected)
      assert.ok(isApiError(409)(outcome.reason) && /at most 5 keys/.test(String(outcome.reason)))
    const keys = await listKeys(db, accountId)
    assert.equal(keys.length, 5)
    await deleteKey(db, keys[0]?.id ?? '', 'admin')
    await createKey(db, { accountId, name: 'again' }, { by: 'admin', maxKeys: 5 })
  })

  test('an unknown account – is rejected', async (t) => {
    const { db } = await dbWithAccount(t)
    await assert.rejects(createKey(db, { accountId: 'acc_none', name: 'x' }, options), isApiError(404))
  })

  test('updateKey – changes only the given fields, and null removes a restriction', async (t) => {
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
      options,
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

  test('an invalid field – is rejected with its name', async (t) => {
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
        createKey(db, { accountId, name: 'x', ...fields }, options),
        isApiError(400, param),
        param,
      )
    }
    assert.deepEqual(await listKeys(db, accountId), [])
  })

  test('a deleted key – cannot be found, changed or deleted again', async (t) => {
    const { db, accountId } = await dbWithAccount(t)
    const { id } = (await createKey(db, { accountId, name: 'x' }, options)).value
    assert.deepEqual((await deleteKey(db, id, 'admin')).changes, [{ kind: 'key', id }])
    assert.equal(await keyById(db, id), undefined)
    await assert.rejects(deleteKey(db, id, 'admin'), isApiError(404))
    await assert.rejects(updateKey(db, id, { status: 'active' }, 'admin'), isApiError(404))
  })

  test('deleteStaleKeys – deletes keys that were not used for long, and no others', async (t) => {
    const { db, accountId } = await dbWithAccount(t)
    const used = (await createKey(db, { accountId, name: 'used' }, options)).value.id
    const stale = (await createKey(db, { accountId, name: 'stale' }, options)).value.id
    const later = Date.now() + 1000
    await recordKeyUse(db, new Map([[used, later + 5]]))
    await recordKeyUse(db, new Map([[used, later]]))
    await recordKeyUse(db, new Map())
    assert.equal((await keyById(db, used))?.lastUsedAt, later + 5)
    const { value, changes } = await deleteStaleKeys(db, later, 'clock')
    assert.deepEqual([value, changes], [1, [{ kind: 'key', id: stale }]])
    assert.deepEqual(
      (await listKeys(db, accountId)).map((key) => key.id),
      [used],
    )
    assert.equal((await deleteStaleKeys(db, later, 'clock')).value, 0)
  })
})
