import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Change } from '../db/change.ts'
import { openTemporaryDb } from '../db/store.fixture.ts'
import { createAccount, updateAccount } from './accounts.ts'
import { allowsAddress, allowsModel } from './allowlists.ts'
import { loadDirectoryDelta, loadDirectory } from './directory.ts'
import { createKey, deleteKey, updateKey } from './keys.ts'
import { hashKey } from './key-secret.ts'
import { createTier, updateTier } from './tiers.ts'

async function setUp(t: TestContext) {
  const db = await openTemporaryDb(t)
  const directory = await loadDirectory(db)
  const applyChanges = async (changes: readonly Change[]): Promise<void> => {
    // Cloned, as another thread receives it.
    directory.apply(structuredClone(await loadDirectoryDelta(db, changes)))
  }
  const account = await createAccount(db, { email: 'alice@example.com', timezone: 'Europe/Berlin' }, 'admin')
  const key = await createKey(
    db,
    { accountId: account.value.id, name: 'x', limits: { rpm: 3 } },
    { by: 'admin' },
  )
  return {
    db,
    directory,
    applyChanges,
    account: account.value,
    key: key.value,
    changes: [...account.changes, ...key.changes],
  }
}

describe('Directory', () => {
  test('a caller – is found after its delta and after a fresh load', async (t) => {
    const { db, directory, applyChanges, key, account, changes } = await setUp(t)
    const hash = hashKey(key.secret)
    assert.equal(directory.callerByKeyHash(hash), undefined)
    await applyChanges(changes)
    const caller = directory.callerByKeyHash(hash)
    assert.deepEqual(caller, {
      keyId: key.id,
      keyStatus: 'active',
      expiresAt: null,
      models: null,
      networks: null,
      keyCaps: { dailyNanos: null, monthlyNanos: null, totalNanos: null },
      keyLimits: { rpm: 3, tpm: null, rpd: null, concurrency: null },
      accountId: account.id,
      accountStatus: 'active',
      accountCaps: { dailyNanos: null, monthlyNanos: null },
      accountLimits: { rpm: 60, tpm: 100_000, rpd: 1000, concurrency: 10 },
      priceFactorPpm: 1_000_000,
      timezone: 'Europe/Berlin',
    })
    assert.equal(directory.callerByKeyHash(hash), caller)
    assert.equal(directory.callerByKeyId(key.id), caller)
    assert.deepEqual((await loadDirectory(db)).callerByKeyHash(hash), caller)
  })

  test('a change of account, tier or key – creates a new caller object', async (t) => {
    const { db, directory, applyChanges, key, account, changes } = await setUp(t)
    const hash = hashKey(key.secret)
    await applyChanges(changes)
    const first = directory.callerByKeyHash(hash)

    await applyChanges(
      (
        await updateAccount(
          db,
          account.id,
          { limits: { rpm: 'unlimited', tpm: 5 }, status: 'suspended' },
          'admin',
        )
      ).changes,
    )
    const second = directory.callerByKeyHash(hash)
    assert.notEqual(second, first)
    assert.deepEqual(second?.accountLimits, { rpm: null, tpm: 5, rpd: 1000, concurrency: 10 })
    assert.deepEqual(directory.limitsOfAccount(account.id), second.accountLimits)
    assert.equal(second.accountStatus, 'suspended')

    await applyChanges((await updateTier(db, 'new', { rpd: 7, priceFactorPpm: 2_000_000 }, 'admin')).changes)
    assert.deepEqual(
      [directory.callerByKeyHash(hash)?.accountLimits.rpd, directory.callerByKeyHash(hash)?.priceFactorPpm],
      [7, 2_000_000],
    )

    await applyChanges((await createTier(db, { name: 'gold' }, 'admin')).changes)
    await applyChanges(
      (await updateAccount(db, account.id, { tier: 'gold', priceFactorPpm: 500_000 }, 'admin')).changes,
    )
    assert.deepEqual(
      [directory.callerByKeyHash(hash)?.accountLimits.rpd, directory.callerByKeyHash(hash)?.priceFactorPpm],
      [null, 500_000],
    )

    await applyChanges(
      (await updateKey(db, key.id, { status: 'disabled', models: ['m-*'], ips: ['10.0.0.0/8'] }, 'admin'))
        .changes,
    )
    const last = directory.callerByKeyHash(hash)
    assert.equal(last?.keyStatus, 'disabled')
    assert.ok(allowsModel(last.models, 'm-1') && !allowsModel(last.models, 'other'))
    assert.ok(allowsAddress(last.networks, '10.1.1.1') && !allowsAddress(last.networks, '11.1.1.1'))
  })

  test('a deleted key – is gone after its delta, and its siblings stay', async (t) => {
    const { db, directory, applyChanges, key, account, changes } = await setUp(t)
    const sibling = await createKey(db, { accountId: account.id, name: 'y' }, { by: 'admin' })
    await applyChanges([...changes, ...sibling.changes])
    await applyChanges((await deleteKey(db, key.id, 'admin')).changes)
    assert.equal(directory.callerByKeyHash(hashKey(key.secret)), undefined)
    assert.equal(directory.callerByKeyId(key.id), undefined)
    assert.notEqual(directory.callerByKeyHash(hashKey(sibling.value.secret)), undefined)
    assert.equal((await loadDirectory(db)).callerByKeyId(key.id), undefined)
  })

  test('changes of other kinds – are ignored', async (t) => {
    const { applyChanges, directory } = await setUp(t)
    await applyChanges([{ kind: 'model', id: 'family-a-small' }])
    assert.equal(directory.tier('new')?.limits.rpm, 60)
    assert.equal(directory.tier('none'), undefined)
  })
})
