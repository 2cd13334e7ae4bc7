// @backend both (cluster in long runs)
/** Requests reach the upstream byte for byte, except for the model, the usage option of streams, and a maximum that the balance lowers. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Account } from '../../support/server/account.ts'
import { chatRequest } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!'))
const openai = await server.upstreamAt(upstream.url, { provider: 'openai' })
await server.model('here', { upstreams: [], routes: [{ upstream: upstream.name, model: 'there' }] })
await server.model('narrow', { upstreams: [upstream], max_output_tokens: 65_536 })
await server.model('narrow-openai', { upstreams: [openai], max_output_tokens: 65_536 })
const account = await server.account({ balance: '¥100' })

/** Sends a body and returns the body that reached the upstream. */
async function forward(body: string, caller: Account = account): Promise<string> {
  const response = await caller.post(body)
  assert.equal(response.status, 200, await response.text())
  return upstream.requests.at(-1)?.text ?? ''
}

function parseJson(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** All fields of the API and some unknown ones, formatted irregularly. */
const rich = `{ "model" : "here",
  "messages": [
    {"role": "developer", "content": "Be brief. \\u4f60\\u597d 你好 🌍 \\ud83c\\udf0d"},
    {"role": "user", "content": [
      {"type": "text", "text": "What is this?"},
      {"type": "image_url", "image_url": {"url": "data:image/png;base64,${pixel}", "detail": "low"}},
      {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
      {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}}]},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\\"at\\": 1.0}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a cat"} ],
  "tools": [{"type": "function", "function": {"name": "look", "strict": true, "parameters": {"type": "object"}}}],
  "tool_choice": "auto", "parallel_tool_calls": false,
  "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
  "temperature": 1.50, "top_p": 1e-1, "seed": 12345678901234567890, "n": 1, "stop": ["\\n\\n"],
  "max_tokens": 100, "logprobs": true, "top_logprobs": 5, "logit_bias": {"50256": -100},
  "reasoning_effort": "high", "service_tier": "default", "prompt_cache_key": "k", "user": "u", "store": false,
  "metadata": {"model": "not this one", "stream": true, "max_tokens": 1},
  "x_unknown": {"deep": [[[{"a": 0.10}]]]}, "stream": STREAM }\n`

describe('Request passthrough', () => {
  test('Request body – arrives unchanged except for the model name', async () => {
    const body = rich.replace('STREAM', 'false')
    assert.equal(await forward(body), body.replace('"here"', '"there"'))
  })

  test('Streaming request – gets the usage option and no other change', async () => {
    const body = rich.replace('STREAM', 'true')
    const renamed = body.replace('"here"', '"there"')
    assert.equal(
      await forward(body),
      renamed.replace(/ }\n$/, ',"stream_options":{"include_usage":true} }\n'),
    )
  })

  test('stream_options of the caller – are kept next to include_usage', async () => {
    const body =
      '{"model":"here","stream_options":{"include_obfuscation":false,"include_usage":false},"stream":true,"messages":[{"role":"user","content":"Hi"}]}'
    const { stream_options: options } = parseJson(await forward(body))
    assert.deepEqual(options, { include_obfuscation: false, include_usage: true })
  })

  test('Duplicate field – the last one counts, for the relay and the upstream', async () => {
    const text = await forward(
      '{"model":"nobody","messages":[{"role":"user","content":"Hi"}],"n":9,"n":1,"model":"here"}',
    )
    assert.deepEqual(JSON.parse(text), { model: 'there', messages: [{ role: 'user', content: 'Hi' }], n: 1 })
    assert.equal(text.match(/"n"/g)?.length, 1)
  })

  test("Caller's max_tokens – is passed on unchanged, even above the model's maximum", async () => {
    for (const field of ['max_tokens', 'max_completion_tokens']) {
      for (const tokens of [1, 65_536, 1_000_000]) {
        const body = JSON.stringify(chatRequest('narrow', { [field]: tokens }))
        assert.equal(await forward(body), body)
      }
    }
  })

  test('Low balance – admits the request with a maximum that the balance covers', async () => {
    // Prices are ¥0.002 per 1,000 tokens: ¥0.01 pays 5,000.
    const models = { narrow: 'max_tokens', 'narrow-openai': 'max_completion_tokens' }
    for (const [model, field] of Object.entries(models)) {
      for (const stream of [true, false]) {
        const poor = await server.account({ balance: '¥0.01' })
        const { [field]: maximum } = parseJson(
          await forward(JSON.stringify(chatRequest(model, { stream })), poor),
        )
        // The maximum of a non-streaming response cannot be extended later, so less is held for it.
        const minimum = stream ? 4900 : 1024
        assert.ok(Number(maximum) >= minimum && Number(maximum) <= 5000, `${field}: ${String(maximum)}`)
      }
    }
    const rich = JSON.stringify(chatRequest('narrow'))
    const wealthy = await server.account({ balance: '¥1000000' })
    assert.equal(await forward(rich, wealthy), rich)
  })

  test("Upstream request – has the upstream's credential and none of the caller's headers", async () => {
    const headers = {
      'openai-organization': 'org-1',
      'openai-project': 'proj-1',
      'x-stainless-lang': 'js',
      'x-forwarded-for': '203.0.113.9',
      cookie: 'a=b',
    }
    assert.equal((await account.post(chatRequest('here'), { headers })).status, 200)
    const seen = upstream.requests.at(-1)?.headers ?? {}
    assert.equal(seen.authorization, 'Bearer sk-upstream')
    for (const name of Object.keys(headers)) assert.ok(!(name in seen), name)
    assert.ok(!JSON.stringify(seen).includes(account.key.secret))
  })

  test('Non-streaming response – arrives byte for byte except for the model, with its cost', async () => {
    const body = `{ "id": "x", "choices": [ {"message": {"content": "Grüße", "x": 1.0}, "finish_reason": "stop"} ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, "model": "there", "extra": 1e3 }\n`
    upstream.next(
      respondWithJson(200, body, { 'set-cookie': 'a=b', 'x-request-id': 'theirs', server: 'cloud' }),
    )
    const response = await account.post(chatRequest('here'))
    assert.equal(await response.text(), body.replace('there', 'here'))
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.equal(response.headers.get('x-sluice-cost'), '0.00003')
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
    assert.deepEqual([response.headers.get('set-cookie'), response.headers.get('server')], [null, null])
  })

  test('Base URL – works with and without /v1', async () => {
    for (const base of ['/v1', '']) {
      const response = await account.post(chatRequest('here'), { path: `${base}/chat/completions` })
      assert.equal(response.status, 200)
      for (const path of [
        'models',
        'models/here',
        'balance',
        'dashboard/billing/usage',
        'dashboard/billing/subscription',
      ]) {
        assert.equal((await account.get(`${base}/${path}`)).status, 200, `${base}/${path}`)
      }
      const record = await account.get(`${base}/requests/${response.headers.get('x-request-id')}`)
      assert.equal(record.status, 200)
      assert.ok(!('attempts' in ((await record.json()) as object)))
    }
    assert.equal((await readError(await account.get('/v2/models'))).code, 'not_found')
  })
})
