/**
 * The test server for Anthropic's official clients: a relay with one model for each behavior, once with an upstream that
 * has the Messages API (`claude-…`) and once with one that does not (`other-…`).
 */
import type { TestContext } from 'node:test'

import type { Account } from '../test/support/server/account.ts'
import { isStreamingRequest } from '../test/support/upstream/exchange.ts'
import type { Script } from '../test/support/upstream/exchange.ts'
import { startTestServer } from '../test/support/server/test-server.ts'
import type { TestServer, RegisteredUpstream } from '../test/support/server/test-server.ts'
import { failAfter, neverRespond, truncateAfter } from '../test/support/upstream/fault-injection.ts'
import {
  respondEndlessly,
  respondWithEvents,
  respondWithError,
  respondWithJson,
  respondWithRecordedStream,
  respondWith,
  respondWithDeltas,
} from '../test/support/upstream/scripted-responses.ts'

export const families = ['claude', 'other'] as const
export type Family = (typeof families)[number]

const usage = { input: 1000, output: 100 }

export const toolCalls = [
  { id: 'toolu_paris', name: 'weather', input: { city: 'Paris', days: 3 } },
  { id: 'toolu_oslo', name: 'weather', input: { city: 'Oslo', days: 5 } },
]

/** One red pixel. */
export const image =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

interface Content {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly id?: string
  readonly name?: string
  readonly input?: object
}

function* contentDeltas(index: number, block: Content): Generator<object> {
  const delta = (type: string, fields: object): object => {
    return { type: 'content_block_delta', index, delta: { type, ...fields } }
  }
  const { text, thinking, signature, input } = block
  for (const piece of text?.match(/\s*\S+/g) ?? []) yield delta('text_delta', { text: piece })
  for (const piece of thinking?.match(/\s*\S+/g) ?? []) yield delta('thinking_delta', { thinking: piece })
  if (signature !== undefined) yield delta('signature_delta', { signature })
  for (const piece of input ? (JSON.stringify(input).match(/.{1,8}/gs) ?? []) : []) {
    yield delta('input_json_delta', { partial_json: piece })
  }
}

/** The block in its start event. */
function emptyBlock(block: Content): object {
  if (block.type === 'text') return { type: 'text', text: '' }
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
  return { ...block, input: {} }
}

/** Responds with this content, streamed if requested. */
function respondWithContent(content: readonly Content[], stopReason = 'end_turn'): Script {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude' }
  const usageFields = { input_tokens: usage.input, output_tokens: usage.output }
  const stopFields = { stop_reason: stopReason, stop_sequence: null }
  const startMessage = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usageFields, output_tokens: 1 },
  }
  const stream = [
    { type: 'message_start', message: startMessage },
    { type: 'ping' },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: emptyBlock(block) },
      ...contentDeltas(index, block),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: stopFields, usage: { output_tokens: usage.output } },
    { type: 'message_stop' },
  ].map((event) => JSON.stringify(event))
  return (exchange) => {
    const { path } = exchange.request
    if (path.endsWith('/count_tokens')) return respondWithJson(200, { input_tokens: 7 })(exchange)
    return isStreamingRequest(exchange.request)
      ? respondWithRecordedStream(stream)(exchange)
      : respondWithJson(200, { ...message, content, ...stopFields, usage: usageFields })(exchange)
  }
}

function textBlock(words: string): Content {
  return { type: 'text', text: words }
}

const overloaded = { type: 'overloaded_error', message: 'Overloaded' }

/** Streams three words and then an error event. */
const respondWithBrokenStream: Script = (exchange) => {
  const events = [
    {
      type: 'message_start',
      message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: {} },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...[' w1', ' w2', ' w3'].map((words) => {
      return { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } }
    }),
    { type: 'error', error: overloaded },
  ]
  return respondWithEvents(events.map((event) => ({ payload: JSON.stringify(event), name: event.type })))(
    exchange,
  )
}

/** Streams words until the client disconnects. */
const respondWithEndlessStream: Script = async (exchange) => {
  const send = (type: string, fields: object): Promise<boolean> =>
    exchange.event(JSON.stringify({ type, ...fields }), type)
  exchange.head(200, { 'content-type': 'text/event-stream' })
  await send('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage: {} } })
  await send('content_block_start', { index: 0, content_block: textBlock('') })
  const delta = { type: 'text_delta', text: ' more' }
  while ((await send('content_block_delta', { index: 0, delta })) && (await exchange.pause(5)));
}

const scripts: Readonly<Record<Family, Readonly<Record<string, Script>>>> = {
  claude: {
    plain: respondWithContent([textBlock('Hello, world!')]),
    tools: respondWithContent(
      toolCalls.map((call) => ({ type: 'tool_use', ...call })),
      'tool_use',
    ),
    thinking: respondWithContent([
      { type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' },
      textBlock('Hello!'),
    ]),
    broken: respondWithBrokenStream,
    cut: truncateAfter(6, 'end', respondWithContent([textBlock(' w1 w2 w3 w4')])),
    mute: neverRespond,
    endless: respondWithEndlessStream,
  },
  other: {
    plain: respondWith('Hello, world!', usage),
    tools: respondWith('', usage, {
      toolCalls: toolCalls.map(({ input, ...call }) => ({ ...call, arguments: JSON.stringify(input) })),
    }),
    thinking: respondWith('Hello!', usage, { reasoning: 'Let me see.' }),
    broken: failAfter(4, { message: 'The model broke.', code: 'broken' }, respondWithDeltas(9)),
    cut: truncateAfter(4, 'end', respondWithDeltas(9)),
    mute: neverRespond,
    endless: respondEndlessly(),
  },
}

export interface MessagesTestServer {
  readonly server: TestServer
  readonly upstreams: Readonly<Record<Family, RegisteredUpstream>>
  readonly rich: Account
  readonly poor: Account
  readonly limited: Account
}

export async function startMessagesTestServer(t: TestContext): Promise<MessagesTestServer> {
  const server = await startTestServer(t)
  const open = async (family: Family, provider: string): Promise<RegisteredUpstream> => {
    const upstream = await server.upstream(neverRespond, { provider })
    for (const [name, script] of Object.entries(scripts[family])) {
      const model = `${family}-${name}`
      upstream.forModel(model, script)
      await server.model(model, { upstreams: [upstream], prices: ['0.002', '0.002'] })
    }
    return upstream
  }
  return {
    server,
    upstreams: { claude: await open('claude', 'anthropic'), other: await open('other', 'openai-compatible') },
    rich: await server.account({ balance: '¥10' }),
    poor: await server.account(),
    limited: await server.account({ balance: '¥1', key: { limits: { tpm: 10 } } }),
  }
}

/** Makes an upstream reject its next request with 429. */
export function rateLimitOnce({ upstreams }: MessagesTestServer, family: Family): void {
  upstreams[family].next(respondWithError(429, { type: 'error', error: overloaded }, { 'retry-after': '1' }))
}
