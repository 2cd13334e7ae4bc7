/** What the caller asks is what the upstream is asked, byte for byte, but for the three things that are the relay's. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Account } from './support/server/account.ts'
import { question } from './support/server/account.ts'
import { refusalIn } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { json, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const upstream = await house.upstream(saying('Hello!'))
const openai = await house.upstreamAt(upstream.url, { provider: 'openai' })
await house.model('here', { upstreams: [], routes: [{ upstream: upstream.name, model: 'there' }] })
await house.model('narrow', { upstreams: [upstream], max_output_tokens: 65_536 })
await house.model('narrow-openai', { upstreams: [openai], max_output_tokens: 65_536 })
const account = await house.account({ balance: '¥100' })

/** The body that reached the upstream for this one. */
async function passed(body: string, caller: Account = account): Promise<string> {
  const reply = await caller.post(body)
  assert.equal(reply.status, 200, await reply.text())
  return upstream.requests.at(-1)?.text ?? ''
}

function jsonOf(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** Everything the format has and some that it does not, in the spelling of a caller who writes by hand. */
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
  "reasoning_effort": "high", "service_tier": "flex", "prompt_cache_key": "k", "user": "u", "store": false,
  "metadata": {"model": "not this one", "stream": true, "max_tokens": 1},
  "x_unknown": {"deep": [[[{"a": 0.10}]]]}, "stream": STREAM }\n`

test('a request arrives as it was written: unknown fields, tools, images, numbers and spaces; only the model is renamed', async () => {
  const body = rich.replace('STREAM', 'false')
  assert.equal(await passed(body), body.replace('"here"', '"there"'))
})

test('of a stream, usage is asked for besides, and nothing else', async () => {
  const body = rich.replace('STREAM', 'true')
  const renamed = body.replace('"here"', '"there"')
  assert.equal(await passed(body), renamed.replace(/ }\n$/, ',"stream_options":{"include_usage":true} }\n'))
})

test("a caller's own options of the stream stay beside the question for usage", async () => {
  const body =
    '{"model":"here","stream_options":{"include_obfuscation":false,"include_usage":false},"stream":true,"messages":[{"role":"user","content":"Hi"}]}'
  const { stream_options: options } = jsonOf(await passed(body))
  assert.deepEqual(options, { include_obfuscation: false, include_usage: true })
})

test('of a field that is written twice, the last counts, for the relay as for the upstream', async () => {
  const text = await passed(
    '{"model":"nobody","messages":[{"role":"user","content":"Hi"}],"n":9,"n":1,"model":"here"}',
  )
  assert.deepEqual(JSON.parse(text), { model: 'there', messages: [{ role: 'user', content: 'Hi' }], n: 1 })
  assert.equal(text.match(/"n"/g)?.length, 1)
})

test("a maximum of the caller's is passed on as it is, under its name, even above the model's", async () => {
  for (const field of ['max_tokens', 'max_completion_tokens']) {
    for (const tokens of [1, 65_536, 1_000_000]) {
      const body = JSON.stringify(question('narrow', { [field]: tokens }))
      assert.equal(await passed(body), body)
    }
  }
})

test('a balance that pays for less than the model may write admits the call, with a maximum that it pays', async () => {
  // Prices are ¥0.002 per 1,000 tokens: ¥0.01 pays 5,000.
  const models = { narrow: 'max_tokens', 'narrow-openai': 'max_completion_tokens' }
  for (const [model, field] of Object.entries(models)) {
    for (const stream of [true, false]) {
      const poor = await house.account({ balance: '¥0.01' })
      const { [field]: maximum } = jsonOf(await passed(JSON.stringify(question(model, { stream })), poor))
      // A whole answer cannot be extended on the way, so less is set aside for it.
      const least = stream ? 4900 : 1024
      assert.ok(Number(maximum) >= least && Number(maximum) <= 5000, `${field}: ${String(maximum)}`)
    }
  }
  const rich = JSON.stringify(question('narrow'))
  const wealthy = await house.account({ balance: '¥1000000' })
  assert.equal(await passed(rich, wealthy), rich)
})

test("the upstream sees its own credential and none of the caller's headers", async () => {
  const headers = {
    'openai-organization': 'org-1',
    'openai-project': 'proj-1',
    'x-stainless-lang': 'js',
    'x-forwarded-for': '203.0.113.9',
    cookie: 'a=b',
  }
  assert.equal((await account.post(question('here'), { headers })).status, 200)
  const seen = upstream.requests.at(-1)?.headers ?? {}
  assert.equal(seen.authorization, 'Bearer sk-upstream')
  for (const name of Object.keys(headers)) assert.ok(!(name in seen), name)
  assert.ok(!JSON.stringify(seen).includes(account.key.secret))
})

test('a whole answer arrives byte for byte, with its cost and without headers of the upstream', async () => {
  const answer = `{ "id": "x", "choices": [ {"message": {"content": "Grüße", "x": 1.0}, "finish_reason": "stop"} ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, "model": "there", "extra": 1e3 }\n`
  upstream.next(json(200, answer, { 'set-cookie': 'a=b', 'x-request-id': 'theirs', server: 'cloud' }))
  const reply = await account.post(question('here'))
  assert.equal(await reply.text(), answer)
  assert.equal(reply.headers.get('content-type'), 'application/json')
  assert.equal(reply.headers.get('x-sluice-cost'), '0.00003')
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_/)
  assert.deepEqual([reply.headers.get('set-cookie'), reply.headers.get('server')], [null, null])
})

test('the base address works with and without /v1', async () => {
  for (const base of ['/v1', '']) {
    const reply = await account.post(question('here'), { path: `${base}/chat/completions` })
    assert.equal(reply.status, 200)
    for (const path of [
      'models',
      'models/here',
      'balance',
      'dashboard/billing/usage',
      'dashboard/billing/subscription',
    ]) {
      assert.equal((await account.get(`${base}/${path}`)).status, 200, `${base}/${path}`)
    }
    const told = await account.get(`${base}/requests/${reply.headers.get('x-request-id')}`)
    assert.equal(told.status, 200)
    assert.ok(!('attempts' in ((await told.json()) as object)))
  }
  assert.equal((await refusalIn(await account.get('/v2/models'))).code, 'not_found')
})
