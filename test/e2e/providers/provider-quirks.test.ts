// @backend both (cluster in long runs)
/** An option that an upstream rejects is learned once, and signed thinking goes back only to the provider that signed it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { recordingsOf, readResponse } from '../../../src/providers/contract.fixture.ts'
import { findProvider } from '../../../src/providers/registry.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const alice = await server.account({ balance: '1' })
const success = respondWith('Hi.', { input: 20, output: 4 })

interface Completion {
  choices: [{ message: object }]
}

describe('Provider quirks', () => {
  test('stream_options rejected in a list of fields – is retried once without, on every worker', async () => {
    const detail = {
      type: 'extra_forbidden',
      loc: ['body', 'stream_options'],
      msg: 'Extra inputs are not permitted',
    }
    const script: Script = (exchange) =>
      'stream_options' in exchange.request.json
        ? respondWithJson(422, { object: 'error', message: { detail: [detail] } })(exchange)
        : success(exchange)
    const upstream = await server.upstream(script, { provider: 'mistral' })
    await server.model('rejecting', { upstreams: [upstream] })
    const sendRequest = async (): Promise<void> => {
      const payloads = await readPayloads(await alice.post(chatRequest('rejecting', { stream: true })))
      assert.equal(payloads.at(-1), '[DONE]')
    }
    await sendRequest()
    assert.equal(upstream.requests.length, 2)
    // Concurrent requests use separate connections, which reach all workers.
    await Promise.all(Array.from({ length: 12 }, sendRequest))
    assert.equal(upstream.requests.length, 14)
  })

  test('Signed thinking – goes back to the provider that signed it and to no other upstream', async () => {
    const anthropic = findProvider('anthropic')
    assert.ok(anthropic)
    const script = respondWithJson(200, readResponse(recordingsOf(anthropic), 'tools'))
    const thinking = await server.upstream(script, { provider: 'anthropic' })
    const plain = await server.upstream(success)
    await server.model('thinking', { upstreams: [thinking] })
    await server.model('plain', { upstreams: [plain] })
    const completion = (await (await alice.post(chatRequest('thinking'))).json()) as Completion
    const messages = [
      { role: 'user', content: 'q' },
      completion.choices[0].message,
      { role: 'user', content: 'r' },
    ]
    for (const model of ['thinking', 'plain']) {
      assert.equal((await alice.post(chatRequest(model, { messages }))).status, 200)
    }
    assert.match(thinking.requests.at(-1)?.text ?? '', /"signature"/)
    assert.doesNotMatch(plain.requests.at(-1)?.text ?? '', /"signature"/)
  })
})
