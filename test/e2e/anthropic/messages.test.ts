// @backend both
/** The Messages API with upstreams that have it too: requests and responses pass unchanged and are billed as usual. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  assembleMessage,
  postMessages,
  respondWithMessage,
  parseMessagesEvents,
  versionHeader,
} from '../../support/upstream/anthropic-messages.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondWithEvents,
  respondWithError,
  respondWithJson,
  respondWithRecordedStream,
  respondWith,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const tokenPrices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }
const prices = { ...tokenPrices, per_search: '0.07' }
const upstream = await server.upstream(respondWithMessage(['Hello', ' there', '!']), {
  provider: 'anthropic',
})
const openai = await server.upstream(respondWith('Hello from the other!', { input: 12, output: 5 }))
await server.model('claude', { upstreams: [upstream], prices })
await server.model('claude-or-other', { upstreams: [upstream, openai.strict('openai')], prices })
const alice = await server.account({ balance: '¥10' })
/** 12 input tokens, 8 from the cache, 6 output tokens. */
const cost = '0.0000736'
const folder = join(process.env['RECORDINGS_DIR'] ?? '', 'anthropic')
const skip =
  existsSync(folder) && process.env['RECORDINGS_DIR']
    ? false
    : 'no recordings of providers (RECORDINGS_DIR is not set)'

describe('Messages API', () => {
  test('Request – reaches an Anthropic upstream byte for byte except for the model', async () => {
    const route = { upstream: upstream.name, model: 'claude-5-real', expose_model: true }
    await server.admin('PATCH', '/models/claude', { routes: [route] })
    const body = String.raw`{ "model" : "claude","max_tokens":64, "x-unknown": [1e3, "\u00e9"],
    "system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
    "tools":[{"type":"web_search_20250305","name":"web_search"}],
    "messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"c2ln"},
      {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]},{"role":"user","content":"On."}] }`
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one-2025-01-01,two-2025-02-02' }
    const response = await postMessages(alice, body, { headers })
    assert.equal(response.status, 200)
    const received = upstream.requests.at(-1)
    assert.equal(received?.text, body.replace('"claude"', '"claude-5-real"'))
    assert.equal(received?.path, '/v1/messages')
    assert.partialDeepStrictEqual(received?.headers, { ...headers, 'x-api-key': 'sk-upstream' })
    assert.equal(received?.headers.authorization, undefined)
  })

  test('Message – passes byte for byte, costs its usage, and has both request id headers', async () => {
    const text =
      '{"id":"msg_9", "type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Hi \\u00e9"}],\n "stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"cache_read_input_tokens":8,"cache_creation_input_tokens":0,"output_tokens":6},"new":1}'
    upstream.next(respondWithJson(200, text))
    const response = await postMessages(alice, messagesRequest('claude'))
    assert.equal(await response.text(), text)
    assert.equal(response.headers.get('x-sluice-cost'), cost)
    assert.equal(response.headers.get('request-id'), response.headers.get('x-request-id'))
    const record = await waitForRecord(alice, response)
    assert.partialDeepStrictEqual(record, {
      outcome: 'ok',
      cost,
      prompt_tokens: 20,
      cached_tokens: 8,
      completion_tokens: 6,
      usage_source: 'provider',
      finish: 'stop',
    })
  })

  test('Stream – passes event by event with its pings and costs the same', async () => {
    const response = await postMessages(alice, messagesRequest('claude', { stream: true }))
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(response.headers.get('request-id'), response.headers.get('x-request-id'))
    const text = await response.text()
    assert.match(text, /event: ping\n/)
    const message = assembleMessage(parseMessagesEvents(text))
    assert.deepEqual(message.content, [{ type: 'text', text: 'Hello there!' }])
    assert.equal(message['stop_reason'], 'end_turn')
    assert.equal((await waitForRecord(alice, response)).cost, cost)
    assert.equal(upstream.requests.at(-1)?.json['stream_options'], undefined)
  })

  test('Authentication – accepts x-api-key or Authorization, with and without /v1', async () => {
    const body = JSON.stringify(messagesRequest('claude'))
    const { secret } = alice.key
    const cases: Record<string, string>[] = [
      { 'x-api-key': secret },
      { authorization: `Bearer ${secret}` },
      { 'x-api-key': 'sk-ant-of-another-service', authorization: `Bearer ${secret}` },
    ]
    for (const headers of cases) {
      for (const path of ['/v1/messages', '/messages', '/v1/messages?beta=true']) {
        const response = await fetch(`${server.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body,
        })
        assert.equal(response.status, 200)
        await response.text()
      }
    }
    // The default for callers that send no version.
    assert.equal(upstream.requests.at(-1)?.headers['anthropic-version'], '2023-06-01')
  })

  test('Model list – is returned in the caller’s format, page by page', async () => {
    type List = {
      data: { id: string; type: string; display_name: string; created_at: string }[]
      has_more: boolean
      first_id: string
      last_id: string
    }
    const page = async (query: string): Promise<List> =>
      (await (await alice.get(`/v1/models${query}`, versionHeader)).json()) as List
    const all = await page('')
    assert.deepEqual(all.data.map(({ id }) => id).toSorted(), ['claude', 'claude-or-other'])
    assert.deepEqual([all.has_more, all.first_id, all.last_id], [false, all.data[0]?.id, all.data.at(-1)?.id])
    assert.ok(
      all.data.every(({ type, created_at }) => type === 'model' && !Number.isNaN(Date.parse(created_at))),
    )
    const first = await page('?limit=1')
    assert.deepEqual([first.data.length, first.has_more], [1, true])
    const second = await page(`?limit=1&after_id=${first.last_id}`)
    assert.deepEqual([second.data[0]?.id, second.has_more], [all.last_id, false])
    assert.deepEqual((await page(`?limit=1&before_id=${second.first_id}`)).data, first.data)
    const one = (await (await alice.get('/v1/models/claude', versionHeader)).json()) as List['data'][0]
    assert.deepEqual([one.type, one.id, one.display_name], ['model', 'claude', 'claude'])
    assert.equal((await alice.get('/v1/models?limit=0', versionHeader)).status, 400)
    const plain = (await (await alice.get('/v1/models')).json()) as { object: string }
    assert.equal(plain.object, 'list')
  })

  test('Overloaded upstream – is replaced unnoticed, also by one with another format', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    for (const script of [
      respondWithEvents([{ payload: JSON.stringify(overloaded), name: 'error' }]),
      respondWithError(529, overloaded),
    ]) {
      upstream.next(script)
      const message = assembleMessage(
        parseMessagesEvents(
          await (await postMessages(alice, messagesRequest('claude-or-other', { stream: true }))).text(),
        ),
      )
      assert.deepEqual(message.content, [{ type: 'text', text: 'Hello from the other!' }])
    }
    upstream.next(respondWithError(529, overloaded))
    const nonStreaming = (await (await postMessages(alice, messagesRequest('claude-or-other'))).json()) as {
      content: object[]
    }
    assert.deepEqual(nonStreaming.content, [{ type: 'text', text: 'Hello from the other!' }])
    // The beta header is sent only to Anthropic.
    assert.equal(openai.requests.at(-1)?.headers['anthropic-beta'], undefined)
  })

  test('Error within a stream – ends it with an error event, charged for the delivered tokens', async () => {
    const started = [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 9, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'One two three' } },
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    ]
    upstream.next(respondWithRecordedStream(started.map((event) => JSON.stringify(event))))
    const response = await postMessages(alice, messagesRequest('claude-or-other', { stream: true }))
    const events = parseMessagesEvents(await response.text())
    assert.deepEqual(events.map(({ type }) => type).slice(-2), ['content_block_delta', 'error'])
    assert.equal(events.at(-1)?.error?.type, 'overloaded_error')
    assert.equal(events.at(-1)?.request_id, response.headers.get('x-request-id'))
    const record = await waitForRecord(alice, response)
    assert.deepEqual(
      [record.outcome, record.usage_source, record.completion_tokens],
      ['truncated', 'estimate', 4],
    )
  })

  test('Anthropic’s web search – is forwarded as it happens, and its tokens count', async () => {
    const search = [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 9, output_tokens: 1 },
        },
      },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"query":"weather in Bern"}' },
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
      },
      { type: 'content_block_stop', index: 1 },
    ].map((event) => JSON.stringify(event))
    const disconnect = new AbortController()
    upstream.next(truncateAfter(6, 'hang', respondWithRecordedStream([...search, '{"type":"ping"}'])))
    const response = await postMessages(alice, messagesRequest('claude', { stream: true }), {
      signal: disconnect.signal,
    })
    let seen = 0
    for await (const event of readEvents(response)) {
      assert.equal(event.split('data: ')[1], search[seen++])
      if (seen === search.length) break
    }
    disconnect.abort()
    const record = await waitForRecord(alice, response)
    assert.deepEqual([record.outcome, record.completion_tokens], ['aborted', 10])
  })

  test('Token counting – is free, by an Anthropic upstream or else estimated', async () => {
    const before = await alice.balance()
    await server.model('other', { upstreams: [openai], prices })
    const count = (model: string, fields: object = {}): Promise<Response> =>
      postMessages(
        alice,
        { model, messages: [{ role: 'user', content: 'Count these words.' }], ...fields },
        { path: '/v1/messages/count_tokens' },
      )
    upstream.next(respondWithJson(200, '{"input_tokens": 2095}'))
    const counted = await count('claude', { system: 'Be brief.' })
    assert.equal(await counted.text(), '{"input_tokens": 2095}')
    assert.equal(upstream.requests.at(-1)?.path, '/v1/messages/count_tokens')
    assert.equal(upstream.requests.at(-1)?.json['model'], 'claude-5-real')

    const requestsBefore = openai.requests.length
    const estimated = { input_tokens: 5, sluice: { source: 'estimate' } }
    assert.deepEqual(await (await count('other')).json(), estimated)
    upstream.next(respondWithError(500))
    assert.deepEqual(await (await count('claude')).json(), estimated)
    upstream.next(
      respondWithError(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'messages: too odd' },
      }),
    )
    const invalid = await count('claude')
    assert.deepEqual(
      [invalid.status, ((await invalid.json()) as { error: object }).error],
      [400, { type: 'invalid_request_error', message: 'messages: too odd', code: 'invalid_request' }],
    )
    assert.equal(openai.requests.length, requestsBefore)
    assert.equal(await alice.balance(), before)

    const limited = await server.account({ balance: '1', key: { limits: { rpm: 1 } } })
    const once = { model: 'other', messages: [{ role: 'user', content: 'Hi' }] }
    const path = { path: '/v1/messages/count_tokens' }
    assert.deepEqual(
      [(await postMessages(limited, once, path)).status, (await postMessages(limited, once, path)).status],
      [200, 429],
    )
  })

  test('Recorded Anthropic responses – pass byte for byte, streaming or not', { skip }, async () => {
    for (const file of readdirSync(folder)) {
      const text = readFileSync(join(folder, file), 'utf8')
      const isStream = file.endsWith('.chunks.txt')
      const payloads = isStream ? text.split('\n').filter(Boolean) : []
      upstream.next(isStream ? respondWithRecordedStream(payloads) : respondWithJson(200, text))
      const response = await postMessages(alice, messagesRequest('claude', { stream: isStream }))
      const framed = payloads.map((payload) => {
        return `event: ${(JSON.parse(payload) as { type: string }).type}\ndata: ${payload}\n\n`
      })
      assert.equal(await response.text(), isStream ? framed.join('') : text, file)
      const record = await waitForRecord(alice, response)
      assert.deepEqual([record.outcome, record.usage_source], ['ok', 'provider'], file)
    }
  })
})
