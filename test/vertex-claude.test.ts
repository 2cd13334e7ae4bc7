/** Anthropic's models behind Google's address: Anthropic's format as it came, chat translated, and each paid for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { payloadsOf, question } from './support/server/account.ts'
import { wordsOf } from './support/client/responses.ts'
import type { Script } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import { ask, send, sayingMessage, toldIn } from './support/upstream/anthropic-messages.ts'
import { failing } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }
const saying = sayingMessage(['Hello', ' there', '!'])
/** Every event by its name, as Anthropic's streams are wherever they come from. */
const named: Script = (exchange) => {
  const nameOf = (payload: string): string => (JSON.parse(payload) as { type: string }).type
  return saying({ ...exchange, event: (payload) => exchange.event(payload, nameOf(payload)) })
}
const upstream = await house.upstream(named, {
  provider: 'vertex',
  credential: 'an-api-key',
})
const there = 'claude-sonnet-9@20270101'
await house.admin('POST', '/models', {
  id: 'claude',
  context_tokens: 200_000,
  prices,
  routes: [{ upstream: upstream.name, model: there }],
})
const alice = await house.account({ balance: '¥10' })
const address = `/v1/publishers/anthropic/models/${there}`

test('a caller of the format is passed on as it came, with the model in the address and the version in the body', async () => {
  const asked = `{ "model" : "claude","max_tokens":64, "x-unknown": [1e3, "\\u00e9"],\n "messages":[{"role":"user","content":"Hi"}]}`
  const headers = { 'anthropic-beta': 'oauth-2025-04-20, interleaved-thinking-2025-05-14' }
  const reply = await send(alice, asked, { headers })
  assert.equal(reply.status, 200)
  assert.match(await reply.text(), /"text":"Hello there!"/)
  assert.equal(reply.headers.get('x-sluice-cost'), '0.0000736')
  const got = upstream.requests.at(-1)
  assert.equal(got?.path, `${address}:rawPredict`)
  assert.equal(
    got?.text,
    `{ "max_tokens":64, "x-unknown": [1e3, "\\u00e9"],\n "messages":[{"role":"user","content":"Hi"}],"anthropic_version":"vertex-2023-10-16"}`,
  )
  // What Vertex does not know it would refuse.
  assert.equal(got?.headers['anthropic-beta'], 'interleaved-thinking-2025-05-14')
  assert.equal(got?.headers['x-goog-api-key'], 'an-api-key')
})

test('a stream passes event by event, and a chat caller gets chunks of the same answer for the same money', async () => {
  const own = await send(alice, ask('claude', { stream: true }))
  const told = toldIn(await own.text())
  assert.equal(told.at(-1)?.type, 'message_stop')
  assert.equal(upstream.requests.at(-1)?.path, `${address}:streamRawPredict`)
  assert.equal(upstream.requests.at(-1)?.json['stream'], true)
  const before = await alice.balance()
  const chat = await alice.post(question('claude', { stream: true }))
  assert.equal(chat.status, 200)
  assert.equal(wordsOf(await payloadsOf(chat)), 'Hello there!')
  const { model, anthropic_version: version } = upstream.requests.at(-1)?.json ?? {}
  assert.deepEqual([model, version], [undefined, 'vertex-2023-10-16'])
  assert.equal((Number(before) - Number(await alice.balance())).toFixed(9), '0.000073600')
  assert.equal((await alice.post(question('claude'))).headers.get('x-sluice-cost'), '0.0000736')
})

test('the test button speaks the same, a refusal is told in the format, and other models stay Gemini', async () => {
  const trial = await house.admin<{ ok: boolean }>('POST', `/upstreams/${upstream.id}/test`, {})
  assert.equal(trial.ok, true)
  upstream.next(failing(400, { type: 'error', error: { type: 'invalid_request_error', message: 'too odd' } }))
  const refused = await send(alice, ask('claude'))
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /"type":"error".*too odd/)
  await house.model('gemini-9', { upstreams: [upstream], prices })
  upstream.next(failing(404))
  assert.notEqual((await alice.post(question('gemini-9'))).status, 200)
  assert.equal(upstream.requests.at(-1)?.path, '/v1/publishers/google/models/gemini-9:generateContent')
})
