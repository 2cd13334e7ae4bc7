// @backend both
/** Web searches are held before they are made: what an account cannot pay for is rejected. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  assembleMessage,
  messagesRequest,
  parseMessagesEvents,
  postMessages,
} from '../../support/upstream/anthropic-messages.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondWith,
  respondWithEvents,
  respondWithJson,
  type NamedEvent,
} from '../../support/upstream/scripted-responses.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord } from '../../support/client/responses.ts'

const server = await sharedTestServer()

/** A message of Anthropic's format that searches this often, then writes. Ends only if it is complete. */
function searchesThenText(searches: number, isComplete: boolean): Script {
  const event = (type: string, fields: object): NamedEvent => ({
    name: type,
    payload: JSON.stringify({ type, ...fields }),
  })
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm' }
  const usage = { input_tokens: 10, output_tokens: 1 }
  const search = (index: number): NamedEvent[] => [
    event('content_block_start', {
      index,
      content_block: { type: 'server_tool_use', id: `srvtoolu_${index}`, name: 'web_search', input: {} },
    }),
    event('content_block_stop', { index }),
  ]
  const used = { output_tokens: 5, server_tool_use: { web_search_requests: searches } }
  const events = [
    event('message_start', { message: { ...message, usage } }),
    ...Array.from({ length: searches }, (_, index) => search(index)).flat(),
    event('content_block_start', { index: searches, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: searches, delta: { type: 'text_delta', text: 'Found it.' } }),
    event('content_block_stop', { index: searches }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: used }),
    event('message_stop', {}),
  ]
  return isComplete
    ? respondWithEvents(events)
    : truncateAfter(events.length - 3, 'hang', respondWithEvents(events))
}

const claude = await server.upstream(searchesThenText(1, true), { provider: 'anthropic' })
await server.model('claude', {
  upstreams: [claude],
  prices: { input: '0.001', output: '0.001', per_search: '0.1' },
})
const searchTool = { type: 'web_search_20250305', name: 'web_search' }

function searchingMessage(fields: object = {}): ReturnType<typeof messagesRequest> {
  return messagesRequest('claude', { stream: true, max_tokens: 40, tools: [{ ...searchTool, ...fields }] })
}

describe('Search holds', () => {
  test('Stream – holds the next search as each appears, and ends when it cannot be paid', async () => {
    const account = await server.account({ balance: '¥0.45' })
    claude.next(searchesThenText(8, false))
    const response = await postMessages(account, searchingMessage())
    const message = assembleMessage(parseMessagesEvents(await response.text()))
    assert.equal(message['stop_reason'], 'max_tokens')
    await claude.nextDisconnect()
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.outcome, record.usage_source, record.searches], ['ended', 'estimate', 4])
    const { ok, overrun } = await server.verify()
    assert.deepEqual([ok, Number(overrun)], [true, 0])
  })

  test('Stream of a request with max_uses – holds no more searches than those', async () => {
    const account = await server.account({ balance: '¥0.25' })
    claude.next(searchesThenText(2, true))
    const response = await postMessages(account, searchingMessage({ max_uses: 2 }))
    const message = assembleMessage(parseMessagesEvents(await response.text()))
    assert.equal(message['stop_reason'], 'end_turn')
    assert.equal((await waitForRecord(account, response)).searches, 2)
  })

  test('Caller that disconnects – is charged the searches that were seen', async () => {
    const account = await server.account({ balance: '¥1' })
    claude.next(searchesThenText(3, false))
    const abort = new AbortController()
    const response = await postMessages(account, searchingMessage(), { signal: abort.signal })
    for await (const event of readEvents(response)) if (event.includes('Found it.')) break
    abort.abort()
    const record = await waitForRecord(account, response)
    assert.equal(record.outcome, 'aborted')
    assert.ok(Number(record.cost) > 0.3 && Number(record.cost) < 0.4, record.cost)
  })

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
