// @backend both (cluster in long runs)
/** Fields that choose another maximum, model or service: 400 names them, nothing is sent or charged; allowed ones pass. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { RegisteredUpstream } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  postMessages,
  respondWithMessage,
} from '../../support/upstream/anthropic-messages.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const account = await server.account({ balance: '¥10' })
const prices = { input: '0.002', output: '0.002' }

const upstreams = new Map<string, RegisteredUpstream>()
for (const provider of ['openai', 'openai-compatible', 'anthropic', 'openrouter', 'ollama']) {
  const script = provider === 'anthropic' ? respondWithMessage(['Hello!']) : respondWith('Hello!')
  const upstream = await server.upstream(script, { provider })
  upstreams.set(provider, upstream)
  await server.model(`on-${provider}`, { upstreams: [upstream], prices })
}

type Format = 'chat' | 'messages'

/** The error of a response in either format. */
async function readError(response: Response): Promise<{ param: string; message: string }> {
  const { error } = (await response.json()) as { error: { param: string; message: string } }
  return error
}

function send(
  format: Format,
  model: string,
  fields: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  if (format === 'chat') return account.post(chatRequest(model, fields))
  return postMessages(account, messagesRequest(model, fields), { headers })
}

function requestsOf(provider: string): RegisteredUpstream['requests'] {
  const upstream = upstreams.get(provider)
  assert.ok(upstream)
  return upstream.requests
}

const everywhere = [
  ['n_predict', { n_predict: 8000 }],
  ['options.num_predict', { options: { num_predict: 8000 } }],
  ['ignore_eos', { ignore_eos: true }],
  ['service_tier', { service_tier: 'priority' }],
  ['container', { container: 'container_1' }],
  ['tools[0].type', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
  ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
] as const
/** [provider, formats, param, fields] */
const rejected: readonly (readonly [string, readonly Format[], string, object])[] = [
  ...[...upstreams.keys()].flatMap((provider) =>
    everywhere.map(([param, fields]) => [provider, ['chat', 'messages'], param, fields] as const),
  ),
  ['openrouter', ['chat'], 'models', { models: ['anthropic/claude-opus-4'], provider: { only: ['none'] } }],
  ['openai-compatible', ['chat'], 'route', { route: 'fallback' }],
  ['anthropic', ['messages'], 'speed', { speed: 'fast' }],
  ['anthropic', ['messages'], 'inference_geo', { inference_geo: 'us' }],
  ['anthropic', ['messages'], 'max_completion_tokens', { max_completion_tokens: 9000 }],
]

describe('restricted fields', () => {
  test('each format and upstream – 400 names the field, which is not sent and costs nothing', async () => {
    const before = await account.balance()
    for (const [provider, formats, param, fields] of rejected) {
      for (const format of formats) {
        const count = requestsOf(provider).length
        const response = await send(format, `on-${provider}`, fields)
        const about = `${provider} ${format} ${param}`
        assert.deepEqual([response.status, response.headers.get('x-should-retry')], [400, 'false'], about)
        const { param: named, message } = await readError(response)
        assert.equal(named, param, about)
        assert.match(message, /operator can/, about)
        assert.equal(requestsOf(provider).length, count, about)
      }
    }
    assert.equal(await account.balance(), before)
  })

  test('anthropic-beta – 400 names the header for a beta that costs more; all others pass', async () => {
    const free = 'claude-code-20250219,interleaved-thinking-2025-05-14,context-1m-2025-08-07'
    const passed = await send('messages', 'on-anthropic', {}, { 'anthropic-beta': free })
    assert.equal(passed.status, 200)
    assert.equal(requestsOf('anthropic').at(-1)?.headers['anthropic-beta'], free)
    const fast = { 'anthropic-beta': `${free},fast-mode-2026-02-01` }
    const response = await send('messages', 'on-anthropic', {}, fast)
    assert.deepEqual([response.status, (await readError(response)).param], [400, 'anthropic-beta'])
    assert.equal((await send('messages', 'on-openai', {}, fast)).status, 200)
  })

  test('thread – has the error code with which Anthropic’s clients go on without threads', async () => {
    const response = await send('messages', 'on-anthropic', { thread: { type: 'new' } })
    assert.equal(response.status, 400)
    assert.partialDeepStrictEqual(await response.json(), {
      error: { param: 'thread', details: { error_code: 'thread_unsupported_request' } },
    })
  })

  test('Token count – is free, and rejects only what refers to state at the provider', async () => {
    const path = '/v1/messages/count_tokens'
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    const counted = await postMessages(account, messagesRequest('on-openai', { tools }), { path })
    assert.equal(counted.status, 200)
    const thread = await postMessages(account, messagesRequest('on-openai', { thread: 'id_1' }), { path })
    assert.deepEqual([thread.status, (await readError(thread)).param], [400, 'thread'])
  })

  test('allowed_fields – pass unchanged, and only at the upstreams that list them', async () => {
    const plain = await server.upstream(respondWith('plain'), { provider: 'ollama' })
    const open = await server.upstream(respondWith('open'), {
      provider: 'ollama',
      allowed_fields: ['num_predict', 'service_tier'],
    })
    await server.model('either', { upstreams: [plain, open], prices })
    const body = `{ "model":"either", "service_tier" : "flex","options":{"num_predict": 9.0},"max_tokens":5,
      "messages":[{"role":"user","content":"Hi"}] }`
    for (let nth = 0; nth < 5; nth++) assert.equal((await account.post(body)).status, 200)
    assert.deepEqual([plain.requests.length, open.requests.length], [0, 5])
    assert.equal(open.requests.at(-1)?.text, body)
    assert.equal((await account.post(chatRequest('either'))).status, 200)
    assert.equal(plain.requests.length, 1)
    const both = await send('chat', 'either', { service_tier: 'flex', n_predict: 9 })
    assert.deepEqual([both.status, (await readError(both)).param], [400, 'n_predict'])
    await server.admin('PATCH', `/upstreams/${open.id}`, { allowed_fields: [] })
    assert.equal((await account.post(body)).status, 400)
  })

  test('Fallback model – serves a request with a field that its upstream takes', async () => {
    const [strict, open] = [
      upstreams.get('openai'),
      await server.upstream(respondWith('open'), { allowed_fields: ['service_tier'] }),
    ]
    assert.ok(strict)
    await server.model('wide', { upstreams: [open], prices })
    await server.model('narrow', { upstreams: [strict], prices, fallbacks: ['wide'] })
    const response = await send('chat', 'narrow', { service_tier: 'flex' })
    assert.deepEqual([response.status, response.headers.get('x-sluice-model')], [200, 'wide'])
  })

  test('Web search – is covered by the price per search of the model', async () => {
    const searching = upstreams.get('anthropic')
    assert.ok(searching)
    await server.model('searching', { upstreams: [searching], prices: { ...prices, per_search: '0.07' } })
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]
    assert.equal((await send('messages', 'searching', { tools })).status, 200)
    const fetching = [...tools, { type: 'web_fetch_20250910', name: 'web_fetch' }]
    const response = await send('messages', 'searching', { tools: fetching })
    assert.deepEqual([response.status, (await readError(response)).param], [400, 'tools[1].type'])
  })

  test('Two maximums – the smaller leaves under the name that the upstream has', async () => {
    const named = await server.upstream(respondWith('Hi'), {
      provider: 'vllm',
      max_tokens_field: 'max_completion_tokens',
    })
    await server.model('on-named', { upstreams: [named], prices })
    const maximums = { max_tokens: 9000, max_completion_tokens: 7 }
    const expected = {
      'on-openai': 'max_completion_tokens',
      'on-ollama': 'max_tokens',
      'on-named': 'max_completion_tokens',
    }
    for (const [model, field] of Object.entries(expected)) {
      assert.equal((await send('chat', model, maximums)).status, 200)
      const received = (model === 'on-named' ? named.requests : requestsOf(model.slice(3))).at(-1)
      const {
        messages: _messages,
        model: _model,
        ...rest
      } = JSON.parse(received?.text ?? '') as Record<string, unknown>
      assert.deepEqual(rest, { [field]: 7 })
    }
  })
})

describe('upstream options', () => {
  test('max_tokens_field – and its old name are one stored setting', async () => {
    const { id } = await server.upstreamAt('http://127.0.0.1:9/v1', {
      settings: { maximum_field: 'max_completion_tokens' },
    })
    const patch = (fields: object): Promise<Record<string, unknown>> =>
      server.admin('PATCH', `/upstreams/${id}`, fields) as Promise<Record<string, unknown>>
    const shown = await patch({ allowed_fields: ['speed', 'speed', 'tools'] })
    assert.partialDeepStrictEqual(shown, {
      max_tokens_field: 'max_completion_tokens',
      settings: { maximum_field: 'max_completion_tokens' },
      allowed_fields: ['speed', 'tools'],
    })
    assert.partialDeepStrictEqual(await patch({ settings: {} }), {
      max_tokens_field: null,
      allowed_fields: ['speed', 'tools'],
    })
    assert.partialDeepStrictEqual(await patch({ max_tokens_field: 'max_tokens' }), {
      settings: { maximum_field: 'max_tokens' },
    })
    assert.partialDeepStrictEqual(await patch({ max_tokens_field: null, allowed_fields: null }), {
      settings: {},
      allowed_fields: [],
    })
    const { data } = (await server.admin('GET', `/audit?object=${id}`)) as { data: { detail: object }[] }
    assert.deepEqual(data[0]?.detail, {
      max_tokens_field: { before: 'max_tokens', after: null },
      allowed_fields: { before: ['speed', 'tools'], after: null },
    })
  })
})
