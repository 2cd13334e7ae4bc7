// @backend both (cluster in long runs)
/** Callers of chat completions and of Anthropic's messages with a model that only the Responses API serves. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { assemble, readStreamPayloads } from '../../../src/providers/contract.fixture.ts'
import { finalError, parseChunks, readError, waitForRecord } from '../../support/client/responses.ts'
import { chatRequest, readPayloads } from '../../support/server/account.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import {
  assembleMessage,
  messagesRequest,
  parseMessagesEvents,
  postMessages,
} from '../../support/upstream/anthropic-messages.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import { recordingsFolder, replay } from '../../support/upstream/provider-recordings.ts'
import { respondWith, respondWithEvents, respondWithJson } from '../../support/upstream/scripted-responses.ts'

type Json = Record<string, unknown>

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002' }
const native = await server.upstream(replay('responses', 'text'), { provider: 'openai' })
native.strict('responses')
const chat = await server.upstream(respondWith('Hello from chat.', { input: 20, output: 4, cached: 8 }), {
  provider: 'openai',
  speaks: [],
})
const alice = await server.account({ balance: '¥10' })

/** A model that the first upstream knows as `o3-pro`. */
async function addModel(id: string, ...upstreams: RegisteredUpstream[]): Promise<void> {
  const routes = upstreams.map(({ name }, index) => ({
    upstream: name,
    model: 'o3-pro',
    priority: index + 1,
  }))
  await server.model(id, { prices, upstreams: [], routes })
}

await addModel('pro', native)
await addModel('pro-then-chat', native, chat)
await addModel('chat-only', chat)

const textPayloads = readStreamPayloads(recordingsFolder('responses'), 'text')
const toolCases = ['Bern', 'Lima'].map((city) => ({ name: 'weather', input: { city } }))
const callsOfRecording = [...toolCases, { name: 'clock', input: {} }]
const parameters = { type: 'object', properties: {} }
const functions = ['weather', 'clock'].map((name) => ({ name, parameters }))
/** What must be sent after the turn of the recording `tools`. */
const returnedItems = [
  { type: 'reasoning', summary: [], encrypted_content: 'c2lnbmVkLWJ5LW9wZW5haQ==' },
  { role: 'assistant', content: 'I look it up.' },
  { type: 'reasoning', summary: [], encrypted_content: 'aGlkZGVuLWJ5LW9wZW5haQ==' },
  ...callsOfRecording.map(({ name, input }, index) => ({
    type: 'function_call',
    call_id: `call_${index + 1}`,
    name,
    arguments: JSON.stringify(input),
  })),
  ...callsOfRecording.map((_, index) => ({
    type: 'function_call_output',
    call_id: `call_${index + 1}`,
    output: 'It is noon.',
  })),
]

function failedEvents(message: string): string[] {
  const error = { code: 'server_error', message }
  const response = { id: 'resp_1', status: 'failed', error, output: [], usage: null }
  return [...textPayloads.slice(0, 2), JSON.stringify({ type: 'response.failed', response })]
}

/** The items after the first one, which is the question. */
function returnedInput(): unknown[] {
  const { input } = native.requests.at(-1)?.json ?? {}
  return Array.isArray(input) ? input.slice(1) : []
}

describe('Models of the Responses API alone', () => {
  test('Chat, streaming or not – has the text, and the cost of the same usage in chat', async () => {
    const reference = await alice.post(chatRequest('chat-only'))
    const cost = reference.headers.get('x-sluice-cost')
    const response = await alice.post(chatRequest('pro', { max_tokens: 50 }))
    assert.equal(response.headers.get('x-sluice-cost'), cost)
    const completion = (await response.json()) as Json
    assert.partialDeepStrictEqual(completion, {
      object: 'chat.completion',
      model: 'pro',
      choices: [{ message: { role: 'assistant', content: 'Hello, world.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 8 } },
    })
    const sent = native.requests.at(-1)
    assert.equal(sent?.path, '/v1/responses')
    assert.partialDeepStrictEqual(sent.json, { model: 'o3-pro', max_output_tokens: 50, store: false })
    const streamed = await alice.post(
      chatRequest('pro', { stream: true, stream_options: { include_usage: true } }),
    )
    const payloads = await readPayloads(streamed)
    assert.equal(payloads.at(-1), '[DONE]')
    const { text, usages, finishes } = assemble(parseChunks(payloads) as Json[])
    assert.deepEqual(
      [text, usages.length, finishes],
      ['Hello, world.', 1, [{ reason: 'stop', native: 'completed' }]],
    )
    for (const each of [response, streamed]) {
      const record = await waitForRecord(alice, each)
      assert.deepEqual([record.cost, record.usage_source, record.operation], [cost, 'provider', 'chat'])
    }
  })

  test('Tool loop of chat – returns parallel calls, and reasoning where it was', async () => {
    for (const stream of [true, false]) {
      native.next(replay('responses', 'tools'))
      const question = { role: 'user', content: 'Which weather?' }
      const tools = functions.map((each) => ({ type: 'function', function: each }))
      const fields = { stream, tools, reasoning_effort: 'low' }
      const response = await alice.post({ model: 'pro', messages: [question], ...fields })
      const chunks = stream ? parseChunks(await readPayloads(response)) : [(await response.json()) as Json]
      const { text, reasoning, calls, details } = assemble(chunks as Json[])
      assert.deepEqual([text, reasoning], ['I look it up.', 'Three cities, three calls.'])
      assert.deepEqual(native.requests.at(-1)?.json['reasoning'], { effort: 'low', summary: 'auto' })
      const turn = {
        role: 'assistant',
        content: text,
        tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
        reasoning_details: details,
      }
      const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'It is noon.' }))
      const next = await alice.post({ model: 'pro', messages: [question, turn, ...results], ...fields })
      assert.equal(next.status, 200, await next.text())
      assert.deepEqual(returnedInput(), returnedItems)
    }
  })

  test('Tool loop of messages – returns parallel calls, and signed thinking where it was', async () => {
    const tools = functions.map(({ name }) => ({ name, input_schema: parameters }))
    const thinking = { type: 'enabled', budget_tokens: 2000 }
    for (const stream of [true, false]) {
      native.next(replay('responses', 'tools'))
      const request = messagesRequest('pro', { stream, tools, thinking, max_tokens: 4000 })
      const response = await postMessages(alice, request)
      const { content, stop_reason: reason } = stream
        ? assembleMessage(parseMessagesEvents(await response.text()))
        : ((await response.json()) as { content: Json[]; stop_reason: string })
      assert.equal(reason, 'tool_use')
      assert.deepEqual(native.requests.at(-1)?.json['reasoning'], { effort: 'low', summary: 'auto' })
      const calls = content.filter(({ type }) => type === 'tool_use')
      assert.deepEqual(
        calls.map(({ name, input }) => ({ name, input })),
        callsOfRecording,
      )
      const results = calls.map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: 'It is noon.',
      }))
      const messages = [
        ...request.messages,
        { role: 'assistant', content },
        { role: 'user', content: results },
      ]
      const next = await postMessages(alice, { ...request, messages })
      assert.equal(next.status, 200, await next.text())
      const encrypted = (items: readonly unknown[]): unknown[] =>
        (items as Json[]).map((item) => item['encrypted_content']).filter(Boolean)
      assert.deepEqual(encrypted(returnedInput()), encrypted(returnedItems))
      assert.deepEqual(returnedInput().slice(-6), returnedItems.slice(-6))
      // Another model of this provider, which has chat completions, gets none of it.
      const other = await postMessages(alice, { ...request, messages, model: 'chat-only' })
      assert.equal(other.status, 200, await other.text())
      const sent = JSON.stringify(chat.requests.at(-1)?.json['messages'])
      assert.doesNotMatch(sent, /reasoning|encrypted|c2lnbmVk/)
    }
  })

  test('Upstream whose streams are collected – is asked for a stream', async () => {
    const collected = await server.upstream(replay('responses', 'text'), {
      provider: 'openai',
      collect_stream: true,
    })
    await addModel('collected', collected)
    const response = await alice.post(chatRequest('collected'))
    assert.partialDeepStrictEqual(await response.json(), {
      choices: [{ message: { content: 'Hello, world.' } }],
      usage: { prompt_tokens: 20, completion_tokens: 4 },
    })
    assert.equal(collected.requests.at(-1)?.json['stream'], true)
  })

  test('Image and structured output – are sent in the form of the API', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url } },
    ]
    const json_schema = {
      name: 'thing',
      schema: { ...parameters, additionalProperties: false },
      strict: true,
    }
    const response_format = { type: 'json_schema', json_schema }
    const body = { model: 'pro', messages: [{ role: 'user', content }], response_format }
    const response = await alice.post(body)
    assert.equal(response.status, 200, await response.text())
    assert.partialDeepStrictEqual(native.requests.at(-1)?.json, {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: url },
          ],
        },
      ],
      text: { format: { type: 'json_schema', ...json_schema } },
    })
  })

  test('Failure before content – is replaced by an upstream of chat', async () => {
    for (const stream of [true, false]) {
      const failed = {
        id: 'r',
        status: 'failed',
        output: [],
        error: { code: 'server_error', message: 'No.' },
      }
      native.next(stream ? respondWithEvents(failedEvents('No.')) : respondWithJson(200, failed))
      const text = await (await alice.post(chatRequest('pro-then-chat', { stream }))).text()
      assert.match(text, /chat\./)
    }
  })

  test('Stream that fails or is cut after content – ends with an error, charged as received', async () => {
    const begun = textPayloads.slice(0, 5)
    const failed = respondWithEvents([...begun, ...failedEvents('No.').slice(2)])
    for (const script of [failed, truncateAfter(5, 'reset', respondWithEvents(textPayloads))]) {
      native.next(script)
      const response = await alice.post(chatRequest('pro', { stream: true }))
      const payloads = await readPayloads(response)
      assert.equal(finalError(payloads).code, 'upstream_unavailable')
      assert.match(payloads.join(''), /Hello,/)
      const record = await waitForRecord(alice, response)
      assert.deepEqual([record.outcome, record.usage_source], ['truncated', 'estimate'])
      assert.ok(Number(record.cost) > 0)
    }
    assert.equal((await server.verify()).ok, true)
  })

  test('A maximum below the API’s minimum is raised, held and charged', async () => {
    const counted = { input_tokens: 20, output_tokens: 16, total_tokens: 36 }
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    native.next(respondWithJson(200, { id: 'r', ...incomplete, output: [], usage: counted }))
    const response = await alice.post(chatRequest('pro', { max_tokens: 4 }))
    assert.equal(native.requests.at(-1)?.json['max_output_tokens'], 16)
    assert.partialDeepStrictEqual(await response.json(), { choices: [{ finish_reason: 'length' }] })
    const record = await waitForRecord(alice, response)
    // 20 input and 16 output tokens.
    assert.deepEqual([record.cost, record.clamped], ['0.000168', false])
  })

  test('Deep research – searches with the search of chat, at its price', async () => {
    await server.model('research', {
      prices: { ...prices, per_search: '0.01' },
      upstreams: [],
      routes: [{ upstream: native.name, model: 'o4-mini-deep-research' }],
    })
    const page = { url: 'https://example.com', title: 'Example', start_index: 0, end_index: 4 }
    const annotations = [{ type: 'url_citation', ...page }]
    const message = { type: 'message', content: [{ type: 'output_text', text: 'Found', annotations }] }
    const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }
    const opened = { ...search, action: { type: 'open_page', url: page.url } }
    const counted = { input_tokens: 20, output_tokens: 4, total_tokens: 24 }
    const output = [search, opened, search, message]
    native.next(respondWithJson(200, { id: 'r', status: 'completed', output, usage: counted }))
    const response = await alice.post(chatRequest('research', { web_search_options: {} }))
    assert.deepEqual(native.requests.at(-1)?.json['tools'], [{ type: 'web_search_preview' }])
    assert.partialDeepStrictEqual(await response.json(), {
      choices: [{ message: { annotations: [{ type: 'url_citation', url_citation: page }] } }],
    })
    const record = await waitForRecord(alice, response)
    assert.deepEqual([record.searches, record.cost], [2, '0.020072'])
  })

  test('Low balance – lowers the maximum', async () => {
    const poor = await server.account({ balance: '¥0.02' })
    assert.equal((await poor.post(chatRequest('pro', { max_tokens: 4000 }))).status, 200)
    const lowered = Number(native.requests.at(-1)?.json['max_output_tokens'])
    assert.ok(lowered >= 16 && lowered < 2500, String(lowered))
  })

  test('What the API does not have – is served by another upstream, or rejected by name', async () => {
    const served = await alice.post(chatRequest('pro-then-chat', { n: 1, seed: 7 }))
    assert.match(await served.text(), /Hello from chat\./)
    const rejected = await alice.post(chatRequest('pro', { stop: ['\n'] }))
    assert.deepEqual([rejected.status, (await readError(rejected)).param], [400, 'stop'])
  })
})
