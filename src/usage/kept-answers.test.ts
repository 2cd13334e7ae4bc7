import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptMs } from '../db/kept-answers.ts'
import type { KeptRow } from '../db/messages.ts'
import { sql } from '../db/schema/schema.ts'
import { ledgerCommit, anyStore } from '../db/store.fixture.ts'
import { newDataKey, sealerOf } from '../lib/encryption.ts'
import { KeptAnswers } from './stored-responses.ts'

const sealer = sealerOf(newDataKey())
const answer = Buffer.from('{"choices":[]}')

function row(key: string, at: number, requestId = `req_${key}`): KeptRow {
  const about = { account_id: 'acc', key_hash: key, body_hash: 'body', request_id: requestId, at }
  return { ...about, cost_nanos: 5n, answer: sealer.sealBytes(answer, requestId) }
}

test('what was kept is found for 24 hours, by its account and key', async (t) => {
  const store = await anyStore(t)
  const now = Date.now()
  await store.commit(ledgerCommit(1, { kept: [row('now', now), row('old', now - keptMs - 1)] }))
  const kept = new KeptAnswers(store.db, sealer)
  assert.deepEqual(await kept.find('acc', 'now'), { requestId: 'req_now', body: 'body', cost: 5n, answer })
  assert.equal(await kept.find('acc', 'old'), undefined)
  assert.equal(await kept.find('another', 'now'), undefined)
})

test('a key that is over is taken again, and its row becomes the new request’s', async (t) => {
  const store = await anyStore(t)
  const now = Date.now()
  await store.commit(ledgerCommit(1, { kept: [row('key', now - keptMs - 1, 'req_1')] }))
  await store.commit(ledgerCommit(2, { kept: [row('key', now, 'req_2')] }))
  assert.equal((await new KeptAnswers(store.db, sealer).find('acc', 'key'))?.requestId, 'req_2')
})

test('what is over is deleted by itself, and nothing else', async (t) => {
  const store = await anyStore(t)
  const now = Date.now()
  const old = Array.from({ length: 40 }, (_, index) => row(`old-${index}`, now - keptMs - index))
  await store.commit(ledgerCommit(1, { kept: [...old, row('new', now)] }))
  const left = sql.selectFrom('kept_answers').select('key_hash')
  for (;;) {
    const keys = (await store.db.all(left)).map((each) => each.key_hash)
    assert.ok(keys.includes('new'))
    if (keys.length === 1) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})
