// @backend both (cluster in long runs)
/** The Responses API with upstreams that speak it: requests and responses pass through. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError, waitForRecord } from '../../support/client/responses.ts'
import { parseResponsesEvents, postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { messageItem, nativeEvents, nativeResponse } from '../../support/upstream/native-responses.ts'
import { respondWith, respondWithEvents, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002' }
const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 24,
}
const message = messageItem('Hello, world.')
const pieces = ['Hello,', ' world.']
const whole = nativeResponse([message], { usage })
const streamed = nativeEvents([message], { usage }, pieces)
const respond: Script = (exchange) =>
  (exchange.request.json['stream'] === true ? respondWithEvents(streamed) : respondWithJson(200, whole))(
    exchange,
  )

const native = await server.upstream(respond, { speaks: ['responses'] })
const chat = await server.upstream(respondWith('Hello from chat.', { input: 20, output: 4 }))
await server.model('native', { upstreams: [native], prices })
await server.model('native-then-chat', { upstreams: [native, chat], prices })
const alice = await server.account({ balance: '¥10' })

describe('Responses API, passed through', () => {
  test('Response – has the upstream’s bytes, and is charged by its usage', async () => {
    const fields = { metadata: { a: 'b' }, instructions: 'Be brief.', max_output_tokens: 100 }
    const body = responsesRequest('native', fields)
    const response = await postResponses(alice, body)
    assert.equal(await response.text(), JSON.stringify(whole))
    const sent = native.requests.at(-1)
    assert.equal(sent?.path, '/v1/responses')
    assert.deepEqual(sent.json, { ...body, store: false })
    const record = await waitForRecord(alice, response)
    const { prompt_tokens: input, cached_tokens: cached, completion_tokens: output } = record
    assert.deepEqual([input, cached, output, record.usage_source], [20, 8, 4, 'provider'])
    assert.equal(record.cost, response.headers.get('x-sluice-cost'))
  })

  test('Stream – has the upstream’s events, the last one when it is settled', async () => {
    const response = await postResponses(alice, responsesRequest('native', { stream: true }))
    const expected = streamed.map(({ name, payload }) => `event: ${name}\ndata: ${payload}\n\n`)
    assert.equal(await response.text(), expected.join(''))
    assert.equal((await waitForRecord(alice, response)).usage_source, 'provider')
  })

  test('Renamed model – is named as the caller does, in every event', async () => {
    await server.admin('POST', '/models', {
      id: 'renamed',
      context_tokens: 8192,
      prices,
      routes: [{ upstream: native.id, model: 'gpt' }],
    })
    for (const stream of [true, false]) {
      const text = await (await postResponses(alice, responsesRequest('renamed', { stream }))).text()
      const names = Array.from(text.matchAll(/"model":"(\w+)"/g), ([, name]) => name)
      assert.deepEqual(names, Array(stream ? 3 : 1).fill('renamed'))
    }
  })

  test('Upstream that fails before its first content – is replaced by one of another kind', async () => {
    const error = { type: 'server_error', code: 'server_error', message: 'Sorry.', param: null }
    const end = 'response.failed'
    const failed = nativeResponse([], { status: 'failed', error, usage: null })
    native.next(
      respondWithEvents([
        ...streamed.slice(0, 2),
        { name: 'error', payload: JSON.stringify({ type: 'error', sequence_number: 2, error }) },
        { name: end, payload: JSON.stringify({ type: end, sequence_number: 3, response: failed }) },
      ]),
      respondWithJson(200, failed),
    )
    for (const stream of [true, false]) {
      const response = await postResponses(alice, responsesRequest('native-then-chat', { stream }))
      const text = await response.text()
      assert.match(text, /Hello from chat\./)
      assert.doesNotMatch(text, /Sorry/)
    }
  })

  test('Truncated stream – ends with response.failed, whose numbers continue', async () => {
    native.next(truncateAfter(4, 'reset', respondWithEvents(streamed)))
    const response = await postResponses(alice, responsesRequest('native', { stream: true }))
    const events = parseResponsesEvents(await response.text())
    assert.deepEqual(
      events.slice(-2).map(({ type, sequence_number: number }) => [type, number]),
      [
        ['error', 4],
        ['response.failed', 5],
      ],
    )
    const {
      type: _type,
      sequence_number: _number,
      error,
      ...fields
    }: Record<string, unknown> = {
      ...events.at(-2),
    }
    assert.partialDeepStrictEqual(fields, { code: 'upstream_unavailable', param: null })
    assert.deepEqual(error, { type: 'server_error', ...fields })
    const failed = events.at(-1)?.response
    assert.deepEqual(
      [failed?.id, failed?.status, failed?.error?.code],
      ['resp_1', 'failed', 'upstream_unavailable'],
    )
    assert.equal((await waitForRecord(alice, response)).outcome, 'truncated')
  })

  test('Balance that ends – ends the stream with insufficient_quota', async () => {
    const poor = await server.account({ balance: '¥0.002' })
    native.next(
      truncateAfter(
        200,
        'hang',
        respondWithEvents(nativeEvents([message], {}, Array(250).fill('more words ') as string[])),
      ),
    )
    const response = await postResponses(poor, responsesRequest('native', { stream: true }))
    const events = parseResponsesEvents(await response.text())
    assert.equal(events.at(-1)?.type, 'response.failed')
    assert.equal(events.at(-1)?.response?.error?.code, 'insufficient_quota')
    assert.equal((await waitForRecord(poor, response)).outcome, 'ended')
    assert.equal((await server.verify()).ok, true)
  })

  test('Tools that the provider bills – are 400; searches are left out unless they are required', async () => {
    const own = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }
    for (const [index, tools] of [
      [1, [own, { type: 'file_search', vector_store_ids: ['v'] }]],
      [0, [{ type: 'shell', environment: { type: 'container_auto' } }]],
    ] as const) {
      const response = await postResponses(alice, responsesRequest('native', { tools }))
      assert.deepEqual([response.status, (await readError(response)).param], [400, `tools[${index}]`])
    }
    const tools = [own, { type: 'web_search' }, { type: 'local_shell' }]
    assert.equal((await postResponses(alice, responsesRequest('native', { tools }))).status, 200)
    assert.deepEqual(native.requests.at(-1)?.json['tools'], [own, { type: 'local_shell' }])
    const required = { tools, tool_choice: { type: 'web_search' } }
    assert.equal((await postResponses(alice, responsesRequest('native', required))).status, 400)
  })

  test('Low balance – lowers the maximum and changes nothing else', async () => {
    const poor = await server.account({ balance: '¥0.02' })
    const body = responsesRequest('native', { max_output_tokens: 4000 })
    assert.equal((await postResponses(poor, body)).status, 200)
    const { max_output_tokens: lowered, ...rest } = native.requests.at(-1)?.json ?? {}
    assert.ok(Number(lowered) < 2500, String(lowered))
    assert.deepEqual(rest, { model: 'native', input: body['input'], store: false })
  })

  test('Maximum that the balance has lowered – ends the stream with insufficient_quota', async () => {
    const poor = await server.account({ balance: '¥0.02' })
    native.next((exchange) => {
      const output = Number(exchange.request.json['max_output_tokens'])
      const details = { reason: 'max_output_tokens' }
      const counted = { ...usage, output_tokens: output, total_tokens: 20 + output }
      const events = nativeEvents(
        [message],
        {
          status: 'incomplete',
          incomplete_details: details,
          usage: counted,
        },
        pieces,
      )
      const last = events.pop()?.payload.replace('response.completed', 'response.incomplete') ?? ''
      return respondWithEvents([...events, { name: 'response.incomplete', payload: last }])(exchange)
    })
    const response = await postResponses(
      poor,
      responsesRequest('native', { stream: true, max_output_tokens: 4000 }),
    )
    const events = parseResponsesEvents(await response.text())
    assert.equal(events.at(-1)?.response?.error?.code, 'insufficient_quota')
    assert.deepEqual(events.at(-1)?.response?.output, [message])
  })

  test('Upstream with collect_stream – is asked for a stream, whose last event has the response', async () => {
    const collecting = await server.upstream(respond, { speaks: ['responses'], collect_stream: true })
    await server.model('collecting', { upstreams: [collecting], prices })
    const response = await postResponses(alice, responsesRequest('collecting'))
    assert.deepEqual(await response.json(), whole)
    assert.equal(collecting.requests.at(-1)?.json['stream'], true)
  })

  test('speaks – is by default what the provider does, and an empty list turns it off', async () => {
    const created = await server.admin<{ id: string; speaks: string[] }>('POST', '/upstreams', {
      name: 'speaking',
      provider: 'openai',
      credential: 'sk-speaking-0123456789',
    })
    assert.deepEqual(created.speaks, ['responses'])
    const change = (speaks: string[] | null) =>
      server.admin<{ speaks: string[] }>('PATCH', `/upstreams/${created.id}`, { speaks })
    assert.deepEqual((await change([])).speaks, [])
    assert.deepEqual((await change(null)).speaks, ['responses'])
    const off = await server.upstream(respondWith('Hello from chat.'), { provider: 'openai', speaks: [] })
    await server.model('off', { upstreams: [off], prices })
    assert.equal((await postResponses(alice, responsesRequest('off'))).status, 200)
    assert.equal(off.requests.at(-1)?.path, '/v1/chat/completions')
  })
})
