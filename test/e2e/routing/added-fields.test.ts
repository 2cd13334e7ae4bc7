// @backend both (cluster in long runs)
/** The `headers` and the `body` that an operator adds to every request to an upstream. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readDatabaseBytes } from '../../support/server/database-access.ts'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith, respondWithError, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const account = await server.account({ balance: '¥10' })
const secret = 'canary-of-the-gateway-0123456789'
const headers = { 'X-Gateway-Key': secret, 'user-agent': 'my relay' }
const body = { user: 'operator', provider: { sort: 'price' } }

interface Upstream {
  readonly id: string
  readonly header_names: string[]
  readonly body: object
}

const requests = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/messages': { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 64 },
  '/v1/responses': { input: 'Hi' },
  '/v1/completions': { prompt: 'Hi' },
  '/v1/embeddings': { input: 'Hi' },
}
const responses = {
  '/v1/embeddings': respondWithJson(200, {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1] }],
    model: 'all',
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
  '/v1/completions': respondWithJson(200, {
    object: 'text_completion',
    choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
}

describe('Added headers and body', () => {
  test('Every operation – carries them, and keeps what the caller sent', async () => {
    const upstream = await server.upstream(respondWith('Hello'), { headers, body })
    await server.model('all', { upstreams: [upstream], operations: ['chat', 'completions', 'embeddings'] })
    for (const [path, fields] of Object.entries(requests)) {
      const script = Object.entries(responses).find(([each]) => each === path)?.[1]
      if (script) upstream.next(script)
      const response = await account.post({ model: 'all', user: 'caller', ...fields }, { path })
      assert.equal(response.status, 200, `${path}: ${await response.text()}`)
      const sent = upstream.requests.at(-1)
      assert.ok(sent)
      assert.partialDeepStrictEqual(sent.headers, { 'x-gateway-key': secret, 'user-agent': 'my relay' })
      assert.deepEqual(sent.json['provider'], body.provider, path)
      if (path !== '/v1/messages') assert.equal(sent.json['user'], 'caller', path)
    }
  })

  test('Other formats – get them where the provider reads its request', async () => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const content = [{ type: 'text', text: 'Hello' }]
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content,
      stop_reason: 'end_turn',
      usage,
    }
    const part = { content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }
    for (const [provider, answer, added] of [
      ['anthropic', message, { metadata: { user_id: 'operator' } }],
      ['gemini', { candidates: [part] }, { safetySettings: [] }],
    ] as const) {
      const upstream = await server.upstream(respondWithJson(200, answer), { provider, headers, body: added })
      await server.model(provider, { upstreams: [upstream] })
      const response = await account.post(chatRequest(provider))
      assert.equal(response.status, 200, await response.text())
      const sent = upstream.requests.at(-1)
      assert.equal(sent?.headers['x-gateway-key'], secret)
      assert.partialDeepStrictEqual(sent.json, added)
    }
  })

  test('List of models – is asked with the headers', async () => {
    const upstream = await server.upstream(respondWithJson(200, { data: [{ id: 'm' }] }), { headers })
    await server.admin('POST', `/upstreams/${upstream.id}/fetch-models`, {})
    assert.equal(upstream.requests.at(-1)?.headers['x-gateway-key'], secret)
  })

  test('Secrets – are shown by name only, stored sealed, and removed from errors', async () => {
    const upstream = await server.upstream(respondWithError(400, { error: { message: `Bad ${secret}` } }), {
      headers,
      body,
    })
    await server.model('leaking', { upstreams: [upstream] })
    const seen = await server.admin<Upstream>('GET', `/upstreams/${upstream.id}`)
    assert.deepEqual([seen.header_names, seen.body], [Object.keys(headers), body])
    const replaced = { headers: { 'x-other': `${secret}-2` } }
    const changed = await server.admin<Upstream>('PATCH', `/upstreams/${upstream.id}`, replaced)
    assert.deepEqual([changed.header_names, changed.body], [['x-other'], body])
    await server.admin('PATCH', `/upstreams/${upstream.id}`, { headers })
    const response = await account.post(chatRequest('leaking'))
    const text = await response.text()
    assert.match(text, /Bad \[removed\]/)
    const outputs = [
      text,
      await server.admin('GET', '/upstreams'),
      await server.admin('GET', '/audit?limit=50'),
      await server.admin('GET', '/requests?limit=50'),
      server.log,
    ]
    assert.doesNotMatch(JSON.stringify(outputs), /canary/)
    assert.ok(!(await readDatabaseBytes(server.relay)).includes(secret))
  })

  test('Another origin – gets no stored headers, only those of the same call', async () => {
    const first = await server.upstream(respondWith('Hello'), { headers })
    const second = await server.upstream(respondWith('Hello'))
    const move = (fields: object) =>
      server.admin<Upstream>('PATCH', `/upstreams/${first.id}`, { base_url: second.url, ...fields })
    assert.deepEqual((await move({})).header_names, [])
    const back = await server.admin<Upstream>('PATCH', `/upstreams/${first.id}`, {
      base_url: first.url,
      headers: { 'x-new': 'value' },
    })
    assert.deepEqual(back.header_names, ['x-new'])
    const none = await server.admin<Upstream>('PATCH', `/upstreams/${first.id}`, { headers: null })
    assert.deepEqual(none.header_names, [])
  })
})
