// @backend both
/** Web searches are held before they are made: what an account cannot pay for is rejected. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith, respondWithJson } from '../../support/upstream/scripted-responses.ts'

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

  test('Cited pages – are one search where the usage counts none, if the request offers one', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('citing', {
      upstreams: [upstream],
      prices: { input: '0', output: '0', per_search: '0.1' },
    })
    const account = await server.account({ balance: '¥5' })
    const annotations = [{ type: 'url_citation', url_citation: { url: 'https://example.com/' } }]
    const message = { role: 'assistant', content: 'Hello!', annotations }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 10, completion_tokens: 5 }
    for (const [fields, cost] of [
      [{ web_search_options: {} }, '0.1'],
      [{}, '0'],
    ] as const) {
      upstream.next(
        respondWithJson(200, { id: 'c', object: 'chat.completion', model: 'citing', choices, usage }),
      )
      const response = await account.post(chatRequest('citing', fields))
      assert.equal(response.headers.get('x-sluice-cost'), cost)
      await response.text()
    }
  })
})
