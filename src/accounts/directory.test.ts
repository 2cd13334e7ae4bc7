import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Change } from '../db/change.ts'
import { temporaryDb } from '../db/store.fixture.ts'
import { createAccount, updateAccount } from './accounts.ts'
import { allowsAddress, allowsModel } from './allowlists.ts'
import { loadDelta, loadDirectory } from './directory.ts'
import { createKey, deleteKey, updateKey } from './keys.ts'
import { hashOfKey } from './key-secret.ts'
import { createTier, updateTier } from './tiers.ts'

async function house(t: TestContext) {
  const db = await temporaryDb(t)
  const directory = await loadDirectory(db)
  const take = async (changes: readonly Change[]): Promise<void> => {
    // As another thread gets it.
    directory.apply(structuredClone(await loadDelta(db, changes)))
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
    take,
    account: account.value,
    key: key.value,
    changes: [...account.changes, ...key.changes],
  }
}

test('a caller is known after the delta of its making, and after a fresh load', async (t) => {
  const { db, directory, take, key, account, changes } = await house(t)
  const hash = hashOfKey(key.secret)
  assert.equal(directory.keyByHash(hash), undefined)
  await take(changes)
  const caller = directory.keyByHash(hash)
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
  assert.equal(directory.keyByHash(hash), caller)
  assert.equal(directory.keyById(key.id), caller)
  assert.deepEqual((await loadDirectory(db)).keyByHash(hash), caller)
})

test('a change of the account, of its tier or of the key reaches the caller as a new object', async (t) => {
  const { db, directory, take, key, account, changes } = await house(t)
  const hash = hashOfKey(key.secret)
  await take(changes)
  const first = directory.keyByHash(hash)

  await take(
    (
      await updateAccount(
        db,
        account.id,
        { limits: { rpm: 'unlimited', tpm: 5 }, status: 'suspended' },
        'admin',
      )
    ).changes,
  )
  const second = directory.keyByHash(hash)
  assert.notEqual(second, first)
  assert.deepEqual(second?.accountLimits, { rpm: null, tpm: 5, rpd: 1000, concurrency: 10 })
  assert.deepEqual(directory.limitsOfAccount(account.id), second.accountLimits)
  assert.equal(second.accountStatus, 'suspended')

  await take((await updateTier(db, 'new', { rpd: 7, priceFactorPpm: 2_000_000 }, 'admin')).changes)
  assert.deepEqual(
    [directory.keyByHash(hash)?.accountLimits.rpd, directory.keyByHash(hash)?.priceFactorPpm],
    [7, 2_000_000],
  )

  await take((await createTier(db, { name: 'gold' }, 'admin')).changes)
  await take(
    (await updateAccount(db, account.id, { tier: 'gold', priceFactorPpm: 500_000 }, 'admin')).changes,
  )
  assert.deepEqual(
    [directory.keyByHash(hash)?.accountLimits.rpd, directory.keyByHash(hash)?.priceFactorPpm],
    [null, 500_000],
  )

  await take(
    (await updateKey(db, key.id, { status: 'disabled', models: ['m-*'], ips: ['10.0.0.0/8'] }, 'admin'))
      .changes,
  )
  const last = directory.keyByHash(hash)
  assert.equal(last?.keyStatus, 'disabled')
  assert.ok(allowsModel(last.models, 'm-1') && !allowsModel(last.models, 'other'))
  assert.ok(allowsAddress(last.networks, '10.1.1.1') && !allowsAddress(last.networks, '11.1.1.1'))
})

test('a deleted key is unknown from its delta on, and its siblings stay', async (t) => {
  const { db, directory, take, key, account, changes } = await house(t)
  const sibling = await createKey(db, { accountId: account.id, name: 'y' }, { by: 'admin' })
  await take([...changes, ...sibling.changes])
  await take((await deleteKey(db, key.id, 'admin')).changes)
  assert.equal(directory.keyByHash(hashOfKey(key.secret)), undefined)
  assert.equal(directory.keyById(key.id), undefined)
  assert.notEqual(directory.keyByHash(hashOfKey(sibling.value.secret)), undefined)
  assert.equal((await loadDirectory(db)).keyById(key.id), undefined)
})

test('changes of other rooms are passed over', async (t) => {
  const { take, directory } = await house(t)
  await take([{ kind: 'model', id: 'family-a-small' }])
  assert.equal(directory.tier('new')?.limits.rpm, 60)
  assert.equal(directory.tier('none'), undefined)
})
