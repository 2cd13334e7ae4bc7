// @backend both (cluster in long runs)
/** `collect_stream`: non-streaming responses are asked for as streams, and collected. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { readError, waitForNewestRecord, waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  postMessages,
  respondWithMessage,
} from '../../support/upstream/anthropic-messages.ts'
import type { Exchange, Script } from '../../support/upstream/exchange.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondEndlessly,
  respondWith,
  respondWithDeltas,
  respondWithEvents,
  respondWithJson,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const usage = { input: 12, output: 9 }
const timeouts = { first_token_ms: 30_000, idle_ms: 500, answer_ms: 30_000 }
const collecting = await server.upstream(respondWith('Hello!', usage), { collect_stream: true, timeouts })
const other = await server.upstream(respondWith('Hello from the other!', usage))
const claude = await server.upstream(respondWithMessage(['One', ' two']), {
  provider: 'anthropic',
  collect_stream: true,
})
await server.model('m', { upstreams: [collecting] })
await server.model('m-then-other', { upstreams: [collecting, other] })
await server.model('claude', { upstreams: [claude] })

interface Completion {
  readonly object: string
  readonly choices: readonly { readonly message: Record<string, unknown>; readonly finish_reason: string }[]
  readonly usage: Record<string, unknown>
}

/** Events of a response with two tool calls, whose pieces are mixed. */
const mixedCalls: Script = (() => {
  const chunk = (delta: object, finish: string | null = null): string =>
    JSON.stringify({
      id: 'c1',
      created: 7,
      model: 'up',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  const call = (index: number, fields: object, text: string): object => ({
    tool_calls: [
      { index, ...fields, function: { ...('id' in fields ? { name: 'get' } : {}), arguments: text } },
    ],
  })
  return respondWithEvents([
    chunk({ role: 'assistant', content: null, reasoning_content: 'Think' }),
    chunk({ reasoning_content: 'ing' }),
    chunk(call(0, { id: 'call_a', type: 'function' }, '{"a"')),
    chunk(call(1, { id: 'call_b', type: 'function' }, '{"b"')),
    chunk(call(0, {}, ':1}')),
    chunk(call(1, {}, ':2}')),
    chunk({}, 'tool_calls'),
    JSON.stringify({ id: 'c1', choices: [], usage: { prompt_tokens: 12, completion_tokens: 9 } }),
    '[DONE]',
  ])
})()

/** Responds endlessly. `received` resolves when the relay has certainly received something. */
function respondUntilReceived(): { script: Script; received: Promise<void> } {
  const { promise: received, resolve } = Promise.withResolvers<void>()
  const script: Script = (exchange) => {
    let events = 0
    const event: Exchange['event'] = (payload) => {
      events += 1
      if (events === 100) resolve()
      return exchange.event(payload)
    }
    return respondEndlessly(' more', 1)({ ...exchange, event })
  }
  return { script, received }
}

describe('collect_stream', () => {
  test('Upstream – is asked for a stream, and the caller gets one response with its charge', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await account.post(chatRequest('m'))
    assert.equal(response.headers.get('content-type'), 'application/json')
    const body = (await response.json()) as Completion
    assert.equal(body.object, 'chat.completion')
    assert.deepEqual(body.choices[0]?.message, { role: 'assistant', content: 'Hello!', refusal: null })
    assert.equal(body.choices[0].finish_reason, 'stop')
    assert.deepEqual([body.usage['prompt_tokens'], body.usage['completion_tokens']], [12, 9])
    const sent = collecting.requests.at(-1)?.json
    assert.deepEqual([sent?.['stream'], sent?.['stream_options']], [true, { include_usage: true }])
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.outcome, record.stream, record.usage_source], ['ok', false, 'provider'])
    assert.equal(Number(record.cost), Number(response.headers.get('x-sluice-cost')))
  })

  test('Reasoning and calls in pieces – are joined by their index', async () => {
    const account = await server.account({ balance: '¥1' })
    collecting.next(mixedCalls)
    const { choices } = (await (await account.post(chatRequest('m'))).json()) as Completion
    const call = (id: string, text: string): object => ({
      id,
      type: 'function',
      function: { name: 'get', arguments: text },
    })
    assert.deepEqual(choices[0]?.message, {
      role: 'assistant',
      reasoning_content: 'Thinking',
      content: null,
      refusal: null,
      tool_calls: [call('call_a', '{"a":1}'), call('call_b', '{"b":2}')],
    })
  })

  test('Stream that breaks off after content – another upstream responds and is charged', async () => {
    for (const how of ['hang', 'reset', 'end'] as const) {
      const account = await server.account({ balance: '¥1' })
      collecting.next(truncateAfter(4, how, respondWithDeltas(9, usage)))
      const response = await account.post(chatRequest('m-then-other'))
      assert.match(await response.text(), /Hello from the other!/, how)
      const { attempts, outcome } = await waitForRecord(account, response)
      assert.deepEqual([outcome, ...attempts.map((each) => each.outcome)], ['ok', 'failed', 'ok'])
    }
  })

  test('Stream that stalls without another upstream – fails and costs nothing', async () => {
    const account = await server.account({ balance: '¥1' })
    collecting.next(truncateAfter(4, 'hang', respondWithDeltas(9, usage)))
    const response = await account.post(chatRequest('m'))
    assert.deepEqual([response.status, (await readError(response)).code], [503, 'upstream_unavailable'])
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.outcome, Number(record.cost)], ['failed', 0])
  })

  test('Caller that disconnects – is charged what was received, as of a stream', async () => {
    const account = await server.account({ balance: '¥1' })
    const { script, received } = respondUntilReceived()
    collecting.next(script)
    const abort = new AbortController()
    const left = assert.rejects(account.post(chatRequest('m'), { signal: abort.signal }), {
      name: 'AbortError',
    })
    await received
    abort.abort()
    await left
    await collecting.nextDisconnect()
    const { outcome, usage_source: source, completion_tokens: tokens } = await waitForNewestRecord(account)
    assert.deepEqual([outcome, source], ['aborted', 'estimate'])
    assert.ok(tokens > 0)
    assert.equal((await server.verify()).ok, true)
  })

  test('Upstream that responds with JSON all the same – is accepted', async () => {
    const account = await server.account({ balance: '¥1' })
    const message = { role: 'assistant', content: 'Whole.' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    collecting.next(respondWithJson(200, { id: 'c', object: 'chat.completion', model: 'm', choices }))
    assert.match(await (await account.post(chatRequest('m'))).text(), /Whole\./)
  })

  test('Message of Anthropic’s format – is collected from its own events', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await postMessages(account, messagesRequest('claude'))
    const message = (await response.json()) as { type: string; content: object[]; stop_reason: string }
    assert.deepEqual(message.content, [{ type: 'text', text: 'One two' }])
    assert.deepEqual([message.type, message.stop_reason], ['message', 'end_turn'])
    assert.equal(claude.requests.at(-1)?.json['stream'], true)
    const chat = (await (await account.post(chatRequest('claude'))).json()) as Completion
    assert.equal(chat.choices[0]?.message['content'], 'One two')
  })

  test('Relay that crashes – is charged up to the last mark, as of a stream', async () => {
    const account = await server.account({ balance: '¥1' })
    const { script, received } = respondUntilReceived()
    collecting.next(script)
    const interrupted = assert.rejects(account.post(chatRequest('m')))
    await received
    await server.kill()
    await interrupted
    await server.restart()
    const { outcome, completion_tokens: tokens } = await waitForNewestRecord(account)
    assert.equal(outcome, 'ended')
    assert.ok(tokens > 0)
    assert.equal((await server.verify()).ok, true)
  })
})
