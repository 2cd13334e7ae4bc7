// @backend both
/** Web searches are held before they are made: what an account cannot pay for is rejected. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()

describe('Search holds', () => {
  test('Web searches – hold their price, and what cannot be paid is rejected with 402', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, num_search_queries: 2 }
    const upstream = await server.upstream(respondWith('Hello!', { raw: usage }))
    const prices = { input: '0.001', output: '0.001', per_search: '0.1' }
    await server.model('searching', { upstreams: [upstream], prices })
    const fields = { max_tokens: 20, web_search_options: {} }
    const account = await server.account({ balance: '¥0.9' })
    // Ten searches cost 1 yuan, the one that a stream holds first 0.1.
    const rejected = await account.post(chatRequest('searching', fields))
    assert.equal(rejected.status, 402)
    assert.equal((await account.post(chatRequest('searching', { max_tokens: 20 }))).status, 200)
    const streamed = await account.post(chatRequest('searching', { ...fields, stream: true }))
    assert.equal(streamed.status, 200)
    await streamed.text()
    await account.credit('1')
    const admitted = await account.post(chatRequest('searching', fields))
    assert.equal(admitted.headers.get('x-sluice-cost'), '0.200015')
    assert.equal((await server.verify()).ok, true)
  })
})
