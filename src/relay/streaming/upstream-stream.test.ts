import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { assembleMessage, parseMessagesEvents } from '../../../test/support/upstream/anthropic-messages.ts'
import { decode } from '../../formats/responses.fixture.ts'
import { createCall } from '../../providers/contract.fixture.ts'
import { providerFor, type OperationApi } from '../../providers/openai/spoken-apis.ts'
import { noUsage } from '../../providers/usage.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import { messagesRequest } from '../request/messages.fixture.ts'
import { readChatRequest } from '../request/request-body.ts'
import { readResponsesRequest } from '../request/responses-request.ts'
import { UpstreamStream } from './upstream-stream.ts'

type Json = Record<string, unknown>
type Caller = 'chat' | 'messages' | 'responses'

const body = (fields: Json): Buffer => Buffer.from(JSON.stringify({ model: 'm', stream: true, ...fields }))
const callers: Record<Caller, () => CallerRequest> = {
  chat: () =>
    readChatRequest(
      body({ messages: [{ role: 'user', content: 'Hi' }], stream_options: { include_usage: true } }),
    ),
  messages: () => messagesRequest({ stream: true }),
  responses: () => readResponsesRequest(body({ input: 'Hi' })),
}

/** What a caller gets of an upstream's stream. */
function relay(name: string, caller: Caller, read: (stream: UpstreamStream) => void) {
  const request = callers[caller]()
  const api: OperationApi | undefined = caller === 'responses' ? 'responses' : undefined
  const provider = providerFor({ provider: name, settings: {} }, name === 'responses' ? 'o3-pro' : 'm', api)
  assert.ok(provider)
  const timeouts = { connectMs: 1, firstTokenMs: 1, idleMs: 1, answerMs: 1 }
  const encoding = request.encodingFor(provider)
  const call = { ...createCall(provider, { stream: true }), provider, body: encoding, timeouts, proxy: null }
  const stream = new UpstreamStream(call, 1024 * 1024, {
    onContent: () => undefined,
    onCommit: () => undefined,
  })
  const sent: Buffer[] = []
  let end = 'open'
  read(stream)
  const wasCommitted = stream.isCommitted
  stream.attach({
    onChunk: (bytes) => void (bytes && sent.push(Buffer.from(bytes))),
    onComplete: () => (end = 'complete'),
    onCut: () => (end = 'cut'),
    onError: ({ kind, message }) => (end = `${kind}: ${message}`),
  })
  const conclusion = { cutBy: null, paidTokens: Infinity, loweredMaximum: null, charge: 0n }
  if (end === 'complete')
    sent.push(...stream.encoder.finalEvents({ ...conclusion, usage: stream.meter.usage ?? noUsage }))
  return { end, wasCommitted, meter: stream.meter, text: Buffer.concat(sent).toString() }
}

const events = (...payloads: readonly (Json | string)[]): string =>
  payloads.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join('')

/** What a caller gets of these events. */
const received = (name: string, caller: Caller, text: string) =>
  relay(name, caller, (stream) => {
    stream.push(Buffer.from(text))
    stream.close()
  })

const chunk = (delta: Json, finish: string | null = null, more: Json = {}): Json => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
const hello = chunk({ role: 'assistant', content: 'Hello' })
const counts = { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 }
const usageChunk = (usage: Json): Json => ({ id: 'c', model: 'm', choices: [], usage })
const called = (fields: Json): Json => chunk({ tool_calls: [fields] })
const formats = ['chat', 'messages', 'responses'] as const

function messageOf(text: string) {
  return assembleMessage(parseMessagesEvents(text))
}

function responseOf(text: string): Json {
  return decode(Buffer.from(text)).at(-1)?.response ?? {}
}

describe('Usage of a stream', () => {
  test('Anthropic’s counts stay where a later event repeats them as null', () => {
    const start = { input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 1 }
    const nulls = { input_tokens: null, cache_read_input_tokens: null, output_tokens: 50 }
    const { meter } = received(
      'anthropic',
      'chat',
      events(
        { type: 'message_start', message: { id: 'm', usage: start, content: [] } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: nulls },
        { type: 'message_stop' },
      ),
    )
    assert.deepEqual(meter.usage, { ...noUsage, input: 1000, cachedInput: 400, output: 50 })
  })

  test('Details stay where the last usage has none, wherever the usage stands', () => {
    const details = { ...counts, prompt_tokens_details: { cached_tokens: 400 } }
    const last = { index: 0, delta: {}, finish_reason: 'stop', usage: { ...counts, cached_tokens: 400 } }
    for (const text of [
      events(hello, usageChunk(details), chunk({}, 'stop'), usageChunk(counts), '[DONE]'),
      events(hello, { id: 'c', model: 'm', choices: [last] }, '[DONE]'),
    ]) {
      const { meter, text: sent } = received('moonshot', 'chat', text)
      assert.deepEqual(meter.usage, { ...noUsage, input: 1000, cachedInput: 400, output: 50 })
      assert.match(sent, /"cost":0/)
    }
  })

  test('A usage of a failed response is its invoice', () => {
    const usage = { input_tokens: 1000, output_tokens: 50, input_tokens_details: { cached_tokens: 400 } }
    const response = { id: 'r', status: 'failed', error: { code: 'server_error', message: 'No' }, usage }
    const { end, meter } = received(
      'openai',
      'responses',
      events(
        { type: 'response.output_text.delta', output_index: 0, delta: 'Hello' },
        { type: 'response.failed', response },
      ),
    )
    assert.equal(end, 'unavailable: No')
    assert.deepEqual(
      [meter.hasFailedWithUsage, meter.usage?.cachedInput, meter.usage?.output],
      [true, 400, 50],
    )
  })
})

describe('Failures in a stream', () => {
  const failures = [
    chunk({ content: '' }, 'error', { error: { code: 502, message: 'Provider disconnected' } }),
    chunk({}, null, { error: 'Provider disconnected' }),
    { choices: [{ index: 0, delta: {}, error: { code: 502, message: 'Provider disconnected' } }] },
    { object: 'error', message: 'Provider disconnected', code: 500 },
    { choices: null, base_resp: { status_code: 1013, status_msg: 'Provider disconnected' } },
  ]

  test('An error next to choices or in one of them is a failure in every format', () => {
    for (const caller of formats) {
      for (const failure of failures) {
        const first = received('openrouter', caller, events(failure, '[DONE]'))
        assert.deepEqual([first.end, first.wasCommitted], ['unavailable: Provider disconnected', false])
        const later = received('openrouter', caller, events(hello, failure, '[DONE]'))
        assert.deepEqual([later.end, later.wasCommitted], ['unavailable: Provider disconnected', true])
      }
    }
  })

  test('A finish reason that means failure is one, and an empty error is none', () => {
    for (const [name, reason] of [
      ['zhipu', 'network_error'],
      ['deepseek', 'insufficient_system_resource'],
      ['openrouter', 'error'],
    ] as const) {
      const { end, meter } = received(
        name,
        'messages',
        events(hello, chunk({ content: '!' }, reason), '[DONE]'),
      )
      assert.equal(end, `unavailable: The provider ended its response with "${reason}".`)
      assert.equal(meter.finishReason, null)
    }
    const empty = chunk({ content: 'Hi' }, 'stop', { error: {}, base_resp: { status_code: 0 } })
    assert.equal(received('minimax', 'chat', events(empty, '[DONE]')).end, 'complete')
  })
})

describe('Unknown finish reasons of a stream', () => {
  test('They are passed on as they are in every format', () => {
    const text = events(hello, chunk({}, 'tired'), usageChunk(counts), '[DONE]')
    const [chat, messages, responses] = formats.map((caller) => received('mistral', caller, text))
    for (const each of [chat, messages, responses])
      assert.deepEqual(
        [each?.end, each?.meter.finishReason, each?.meter.isFinishUnknown],
        ['complete', 'tired', true],
      )
    assert.match(chat?.text ?? '', /"finish_reason":"tired"/)
    assert.equal(messageOf(messages?.text ?? '')['stop_reason'], 'tired')
    const { status, incomplete_details: details } = responseOf(responses?.text ?? '')
    assert.deepEqual([status, details], ['incomplete', { reason: 'tired' }])
  })

  test('A filtered response is no unknown one', () => {
    const text = events(hello, chunk({}, 'sensitive'), '[DONE]')
    const { meter, text: sent } = received('zhipu', 'messages', text)
    assert.deepEqual([meter.isFinishUnknown, messageOf(sent)['stop_reason']], [false, 'refusal'])
  })
})

describe('Events of a stream', () => {
  test('An event without data is none, in any format', () => {
    for (const blank of ['data:\n\n', 'data: \n\n', 'event: ping\ndata:\n\n', 'data: \r\n\r\n']) {
      const text = blank + events(hello) + blank + events(chunk({}, 'stop'), usageChunk(counts)) + blank
      for (const caller of formats) assert.equal(received('mistral', caller, text).end, 'complete')
      const native = events(
        { type: 'message_start', message: { id: 'm', usage: {}, content: [] } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
        { type: 'content_block_stop', index: 0 },
      )
      const last = events(
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      )
      const { end, text: sent } = received('anthropic', 'messages', blank + native + blank + last)
      assert.equal(end, 'complete')
      assert.equal(sent.split('data: ').length, 6)
      const gemini = { candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] }
      assert.equal(received('gemini', 'chat', blank + events(gemini) + blank).end, 'complete')
    }
  })

  test('Two calls of one index, or of none, stay two calls', () => {
    const [first, second] = [
      { id: 'a', function: { name: 'f', arguments: '{"a":1}' } },
      { id: 'b', function: { name: 'f', arguments: '{"b":2}' } },
    ]
    for (const index of [{ index: 0 }, {}]) {
      const text = events(
        called({ ...first, ...index }),
        called({ ...second, ...index }),
        chunk({}, 'tool_calls'),
        '[DONE]',
      )
      const { content } = messageOf(received('openai', 'messages', text).text)
      assert.deepEqual(
        content.map(({ input }) => input),
        [{ a: 1 }, { b: 2 }],
      )
      const output = responseOf(received('mistral', 'responses', text).text)['output'] as Json[]
      assert.deepEqual(
        output.map((item) => item['arguments']),
        ['{"a":1}', '{"b":2}'],
      )
    }
  })

  test('Arguments that are an object reach the caller as JSON', () => {
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: { city: 'Bern' } } }
    const text = events(called(call), chunk({}, 'tool_calls'), '[DONE]')
    assert.deepEqual(messageOf(received('openai', 'messages', text).text).content[0]?.['input'], {
      city: 'Bern',
    })
    const output = responseOf(received('mistral', 'responses', text).text)['output'] as Json[]
    assert.equal(output[0]?.['arguments'], '{"city":"Bern"}')
  })
})

describe('A whole response where a stream was asked for', () => {
  const whole = (name: string, caller: Caller, json: unknown) =>
    relay(name, caller, (stream) => stream.readWhole(Buffer.from(JSON.stringify(json))))
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const message = { role: 'assistant', content: 'Hello', tool_calls: [call] }
  const completion = {
    id: 'c',
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: counts,
  }

  test('It becomes the same stream in every format of callers', () => {
    const [chat, messages, responses] = formats.map((caller) => whole('mistral', caller, completion))
    assert.deepEqual([chat?.end, messages?.end, responses?.end], ['complete', 'complete', 'complete'])
    assert.match(
      chat?.text ?? '',
      /"delta":\{"role":"assistant","content":"Hello","tool_calls":\[\{"index":0,/,
    )
    assert.match(chat?.text ?? '', /\[DONE\]\n\n$/)
    assert.deepEqual(
      messageOf(messages?.text ?? '').content.map(({ type }) => type),
      ['text', 'tool_use'],
    )
    assert.equal(responseOf(responses?.text ?? '')['status'], 'completed')
    for (const each of [chat, messages, responses]) assert.equal(each?.meter.usage?.input, 1000)
  })

  test('It is translated from the format of its provider', () => {
    const gemini = {
      candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 50 },
    }
    for (const json of [gemini, [gemini]]) {
      const { end, text, meter } = whole('gemini', 'chat', json)
      assert.deepEqual([end, meter.usage?.input], ['complete', 1000])
      assert.match(text, /"content":"Hello"/)
    }
    assert.match(whole('gemini', 'chat', [{ error: { code: 503, message: 'No' } }]).end, /^unavailable: No/)
  })

  test('It passes through as events of its own format', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 's' },
      { type: 'text', text: 'Hello' },
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
    ]
    const usage = { input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 50 }
    const native = { id: 'm', type: 'message', role: 'assistant', content, stop_reason: 'tool_use', usage }
    const anthropic = whole('anthropic', 'messages', native)
    assert.deepEqual([anthropic.end, anthropic.meter.usage?.input], ['complete', 1000])
    const assembled = messageOf(anthropic.text)
    assert.deepEqual([assembled.content, assembled['stop_reason']], [content, 'tool_use'])

    const output = [
      { type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
      { type: 'function_call', id: 'j', call_id: 'a', name: 'f', arguments: '{}' },
    ]
    const response = {
      id: 'r',
      status: 'completed',
      output,
      usage: { input_tokens: 1000, output_tokens: 50 },
    }
    const openai = whole('openai', 'responses', response)
    assert.deepEqual([openai.end, openai.meter.usage?.output], ['complete', 50])
    assert.deepEqual(responseOf(openai.text), response)
    assert.match(openai.text, /response\.output_text\.delta.*"delta":"Hello"/)
  })
})
