// @backend both (cluster in long runs)
/** Compaction in the Responses API by upstreams that speak it, with and without the path for it. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError, waitForRecord } from '../../support/client/responses.ts'
import {
  assembleResponse,
  checkResponse,
  compact,
  parseResponsesEvents,
  postResponses,
  responsesRequest,
  withoutHolders,
} from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { messageItem, nativeResponse, respondWithItems } from '../../support/upstream/native-responses.ts'
import {
  respondWith,
  respondWithError,
  respondWithEvents,
  respondWithJson,
} from '../../support/upstream/scripted-responses.ts'

type Fields = Record<string, unknown>

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008' }
const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 24,
}
const cost = '0.000072'
const trigger = { type: 'compaction_trigger' }
const user = {
  id: 'msg_0',
  type: 'message',
  status: 'completed',
  role: 'user',
  content: [{ type: 'input_text', text: 'Fix the bug.' }],
}
const theirs = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAAABtheirs' }
const compacted = {
  id: 'resp_1',
  object: 'response.compaction',
  created_at: 1,
  output: [user, theirs],
  usage,
}
const message = messageItem('Half of it is done.')

const whole = nativeResponse([message])
const item = { output_index: 0, item: theirs }
const events = [
  { type: 'response.created', response: nativeResponse([], { status: 'in_progress', usage: null }) },
  { type: 'response.output_item.added', ...item },
  { type: 'response.output_item.done', ...item },
  { type: 'response.completed', response: nativeResponse([theirs]) },
].map((event, number) => ({
  name: event.type,
  payload: JSON.stringify({ sequence_number: number, ...event }),
}))

/** An upstream of OpenAI's kind. `hasPath`: it compacts at `/responses/compact`. */
function native(hasPath: boolean): Script {
  return (exchange) => {
    const { path, json, text } = exchange.request
    if (path.endsWith('/compact'))
      return (hasPath ? respondWithJson(200, compacted) : respondWithError(404))(exchange)
    if (json['stream'] === true) return respondWithEvents(events)(exchange)
    const output = text.includes('compaction_trigger') ? theirs : message
    return respondWithJson(200, nativeResponse([output]))(exchange)
  }
}

const able = await server.upstream(native(true), { speaks: ['responses'] })
const lacking = await server.upstream(native(false), { speaks: ['responses'] })
const chat = await server.upstream(respondWith('Hello from chat.', { input: 20, output: 4 }))
await server.model('able', { upstreams: [able], prices })
await server.model('lacking', { upstreams: [lacking], prices })
await server.model('lacking-then-chat', { upstreams: [lacking, chat], prices })
const alice = await server.account({ balance: '¥10' })

describe('Compaction, passed through', () => {
  test('compact – has the upstream’s bytes, and is charged by its usage', async () => {
    const body = responsesRequest('able', { input: [user], instructions: 'Be brief.', prompt_cache_key: 'k' })
    const response = await compact(alice, body)
    assert.equal(withoutHolders(await response.text()), JSON.stringify(compacted))
    const sent = able.requests.at(-1)
    assert.equal(sent?.path, '/v1/responses/compact')
    assert.deepEqual(sent.json, body)
    const record = await waitForRecord(alice, response)
    assert.deepEqual(
      [record.operation, record.cost, record.usage_source, record.clamped],
      ['responses', cost, 'provider', false],
    )
  })

  test('Renamed model – is named as the upstream does; fields of responses are left out', async () => {
    await server.admin('POST', '/models', {
      id: 'renamed',
      context_tokens: 8192,
      prices,
      routes: [{ upstream: able.id, model: 'gpt' }],
    })
    const body = responsesRequest('renamed', { store: false, stream: false, max_output_tokens: 100 })
    assert.equal((await compact(alice, body)).status, 200)
    assert.deepEqual(able.requests.at(-1)?.json, { model: 'gpt', input: 'Say hello.' })
  })

  test('Items that chat completions do not have – are no error where the summary is the relay’s', async () => {
    const call = { id: 'ci_1', type: 'code_interpreter_call', code: '1', container_id: 'c', outputs: [] }
    const input = [user, call, user, trigger]
    const param = 'input[3].type'
    const problem = `Invalid value: 'compaction_trigger'.`
    for (const stream of [true, false]) {
      const rejected = respondWithError(400, {
        error: { message: problem, param, code: null, type: 'invalid' },
      })
      able.next(rejected, respondWithItems([message]))
      const response = await postResponses(alice, responsesRequest('able', { stream, input }))
      assert.equal(response.status, 200)
      assert.match(await response.text(), /sluice-compaction\./)
    }
  })

  test('compaction_trigger – passes, streaming or not', async () => {
    const body = responsesRequest('able', { input: [user, trigger] })
    const plain = await postResponses(alice, body)
    assert.deepEqual((JSON.parse(withoutHolders(await plain.text())) as Fields)['output'], [theirs])
    assert.deepEqual(able.requests.at(-1)?.json, { ...body, store: false })
    const streamed = await postResponses(alice, { ...body, stream: true })
    const expected = events.map(({ name, payload }) => `event: ${name}\ndata: ${payload}\n\n`)
    assert.equal(withoutHolders(await streamed.text()), expected.join(''))
    assert.equal((await waitForRecord(alice, streamed)).cost, cost)
  })

  test('Item of the provider – passes unchanged', async () => {
    const input = [user, theirs, { role: 'user', content: 'Go on.' }]
    const body = responsesRequest('able', { input, max_output_tokens: 100 })
    assert.equal((await postResponses(alice, body)).status, 200)
    assert.deepEqual(able.requests.at(-1)?.json, { ...body, store: false })
  })

  test('More than the default maximum – is charged up to it, and says nothing about the upstream', async () => {
    const many = { ...usage, output_tokens: 20_000, total_tokens: 20_020 }
    able.next(respondWithJson(200, { ...compacted, usage: many }))
    const record = await waitForRecord(alice, await compact(alice, responsesRequest('able')))
    assert.deepEqual([record.clamped, record.cost], [true, '0.131112'])
    const { routes } = await server.admin<{ routes: { maximum: string }[] }>('GET', '/models/able')
    assert.deepEqual(
      routes.map(({ maximum }) => maximum),
      ['unseen'],
    )
  })
})

describe('Compaction at an upstream that lacks something', () => {
  test('compact – is a summary by the same upstream, charged once', async () => {
    const before = lacking.requests.length
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }]
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
    const result = { type: 'function_call_output', call_id: 'call_1', output: 'Done.' }
    const fields = {
      input: [user, call, result],
      tools,
      reasoning: { effort: 'low' },
      instructions: 'Be brief.',
    }
    const response = await compact(alice, responsesRequest('lacking', fields))
    const { object, output } = (await response.json()) as { object: string; output: Fields[] }
    assert.equal(object, 'response.compaction')
    assert.deepEqual(output[0], user)
    assert.deepEqual(
      output.map(({ type }) => type),
      ['message', 'compaction'],
    )
    const sent = lacking.requests.slice(before)
    assert.deepEqual(
      sent.map(({ path }) => path),
      ['/v1/responses/compact', '/v1/responses'],
    )
    const { input, ...rest } = sent[1]?.json ?? {}
    assert.deepEqual((input as unknown[]).slice(0, -1), fields.input)
    assert.match(JSON.stringify((input as unknown[]).at(-1)), /Write a summary/)
    assert.deepEqual(rest, {
      model: 'lacking',
      instructions: 'Be brief.',
      reasoning: { effort: 'low' },
      store: false,
      max_output_tokens: 16_384,
    })
    const record = await waitForRecord(alice, response)
    assert.deepEqual(
      [record.cost, record.attempts.map(({ http_status: status }) => status)],
      [cost, [404, 200]],
    )

    // The summary reaches an upstream that speaks the API as a message, and the path is not tried again.
    const next = { role: 'user', content: 'Go on.' }
    await postResponses(alice, responsesRequest('able', { input: [...output, next] }))
    const opened = able.requests.at(-1)?.json['input'] as Fields[]
    assert.deepEqual([opened[0], opened[2]], [user, next])
    assert.equal(opened[1]?.['role'], 'developer')
    assert.match(
      String(opened[1]['content']),
      /summary of the earlier conversation:\n\nHalf of it is done\.$/,
    )
    const calls = lacking.requests.length
    assert.equal((await compact(alice, responsesRequest('lacking', { stream: true }))).status, 200)
    assert.equal(lacking.requests.at(-1)?.json['stream'], undefined)
    assert.deepEqual(
      lacking.requests.slice(calls).map(({ path }) => path),
      ['/v1/responses'],
    )
    const bob = await server.account({ balance: '¥10' })
    const foreign = await postResponses(bob, responsesRequest('able', { input: [...output, next] }))
    assert.deepEqual([foreign.status, (await readError(foreign)).param], [400, 'input[1]'])
  })

  test('Upstream that fails otherwise, too – is replaced by one of another kind', async () => {
    lacking.next(respondWithError(500), respondWithError(404))
    const response = await compact(alice, responsesRequest('lacking-then-chat'))
    assert.equal(response.status, 200, await response.clone().text())
    assert.match(chat.requests.at(-1)?.text ?? '', /Write a summary/)
    assert.equal((await waitForRecord(alice, response)).cost, cost)
  })

  test('Low balance – has a summary at once, whose maximum can be stated', async () => {
    const poor = await server.account({ balance: '¥0.05' })
    const calls = able.requests.length
    const response = await compact(poor, responsesRequest('able'))
    assert.equal(response.status, 200)
    const [sent, ...others] = able.requests.slice(calls)
    assert.deepEqual([sent?.path, others], ['/v1/responses', []])
    assert.ok(Number(sent?.json['max_output_tokens']) < 6500)
  })

  test('Upstream with collect_stream – is asked for a stream', async () => {
    const collecting = await server.upstream(native(false), { speaks: ['responses'], collect_stream: true })
    await server.model('collecting', { upstreams: [collecting], prices })
    const text = { type: 'response.output_text.delta', output_index: 0, delta: 'Half of it.' }
    const stream = [
      { name: 'response.output_text.delta', payload: JSON.stringify(text) },
      ...events.slice(-1),
    ]
    collecting.next(respondWithError(405), respondWithEvents(stream))
    const response = await compact(alice, responsesRequest('collecting'))
    const { output } = (await response.json()) as { output: Fields[] }
    assert.equal(output.at(-1)?.['type'], 'compaction')
    assert.equal(collecting.requests.at(-1)?.json['stream'], true)
    collecting.next(respondWithEvents(events))
    const empty = await compact(alice, responsesRequest('collecting'))
    assert.deepEqual([empty.status, (await readError(empty)).code], [422, 'compaction_failed'])
    assert.equal((await waitForRecord(alice, empty)).cost, cost)
  })

  test('Upstream that does not know the trigger – writes a summary instead, streaming or not', async () => {
    const unknown = respondWithError(400, { error: { message: 'Unknown item type: compaction_trigger' } })
    const text = { type: 'response.output_text.delta', output_index: 0, delta: 'Half of it.' }
    const written = [text, { type: 'response.completed', response: whole }]
    const stream = written.map((event) => ({ name: event.type, payload: JSON.stringify(event) }))
    for (const [isStream, script] of [
      [true, respondWithEvents(stream)],
      [false, respondWithJson(200, whole)],
    ] as const) {
      able.next(unknown, script)
      const body = responsesRequest('able', { input: [user, trigger], stream: isStream })
      const response = await postResponses(alice, body)
      const { output } = isStream
        ? assembleResponse(parseResponsesEvents(await response.text()))
        : checkResponse(await response.json())
      assert.match(String(output[0]?.['encrypted_content']), /^sluice-compaction\./)
      assert.equal(output.length, 1)
      assert.doesNotMatch(able.requests.at(-1)?.text ?? '', /compaction_trigger/)
      assert.equal((await waitForRecord(alice, response)).cost, cost)
    }
    able.next(respondWithError(400, { error: { message: 'Too long.' } }))
    const rejected = await postResponses(alice, responsesRequest('able', { input: [user, trigger] }))
    assert.deepEqual([rejected.status, (await readError(rejected)).message], [400, 'Too long.'])
  })

  test('Streamed trigger that is cut – ends with response.failed', async () => {
    able.next(respondWithEvents(events.slice(0, 3)))
    const body = responsesRequest('able', { input: [user, trigger], stream: true })
    const response = await postResponses(alice, body)
    const last = parseResponsesEvents(await response.text()).at(-1)
    assert.equal(last?.response?.error?.code, 'upstream_unavailable')
  })
})
