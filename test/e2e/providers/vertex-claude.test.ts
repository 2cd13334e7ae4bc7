// @backend both (cluster in long runs)
/** Anthropic's models on Vertex AI: Messages requests pass through, chat completions are translated, and both are billed. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { wrapSignature } from '../../../src/formats/thinking-signature.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { streamedText } from '../../support/client/responses.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  postMessages,
  respondWithMessage,
  parseMessagesEvents,
} from '../../support/upstream/anthropic-messages.ts'
import { respondWithError } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }
const respond = respondWithMessage(['Hello', ' there', '!'])
/** Names every event, as Anthropic's streams do on every platform. */
const respondWithNamedEvents: Script = (exchange) => {
  const eventName = (payload: string): string => (JSON.parse(payload) as { type: string }).type
  return respond({ ...exchange, event: (payload) => exchange.event(payload, eventName(payload)) })
}
const upstream = await server.upstream(respondWithNamedEvents, {
  provider: 'vertex',
  credential: 'an-api-key',
})
const vertexModel = 'claude-sonnet-9@20270101'
await server.admin('POST', '/models', {
  id: 'claude',
  context_tokens: 200_000,
  prices,
  routes: [{ upstream: upstream.name, model: vertexModel }],
})
const alice = await server.account({ balance: '¥10' })
const modelPath = `/v1/publishers/anthropic/models/${vertexModel}`

describe('Claude on Vertex AI', () => {
  test('Messages request – passes unchanged, with model in the path and version in the body', async () => {
    const body = `{ "model" : "claude","max_tokens":64, "x-unknown": [1e3, "\\u00e9"],\n "messages":[{"role":"user","content":"Hi"}]}`
    const headers = { 'anthropic-beta': 'oauth-2025-04-20, interleaved-thinking-2025-05-14' }
    const response = await postMessages(alice, body, { headers })
    assert.equal(response.status, 200)
    assert.match(await response.text(), /"text":"Hello there!"/)
    assert.equal(response.headers.get('x-sluice-cost'), '0.0000736')
    const received = upstream.requests.at(-1)
    assert.equal(received?.path, `${modelPath}:rawPredict`)
    assert.equal(
      received?.text,
      `{ "max_tokens":64, "x-unknown": [1e3, "\\u00e9"],\n "messages":[{"role":"user","content":"Hi"}],"anthropic_version":"vertex-2023-10-16"}`,
    )
    // Vertex rejects beta headers that it does not know.
    assert.equal(received?.headers['anthropic-beta'], 'interleaved-thinking-2025-05-14')
    assert.equal(received?.headers['x-goog-api-key'], 'an-api-key')
  })

  test('A beta that Vertex does not know leaves with its fields, also beside thinking of others', async () => {
    const betas = 'prompt-caching-scope-2026-01-05,advanced-tool-use-2025-11-20'
    const foreign = { type: 'thinking', thinking: 'Hm', signature: wrapSignature('deepseek') }
    const text = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', scope: 'global' } }
    const request = messagesRequest('claude', {
      messages: [
        { role: 'user', content: [text] },
        { role: 'assistant', content: [foreign, { type: 'text', text: 'Yes?' }] },
        { role: 'user', content: 'Go on.' },
      ],
      tools: [{ name: 'clock', input_schema: { type: 'object' }, defer_loading: true }],
      output_format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } },
    })
    const response = await postMessages(alice, request, { headers: { 'anthropic-beta': betas } })
    assert.equal(response.status, 200)
    const received = upstream.requests.at(-1)
    assert.equal(received?.headers['anthropic-beta'], 'tool-search-tool-2025-10-19')
    assert.doesNotMatch(received?.text ?? '', /scope|output_format|Hm/)
    assert.match(received?.text ?? '', /"defer_loading":true.*"output_config":\{"format":/)
    const rejected = await postMessages(alice, {
      ...request,
      tools: [
        { name: 'clock', input_schema: { type: 'object' }, allowed_callers: ['code_execution_20250825'] },
      ],
    })
    assert.equal(rejected.status, 400)
    assert.match(await rejected.text(), /tools\[0\]\.allowed_callers/)
  })

  test('Stream – passes event by event, and chat completions get the same text at the same cost', async () => {
    upstream.strict('vertex-claude')
    const response = await postMessages(alice, messagesRequest('claude', { stream: true }))
    const events = parseMessagesEvents(await response.text())
    assert.equal(events.at(-1)?.type, 'message_stop')
    assert.equal(upstream.requests.at(-1)?.path, `${modelPath}:streamRawPredict`)
    assert.equal(upstream.requests.at(-1)?.json['stream'], true)
    const before = await alice.balance()
    const chat = await alice.post(chatRequest('claude', { stream: true }))
    assert.equal(chat.status, 200)
    assert.equal(streamedText(await readPayloads(chat)), 'Hello there!')
    const { model, anthropic_version: version } = upstream.requests.at(-1)?.json ?? {}
    assert.deepEqual([model, version], [undefined, 'vertex-2023-10-16'])
    assert.equal((Number(before) - Number(await alice.balance())).toFixed(9), '0.000073600')
    assert.equal((await alice.post(chatRequest('claude'))).headers.get('x-sluice-cost'), '0.0000736')
  })

  test('Test call, errors and Gemini models – use the right format on the same upstream', async () => {
    const result = await server.admin<{ ok: boolean }>('POST', `/upstreams/${upstream.id}/test`, {})
    assert.equal(result.ok, true)
    upstream.next(
      respondWithError(400, { type: 'error', error: { type: 'invalid_request_error', message: 'too odd' } }),
    )
    const rejected = await postMessages(alice, messagesRequest('claude'))
    assert.equal(rejected.status, 400)
    assert.match(await rejected.text(), /"type":"error".*too odd/)
    await server.model('gemini-9', { upstreams: [upstream], prices })
    upstream.next(respondWithError(404))
    assert.notEqual((await alice.post(chatRequest('gemini-9'))).status, 200)
    assert.equal(upstream.requests.at(-1)?.path, '/v1/publishers/google/models/gemini-9:generateContent')
  })
})
