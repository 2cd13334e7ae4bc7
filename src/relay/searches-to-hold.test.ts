import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { messagesRequest } from './request/messages.fixture.ts'
import { readChatRequest } from './request/request-body.ts'
import { searchesToHold } from './searches-to-hold.ts'

const modelAt = (provider: string, perSearch: bigint | null) => ({
  price: { perSearch },
  routes: [{ upstream: { provider }, upstreamModel: 'm' }],
})

function chat(fields: object) {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields }
  return readChatRequest(Buffer.from(JSON.stringify(body)))
}

describe('searchesToHold', () => {
  const model = modelAt('openai', 70_000_000n)

  test('offered searches – hold 10 per result, a stream one', () => {
    assert.equal(searchesToHold({ request: chat({}), model }), 0)
    assert.equal(searchesToHold({ request: chat({ web_search_options: {} }), model }), 10)
    assert.equal(searchesToHold({ request: chat({ web_search_options: {}, n: 2 }), model }), 20)
    assert.equal(searchesToHold({ request: chat({ web_search_options: {}, stream: true }), model }), 1)
    assert.equal(searchesToHold({ request: chat({}), model: modelAt('perplexity', 1n) }), 10)
  })

  test('searches without a price – hold nothing', () => {
    for (const free of [null, 0n])
      assert.equal(searchesToHold({ request: chat({}), model: modelAt('perplexity', free) }), 0)
  })

  test('max_uses – is what a non-streaming request holds', () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
    const claude = modelAt('anthropic', 1n)
    assert.equal(searchesToHold({ request: messagesRequest({ tools }), model: claude }), 3)
    const none = messagesRequest({ tools: [{ ...tools[0], max_uses: 0 }], stream: true })
    assert.equal(searchesToHold({ request: none, model: claude }), 0)
  })
})
