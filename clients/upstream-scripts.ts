/**
 * What the scripted upstreams of official clients respond, by the model's name: one behavior each, once in Anthropic's
 * format (`claude-…`) and once in OpenAI's (`other-…`).
 */
import { isObject } from '../src/providers/json-fields.ts'
import { isStreamingRequest } from '../test/support/upstream/exchange.ts'
import type { ReceivedRequest, Script } from '../test/support/upstream/exchange.ts'
import { failAfter, neverRespond, truncateAfter } from '../test/support/upstream/fault-injection.ts'
import {
  respondEndlessly,
  respondWith,
  respondWithDeltas,
  respondWithEvents,
  respondWithJson,
  respondWithRecordedStream,
} from '../test/support/upstream/scripted-responses.ts'

export const families = ['claude', 'other'] as const
export type Family = (typeof families)[number]

export const usage = { input: 1000, output: 100 }

/** The arguments of two parallel tool calls. */
export const toolInputs = [
  { city: 'Paris', days: 3 },
  { city: 'Oslo', days: 5 },
]

/** Ids of the tool calls as the upstream writes them; those of OpenAI's format are Moonshot's. */
export const callIds: Readonly<Record<Family, readonly string[]>> = {
  other: ['functions.weather:0', 'functions.weather:1'],
  claude: ['toolu_paris', 'toolu_oslo'],
}

export const signature = 'c2lnbmVk'
const thought = 'Let me see.'
const city = '{"city":"Paris","people":2100000}'

function lastMessage({ json }: ReceivedRequest): Record<string, unknown> {
  const last: unknown = Array.isArray(json['messages']) ? json['messages'].at(-1) : undefined
  return isObject(last) ? last : {}
}

/** Whether the request brings the results of tool calls. */
function bringsResults(request: ReceivedRequest): boolean {
  const { role, content } = lastMessage(request)
  return (
    role === 'tool' ||
    (Array.isArray(content) && content.some((part) => isObject(part) && part['type'] === 'tool_result'))
  )
}

/** The name of the request's first tool. */
function firstTool({ json }: ReceivedRequest): string {
  const tool: unknown = Array.isArray(json['tools']) ? json['tools'][0] : undefined
  if (!isObject(tool)) return 'none'
  const named = isObject(tool['function']) ? tool['function'] : tool
  return String(named['name'])
}

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
  const { text, thinking, input } = block
  for (const piece of text?.match(/\s*\S+/g) ?? []) yield delta('text_delta', { text: piece })
  for (const piece of thinking?.match(/\s*\S+/g) ?? []) yield delta('thinking_delta', { thinking: piece })
  if (block.signature !== undefined) yield delta('signature_delta', { signature: block.signature })
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
export function respondWithContent(content: readonly Content[], stopReason = 'end_turn'): Script {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude' }
  const usageFields = { input_tokens: usage.input, output_tokens: usage.output }
  const stopFields = { stop_reason: stopReason, stop_sequence: null }
  const initialUsage = { ...usageFields, output_tokens: 1 }
  const unfinished = { content: [], stop_reason: null, stop_sequence: null, usage: initialUsage }
  const stream = [
    { type: 'message_start', message: { ...message, ...unfinished } },
    { type: 'ping' },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: emptyBlock(block) },
      ...contentDeltas(index, block),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: stopFields, usage: usageFields },
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

const respondWithClaudeText = (text: string): Script => respondWithContent([{ type: 'text', text }])

/** Calls the first tool twice, and says what the weather is once the results are there. */
function callClaudeTools(thinking: readonly Content[]): Script {
  return (exchange) => {
    const { request } = exchange
    if (bringsResults(request)) return respondWithClaudeText('Sunny in both.')(exchange)
    const calls = toolInputs.map((input, index) => {
      return {
        type: 'tool_use',
        id: callIds.claude[index] ?? '',
        name: firstTool(request),
        input,
      }
    })
    return respondWithContent([...thinking, ...calls], 'tool_use')(exchange)
  }
}

function callTools(reasoning?: string): Script {
  return (exchange) => {
    const { request } = exchange
    if (bringsResults(request)) return respondWith('Sunny in both.', usage)(exchange)
    const toolCalls = toolInputs.map((input, index) => {
      return {
        id: callIds.other[index] ?? '',
        name: firstTool(request),
        arguments: JSON.stringify(input),
      }
    })
    return respondWith('', usage, { toolCalls, ...(reasoning === undefined ? {} : { reasoning }) })(exchange)
  }
}

export const overloaded = { type: 'overloaded_error', message: 'Overloaded' }

/** Streams three words and then an error event. */
const respondWithBrokenMessage: Script = (exchange) => {
  const initialUsage = { input_tokens: usage.input, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: initialUsage }
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...[' w1', ' w2', ' w3'].map((text) => {
      return { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }
    }),
    { type: 'error', error: overloaded },
  ]
  return respondWithEvents(events.map((event) => ({ payload: JSON.stringify(event), name: event.type })))(
    exchange,
  )
}

/** Streams words until the client disconnects. */
const respondWithEndlessMessage: Script = async (exchange) => {
  const send = (type: string, fields: object): Promise<boolean> =>
    exchange.event(JSON.stringify({ type, ...fields }), type)
  exchange.head(200, { 'content-type': 'text/event-stream' })
  await send('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage: {} } })
  await send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  const delta = { type: 'text_delta', text: ' more' }
  while ((await send('content_block_delta', { index: 0, delta })) && (await exchange.pause(5)));
}

/** By the name of the model after its family's. */
export const scripts: Readonly<Record<Family, Readonly<Record<string, Script>>>> = {
  other: {
    plain: respondWith('Hello, world!', usage),
    tools: callTools(),
    schema: respondWith(city, usage),
    thinking: callTools(thought),
    broken: failAfter(4, { message: 'The model broke.', code: 'broken' }, respondWithDeltas(9)),
    cut: truncateAfter(4, 'end', respondWithDeltas(9)),
    mute: neverRespond,
    endless: respondEndlessly(),
  },
  claude: {
    plain: respondWithClaudeText('Hello, world!'),
    tools: callClaudeTools([]),
    schema: respondWithClaudeText(city),
    thinking: callClaudeTools([{ type: 'thinking', thinking: thought, signature }]),
    broken: respondWithBrokenMessage,
    cut: truncateAfter(6, 'end', respondWithClaudeText(' w1 w2 w3 w4')),
    mute: neverRespond,
    endless: respondWithEndlessMessage,
  },
}
