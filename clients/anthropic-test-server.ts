/**
 * What clients of Anthropic's format meet in their stories: one relay, each thing that can happen twice, behind an upstream
 * that speaks the format (`claude-…`) and behind one that does not (`other-…`).
 */
import type { TestContext } from 'node:test'

import type { Account } from '../test/support/server/account.ts'
import { asksForStream } from '../test/support/upstream/exchange.ts'
import type { Script } from '../test/support/upstream/exchange.ts'
import { openHouse } from '../test/support/server/test-server.ts'
import type { House, KnownUpstream } from '../test/support/server/test-server.ts'
import { failingAfter, mute, truncating } from '../test/support/upstream/fault-injection.ts'
import {
  endless,
  events,
  failing,
  json,
  recordedStream,
  saying,
  sayingMany,
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

function* deltasOf(index: number, block: Content): Generator<object> {
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

/** The block as it begins. */
function beginningOf(block: Content): object {
  if (block.type === 'text') return { type: 'text', text: '' }
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
  return { ...block, input: {} }
}

/** An answer of Anthropic's, whole or streamed as asked. */
function telling(content: readonly Content[], stopReason = 'end_turn'): Script {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude' }
  const told = { input_tokens: usage.input, output_tokens: usage.output }
  const ended = { stop_reason: stopReason, stop_sequence: null }
  const begun = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...told, output_tokens: 1 },
  }
  const stream = [
    { type: 'message_start', message: begun },
    { type: 'ping' },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: beginningOf(block) },
      ...deltasOf(index, block),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: ended, usage: { output_tokens: usage.output } },
    { type: 'message_stop' },
  ].map((event) => JSON.stringify(event))
  return (exchange) => {
    const { path } = exchange.request
    if (path.endsWith('/count_tokens')) return json(200, { input_tokens: 7 })(exchange)
    return asksForStream(exchange.request)
      ? recordedStream(stream)(exchange)
      : json(200, { ...message, content, ...ended, usage: told })(exchange)
  }
}

function text(words: string): Content {
  return { type: 'text', text: words }
}

const overloaded = { type: 'overloaded_error', message: 'Overloaded' }

/** Three words, then an error, in Anthropic's words. */
const breaking: Script = (exchange) => {
  const begun = [
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
  return events(begun.map((event) => ({ payload: JSON.stringify(event), name: event.type })))(exchange)
}

/** Words without end, until the caller leaves. */
const talking: Script = async (exchange) => {
  const tell = (type: string, fields: object): Promise<boolean> =>
    exchange.event(JSON.stringify({ type, ...fields }), type)
  exchange.head(200, { 'content-type': 'text/event-stream' })
  await tell('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage: {} } })
  await tell('content_block_start', { index: 0, content_block: text('') })
  const delta = { type: 'text_delta', text: ' more' }
  while ((await tell('content_block_delta', { index: 0, delta })) && (await exchange.pause(5)));
}

const scripts: Readonly<Record<Family, Readonly<Record<string, Script>>>> = {
  claude: {
    plain: telling([text('Hello, world!')]),
    tools: telling(
      toolCalls.map((call) => ({ type: 'tool_use', ...call })),
      'tool_use',
    ),
    thinking: telling([{ type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' }, text('Hello!')]),
    broken: breaking,
    cut: truncating(6, 'end', telling([text(' w1 w2 w3 w4')])),
    mute,
    endless: talking,
  },
  other: {
    plain: saying('Hello, world!', usage),
    tools: saying('', usage, {
      toolCalls: toolCalls.map(({ input, ...call }) => ({ ...call, arguments: JSON.stringify(input) })),
    }),
    thinking: saying('Hello!', usage, { reasoning: 'Let me see.' }),
    broken: failingAfter(4, { message: 'The model broke.', code: 'broken' }, sayingMany(9)),
    cut: truncating(4, 'end', sayingMany(9)),
    mute,
    endless: endless(),
  },
}

export interface MessagesStage {
  readonly house: House
  readonly upstreams: Readonly<Record<Family, KnownUpstream>>
  readonly rich: Account
  readonly poor: Account
  readonly limited: Account
}

export async function openMessagesStage(t: TestContext): Promise<MessagesStage> {
  const house = await openHouse(t)
  const open = async (family: Family, provider: string): Promise<KnownUpstream> => {
    const upstream = await house.upstream(mute, { provider })
    for (const [name, script] of Object.entries(scripts[family])) {
      const model = `${family}-${name}`
      upstream.forModel(model, script)
      await house.model(model, { upstreams: [upstream], prices: ['0.002', '0.002'] })
    }
    return upstream
  }
  return {
    house,
    upstreams: { claude: await open('claude', 'anthropic'), other: await open('other', 'openai-compatible') },
    rich: await house.account({ balance: '¥10' }),
    poor: await house.account(),
    limited: await house.account({ balance: '¥1', key: { limits: { tpm: 10 } } }),
  }
}

/** Makes an upstream refuse its next request as too many. */
export function makeBusyOnce({ upstreams }: MessagesStage, family: Family): void {
  upstreams[family].next(failing(429, { type: 'error', error: overloaded }, { 'retry-after': '1' }))
}
