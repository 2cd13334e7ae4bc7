/**
 * Callers of Anthropic's format in front of upstreams that speak it: everything passes as it came, and is paid for like
 * any other call.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { eventsOf, recordOf } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import {
  ask,
  messageIn,
  send,
  sayingMessage,
  toldIn,
  version,
} from './support/upstream/anthropic-messages.ts'
import { truncating } from './support/upstream/fault-injection.ts'
import { events, failing, json, recordedStream, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }
const upstream = await house.upstream(sayingMessage(['Hello', ' there', '!']), { provider: 'anthropic' })
const common = await house.upstream(saying('Hello from the other!', { input: 12, output: 5 }))
await house.model('claude', { upstreams: [upstream], prices })
await house.model('claude-or-other', { upstreams: [upstream, common], prices })
const alice = await house.account({ balance: '¥10' })
/** 12 tokens in, 8 from the cache, 6 out. */
const cost = '0.0000736'

test('what a caller asks reaches an upstream of the dialect byte by byte, with only the model renamed', async () => {
  await house.admin('PATCH', '/models/claude', {
    routes: [{ upstream: upstream.name, model: 'claude-5-real' }],
  })
  const odd = String.raw`{ "model" : "claude","max_tokens":64, "x-unknown": [1e3, "\u00e9"],
    "system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
    "tools":[{"type":"web_search_20250305","name":"web_search"}],
    "messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"c2ln"},
      {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]},{"role":"user","content":"On."}] }`
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one-2025-01-01,two-2025-02-02' }
  const reply = await send(alice, odd, { headers })
  assert.equal(reply.status, 200)
  const got = upstream.requests.at(-1)
  assert.equal(got?.text, odd.replace('"claude"', '"claude-5-real"'))
  assert.equal(got?.path, '/v1/messages')
  assert.partialDeepStrictEqual(got?.headers, { ...headers, 'x-api-key': 'sk-upstream' })
  assert.equal(got?.headers.authorization, undefined)
})

test('a whole answer passes byte by byte, costs what its usage says, and names its request in both headers', async () => {
  const text =
    '{"id":"msg_9", "type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Hi \\u00e9"}],\n "stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"cache_read_input_tokens":8,"cache_creation_input_tokens":0,"output_tokens":6},"new":1}'
  upstream.next(json(200, text))
  const reply = await send(alice, ask('claude'))
  assert.equal(await reply.text(), text)
  assert.equal(reply.headers.get('x-sluice-cost'), cost)
  assert.equal(reply.headers.get('request-id'), reply.headers.get('x-request-id'))
  const record = await recordOf(alice, reply)
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

test('a stream passes event by event with its pings, and costs the same', async () => {
  const reply = await send(alice, ask('claude', { stream: true }))
  assert.equal(reply.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(reply.headers.get('request-id'), reply.headers.get('x-request-id'))
  const text = await reply.text()
  assert.match(text, /event: ping\n/)
  const message = messageIn(toldIn(text))
  assert.deepEqual(message.content, [{ type: 'text', text: 'Hello there!' }])
  assert.equal(message['stop_reason'], 'end_turn')
  assert.equal((await recordOf(alice, reply)).cost, cost)
  assert.equal(upstream.requests.at(-1)?.json['stream_options'], undefined)
})

test('callers come in with either header, with and without /v1; another service’s x-api-key is not in the way', async () => {
  const body = JSON.stringify(ask('claude'))
  const { secret } = alice.key
  const cases: Record<string, string>[] = [
    { 'x-api-key': secret },
    { authorization: `Bearer ${secret}` },
    { 'x-api-key': 'sk-ant-of-another-service', authorization: `Bearer ${secret}` },
  ]
  for (const headers of cases) {
    for (const path of ['/v1/messages', '/messages', '/v1/messages?beta=true']) {
      const reply = await fetch(`${house.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      })
      assert.equal(reply.status, 200)
      await reply.text()
    }
  }
  // The version that the caller did not tell.
  assert.equal(upstream.requests.at(-1)?.headers['anthropic-version'], '2023-06-01')
})

test('models are listed in the format of whoever asks, page by page', async () => {
  type List = {
    data: { id: string; type: string; display_name: string; created_at: string }[]
    has_more: boolean
    first_id: string
    last_id: string
  }
  const page = async (query: string): Promise<List> =>
    (await (await alice.get(`/v1/models${query}`, version)).json()) as List
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
  const one = (await (await alice.get('/v1/models/claude', version)).json()) as List['data'][0]
  assert.deepEqual([one.type, one.id, one.display_name], ['model', 'claude', 'claude'])
  assert.equal((await alice.get('/v1/models?limit=0', version)).status, 400)
  const plain = (await (await alice.get('/v1/models')).json()) as { object: string }
  assert.equal(plain.object, 'list')
})

test('an upstream that is overloaded before its first content is replaced unseen, by one of another format too', async () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  for (const script of [
    events([{ payload: JSON.stringify(overloaded), name: 'error' }]),
    failing(529, overloaded),
  ]) {
    upstream.next(script)
    const message = messageIn(
      toldIn(await (await send(alice, ask('claude-or-other', { stream: true }))).text()),
    )
    assert.deepEqual(message.content, [{ type: 'text', text: 'Hello from the other!' }])
  }
  upstream.next(failing(529, overloaded))
  const whole = (await (await send(alice, ask('claude-or-other'))).json()) as { content: object[] }
  assert.deepEqual(whole.content, [{ type: 'text', text: 'Hello from the other!' }])
  // Betas are Anthropic's alone.
  assert.equal(common.requests.at(-1)?.headers['anthropic-beta'], undefined)
})

test('an error in the middle of a stream ends it with an error event, and is charged as far as it came', async () => {
  const begun = [
    {
      type: 'message_start',
      message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 9, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'One two three' } },
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  ]
  upstream.next(recordedStream(begun.map((event) => JSON.stringify(event))))
  const reply = await send(alice, ask('claude-or-other', { stream: true }))
  const told = toldIn(await reply.text())
  assert.deepEqual(told.map(({ type }) => type).slice(-2), ['content_block_delta', 'error'])
  assert.equal(told.at(-1)?.error?.type, 'overloaded_error')
  assert.equal(told.at(-1)?.request_id, reply.headers.get('x-request-id'))
  const record = await recordOf(alice, reply)
  assert.deepEqual(
    [record.outcome, record.usage_source, record.completion_tokens],
    ['truncated', 'estimate', 4],
  )
})

test('a search of Anthropic’s own goes out as it happens, and what was written for it counts', async () => {
  const search = [
    {
      type: 'message_start',
      message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 9, output_tokens: 1 } },
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
  const leaving = new AbortController()
  upstream.next(truncating(6, 'hang', recordedStream([...search, '{"type":"ping"}'])))
  const reply = await send(alice, ask('claude', { stream: true }), { signal: leaving.signal })
  let seen = 0
  for await (const event of eventsOf(reply)) {
    assert.equal(event.split('data: ')[1], search[seen])
    seen += 1
    if (seen === search.length) break
  }
  leaving.abort()
  const record = await recordOf(alice, reply)
  assert.deepEqual([record.outcome, record.completion_tokens], ['aborted', 10])
})

test('tokens are counted by an upstream of the dialect, for nothing; where there is none they are estimated', async () => {
  const before = await alice.balance()
  await house.model('other', { upstreams: [common], prices })
  const count = (model: string, fields: object = {}): Promise<Response> =>
    send(
      alice,
      { model, messages: [{ role: 'user', content: 'Count these words.' }], ...fields },
      { path: '/v1/messages/count_tokens' },
    )
  upstream.next(json(200, '{"input_tokens": 2095}'))
  const counted = await count('claude', { system: 'Be brief.' })
  assert.equal(await counted.text(), '{"input_tokens": 2095}')
  assert.equal(upstream.requests.at(-1)?.path, '/v1/messages/count_tokens')
  assert.equal(upstream.requests.at(-1)?.json['model'], 'claude-5-real')

  const asked = common.requests.length
  const estimated = { input_tokens: 5, sluice: { source: 'estimate' } }
  assert.deepEqual(await (await count('other')).json(), estimated)
  upstream.next(failing(500))
  assert.deepEqual(await (await count('claude')).json(), estimated)
  upstream.next(
    failing(400, { type: 'error', error: { type: 'invalid_request_error', message: 'messages: too odd' } }),
  )
  const wrong = await count('claude')
  assert.deepEqual(
    [wrong.status, ((await wrong.json()) as { error: object }).error],
    [400, { type: 'invalid_request_error', message: 'messages: too odd', code: 'invalid_request' }],
  )
  assert.equal(common.requests.length, asked)
  assert.equal(await alice.balance(), before)

  const limited = await house.account({ key: { limits: { rpm: 1 } } })
  const once = { model: 'other', messages: [{ role: 'user', content: 'Hi' }] }
  const path = { path: '/v1/messages/count_tokens' }
  assert.deepEqual(
    [(await send(limited, once, path)).status, (await send(limited, once, path)).status],
    [200, 429],
  )
})

const folder = join(process.env['RECORDINGS_DIR'] ?? '', 'anthropic')
const skip =
  existsSync(folder) && process.env['RECORDINGS_DIR']
    ? false
    : 'no recordings of providers (RECORDINGS_DIR is not set)'

test('what Anthropic has said passes through byte by byte, whole and streamed', { skip }, async () => {
  for (const file of readdirSync(folder)) {
    const text = readFileSync(join(folder, file), 'utf8')
    const isStream = file.endsWith('.chunks.txt')
    const payloads = isStream ? text.split('\n').filter(Boolean) : []
    upstream.next(isStream ? recordedStream(payloads) : json(200, text))
    const reply = await send(alice, ask('claude', { stream: isStream }))
    const framed = payloads.map((payload) => {
      return `event: ${(JSON.parse(payload) as { type: string }).type}\ndata: ${payload}\n\n`
    })
    assert.equal(await reply.text(), isStream ? framed.join('') : text, file)
    const record = await recordOf(alice, reply)
    assert.deepEqual([record.outcome, record.usage_source], ['ok', 'provider'], file)
  }
})
