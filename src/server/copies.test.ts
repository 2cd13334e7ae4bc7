import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccount } from '../accounts/accounts.ts'
import { loadDirectory } from '../accounts/directory.ts'
import { loadCatalog } from '../catalog/catalog.ts'
import type { Db } from '../db/db.ts'
import { StoreError } from '../db/store-error.ts'
import { anyStore } from '../db/store.fixture.ts'
import { newDataKey, sealerOf } from '../lib/encryption.ts'
import { Copies } from './copies.ts'

const away = new StoreError({ class: 'full', message: 'too many connections' })

test('a change is taken in once the database can be had again; what is no matter of time is told', async (t) => {
  const { db } = await anyStore(t)
  const failures: Error[] = []
  const all: Db['all'] = (query) => {
    const failure = failures.shift()
    return failure ? Promise.reject(failure) : db.all(query)
  }
  const failing: Db = { ...db, all }
  const sealer = sealerOf(newDataKey())
  const [directory, catalog] = await Promise.all([loadDirectory(db), loadCatalog(db, sealer)])
  const copies = new Copies({ db: failing, sealer, directory, catalog })
  const { value: account } = await createAccount(db, { email: 'a@example.com' }, 'test')
  const change = { kind: 'account', id: account.id } as const
  failures.push(away, away)
  await copies.refresh([change])
  assert.equal(copies.directory.account(account.id)?.id, account.id)
  failures.push(new TypeError('a bug'))
  await assert.rejects(copies.refresh([change]), /a bug/)
})
