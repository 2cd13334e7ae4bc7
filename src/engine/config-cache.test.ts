import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createAccount, updateAccount } from '../accounts/accounts.ts'
import type { Db } from '../db/db.ts'
import { StoreError } from '../db/store-error.ts'
import { openAnyStore } from '../db/store.fixture.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { ConfigCache, openConfigCache, type ConfigDelta, type Publishing } from './config-cache.ts'

const unavailable = new StoreError({ class: 'full', message: 'too many connections' })

/** A cache whose reads can fail, and one of a worker, to which it broadcasts. */
async function openCaches(t: TestContext) {
  const { db } = await openAnyStore(t)
  const failures: Error[] = []
  let reads = 0
  const all: Db['all'] = (query) => {
    reads += 1
    const failure = failures.shift()
    return failure ? Promise.reject(failure) : db.all(query)
  }
  const sealer = createSealer(generateDataKey())
  const main = new ConfigCache({ db: { ...db, all }, sealer }, await openConfigCache(db, sealer))
  const worker = await openConfigCache(db, sealer)
  const publishing: Publishing = {
    reloadKeys: () => Promise.resolve(undefined),
    broadcast: (delta) => worker.apply(structuredClone(delta)),
  }
  return { db, main, worker, publishing, failures, reads: () => reads }
}

describe('ConfigCache', () => {
  test('changes – are read once, and applied in their order by every thread', async (t) => {
    const { db, main, worker, publishing, reads } = await openCaches(t)
    const { value: account, changes } = await createAccount(db, { email: 'a@example.com' }, 'test')
    const published = [main.publish(changes, publishing)]
    for (const name of ['one', 'two', 'three']) {
      await updateAccount(db, account.id, { name }, 'test')
      published.push(main.publish(changes, publishing))
    }
    await Promise.all(published)
    for (const { directory } of [main, worker]) assert.equal(directory.account(account.id)?.name, 'three')
    assert.equal(reads(), 4)
  })

  test('worker that is slow – delays its own changes only', async (t) => {
    const { db, main, worker, publishing } = await openCaches(t)
    const { value: account, changes } = await createAccount(db, { email: 'a@example.com' }, 'test')
    const slow = Promise.withResolvers<void>()
    const broadcast = async (delta: ConfigDelta): Promise<void> => {
      await slow.promise
      await publishing.broadcast(delta)
    }
    const first = main.publish(changes, { ...publishing, broadcast })
    await main.publish(changes, { ...publishing, broadcast: () => Promise.resolve() })
    assert.equal(main.directory.account(account.id)?.id, account.id)
    slow.resolve()
    await first
    assert.equal(worker.directory.account(account.id)?.id, account.id)
  })

  test('outage – a publication fails, a reload of everything on a worker is retried', async (t) => {
    const { db, main, worker, publishing, failures } = await openCaches(t)
    const { value: account, changes } = await createAccount(db, { email: 'a@example.com' }, 'test')
    failures.push(unavailable)
    await assert.rejects(main.publish(changes, publishing), unavailable)
    failures.push(unavailable, unavailable)
    await main.apply({ dataKeys: undefined, rows: 'everything' })
    assert.equal(main.directory.account(account.id)?.id, account.id)
    failures.push(new TypeError('a bug'))
    await assert.rejects(main.apply({ dataKeys: undefined, rows: 'everything' }), /a bug/)
    await main.publish('everything', publishing)
    assert.equal(worker.directory.account(account.id)?.id, account.id)
  })
})
