// @backend both (cluster in long runs)
/** A field of the relay's own that an upstream rejects is learned once, and signed thinking goes back only to the provider that signed it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { recordingsOf, readResponse } from '../../../src/providers/contract.fixture.ts'
import { findProvider } from '../../../src/providers/registry.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import {
  messagesRequest,
  postMessages,
  readMessagesError,
} from '../../support/upstream/anthropic-messages.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const alice = await server.account({ balance: '1' })
const success = respondWith('Hi.', { input: 20, output: 4 })

/** The settings of a model that the upstream knows by another name. */
const routedAs = (upstream: RegisteredUpstream, model: string) => ({
  upstreams: [upstream],
  routes: [{ upstream: upstream.name, model }],
})

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

  test('Fields that a model is known to reject – are not translated into its requests', async () => {
    const upstream = await server.upstream(success, { provider: 'openai' })
    const hints = { temperature: 0.5, thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 4000 }
    for (const [model, temperature, effort] of [
      ['gpt-4o', 0.5, undefined],
      ['gpt-5', undefined, 'low'],
      ['of-another-vendor', 0.5, 'low'],
    ] as const) {
      await server.model(`known-${model}`, routedAs(upstream, model))
      assert.equal((await postMessages(alice, messagesRequest(`known-${model}`, hints))).status, 200)
      const { temperature: sent, reasoning_effort: sentEffort } = upstream.requests.at(-1)?.json ?? {}
      assert.deepEqual([sent, sentEffort], [temperature, effort], model)
    }
  })

  test('A translated field that a model rejects – is left out from then on, for this model only', async () => {
    const rejection = {
      error: { message: 'Unrecognized request argument supplied: reasoning_effort', param: null, code: null },
    }
    const script: Script = (exchange) =>
      'reasoning_effort' in exchange.request.json && exchange.request.json['model'] === 'plain-one'
        ? respondWithJson(400, rejection)(exchange)
        : success(exchange)
    const upstream = await server.upstream(script, { provider: 'openai-compatible' })
    await server.model('learned', routedAs(upstream, 'plain-one'))
    await server.model('other', routedAs(upstream, 'other-one'))
    const thinking = { thinking: { type: 'enabled', budget_tokens: 2000 }, max_tokens: 4000 }
    const sendRequest = async (model: string): Promise<Response> => {
      const response = await postMessages(alice, messagesRequest(model, { ...thinking, temperature: 0.5 }))
      assert.equal(response.status, 200)
      return response
    }
    const record = await waitForRecord(alice, await sendRequest('learned'))
    assert.deepEqual([record.outcome, record.prompt_tokens, upstream.requests.length], ['ok', 20, 2])
    assert.deepEqual(
      record.attempts.map(({ outcome }) => outcome),
      ['failed', 'ok'],
    )
    await Promise.all(Array.from({ length: 12 }, () => sendRequest('learned')))
    assert.equal(upstream.requests.length, 14)
    assert.equal(upstream.requests.at(-1)?.json['temperature'], 0.5)
    await sendRequest('other')
    assert.equal(upstream.requests.at(-1)?.json['reasoning_effort'], 'low')
    // The caller's own field is never left out.
    const own = await alice.post(chatRequest('learned', { reasoning_effort: 'low' }))
    assert.equal(own.status, 400)
    assert.match(await own.text(), /argument supplied: reasoning_effort/)
    const health = await server.admin<{ data: { state: string }[] }>('GET', '/upstreams/health')
    assert.deepEqual([...new Set(health.data.map(({ state }) => state))], ['closed'])
  })

  test('Two rejected fields and another name of the maximum – take one request each', async () => {
    const errors = [
      { message: "Unsupported parameter: 'max_tokens' is not supported.", code: 'unsupported_parameter' },
      { message: '`temperature` is deprecated for this model.' },
    ]
    const upstream = await server.upstream(success, { provider: 'openai-compatible' })
    await server.model('two', { upstreams: [upstream] })
    for (const error of errors) upstream.next(respondWithJson(400, { error }))
    const sendRequest = (): Promise<Response> =>
      postMessages(alice, messagesRequest('two', { temperature: 0.5 }))
    assert.equal((await sendRequest()).status, 200)
    assert.equal((await sendRequest()).status, 200)
    assert.deepEqual(
      upstream.requests.map(({ json }) => [
        json['max_tokens'],
        json['max_completion_tokens'],
        json['temperature'],
      ]),
      [
        [256, undefined, 0.5],
        [undefined, 256, 0.5],
        [undefined, 256, undefined],
        [undefined, 256, undefined],
      ],
    )
  })

  test('Rejection that remains without the field – reaches the caller and is not remembered', async () => {
    const error = { message: '`temperature` is deprecated for this model.' }
    const upstream = await server.upstream(success, { provider: 'openai-compatible' })
    await server.model('unhelped', { upstreams: [upstream] })
    upstream.next(respondWithJson(400, { error }))
    upstream.next(respondWithJson(400, { error: { message: 'Too long.' } }))
    const request = messagesRequest('unhelped', { temperature: 0.5 })
    const response = await postMessages(alice, request)
    assert.deepEqual([response.status, (await readMessagesError(response)).message], [400, 'Too long.'])
    assert.equal((await postMessages(alice, request)).status, 200)
    assert.equal(upstream.requests.at(-1)?.json['temperature'], 0.5)
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
