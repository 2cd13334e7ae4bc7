import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAccount } from '../accounts/accounts.ts'
import { loadDirectory } from '../accounts/directory.ts'
import { loadCatalog } from '../catalog/catalog.ts'
import type { Db } from '../db/db.ts'
import { StoreError } from '../db/store-error.ts'
import { openAnyStore } from '../db/store.fixture.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { ConfigCache } from './config-cache.ts'

const unavailable = new StoreError({ class: 'full', message: 'too many connections' })

describe('ConfigCache', () => {
  test('outage while changes are applied – retries; other errors are thrown', async (t) => {
    const { db } = await openAnyStore(t)
    const failures: Error[] = []
    const all: Db['all'] = (query) => {
      const failure = failures.shift()
      return failure ? Promise.reject(failure) : db.all(query)
    }
    const failing: Db = { ...db, all }
    const sealer = createSealer(generateDataKey())
    const [directory, catalog] = await Promise.all([loadDirectory(db), loadCatalog(db, sealer)])
    const cache = new ConfigCache({
      db: failing,
      sealer,
      reloadKeys: () => Promise.resolve(undefined),
      directory,
      catalog,
    })
    const { value: account } = await createAccount(db, { email: 'a@example.com' }, 'test')
    const change = { kind: 'account', id: account.id } as const
    failures.push(unavailable, unavailable)
    await cache.applyChanges([change])
    assert.equal(cache.directory.account(account.id)?.id, account.id)
    failures.push(new TypeError('a bug'))
    await assert.rejects(cache.applyChanges([change]), /a bug/)
  })
})
