import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { storedResponseTtlMs } from '../db/retention/stored-responses.ts'
import type { StoredResponseRow } from '../db/ledger-commit.ts'
import { sql } from '../db/schema/schema.ts'
import { createLedgerCommit, openAnyStore } from '../db/store.fixture.ts'
import { generateDataKey, createSealer } from '../lib/encryption.ts'
import { StoredResponses } from './stored-responses.ts'
import { waitUntil } from '../../test/support/wait.ts'

const sealer = createSealer(generateDataKey())
const answer = Buffer.from('{"choices":[]}')

function row(key: string, at: number, requestId = `req_${key}`): StoredResponseRow {
  const about = { account_id: 'acc', key_hash: key, body_hash: 'body', request_id: requestId, at }
  return { ...about, cost_nanos: 5n, answer: sealer.sealBytes(answer, requestId) }
}

describe('stored responses', () => {
  test('a stored response – is found for 24 hours by account and key', async (t) => {
    const store = await openAnyStore(t)
    const now = Date.now()
    await store.commit(
      createLedgerCommit(1, {
        storedResponses: [row('now', now), row('old', now - storedResponseTtlMs - 1)],
      }),
    )
    const responses = new StoredResponses(store.db, sealer)
    assert.deepEqual(await responses.find('acc', 'now'), {
      requestId: 'req_now',
      body: 'body',
      at: now,
      cost: 5n,
      response: answer,
    })
    assert.equal(await responses.find('acc', 'old'), undefined)
    assert.equal(await responses.find('another', 'now'), undefined)
  })

  test('an expired key – can be claimed again and its row is replaced', async (t) => {
    const store = await openAnyStore(t)
    const now = Date.now()
    await store.commit(
      createLedgerCommit(1, { storedResponses: [row('key', now - storedResponseTtlMs - 1, 'req_1')] }),
    )
    await store.commit(createLedgerCommit(2, { storedResponses: [row('key', now, 'req_2')] }))
    assert.equal((await new StoredResponses(store.db, sealer).find('acc', 'key'))?.requestId, 'req_2')
  })

  test('expired rows – are deleted automatically, and no others', async (t) => {
    const store = await openAnyStore(t)
    const now = Date.now()
    const old = Array.from({ length: 40 }, (_, index) =>
      row(`old-${index}`, now - storedResponseTtlMs - index),
    )
    await store.commit(createLedgerCommit(1, { storedResponses: [...old, row('new', now)] }))
    const left = sql.selectFrom('kept_answers').select('key_hash')
    await waitUntil(async () => {
      const keys = (await store.db.all(left)).map((each) => each.key_hash)
      assert.ok(keys.includes('new'))
      return keys.length === 1
    }, 'the deletion')
  })
})
