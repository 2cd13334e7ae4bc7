/** Anthropic's Messages API for tests: requests, parsed streams, and scripted responses. */
import assert from 'node:assert/strict'

import type { Account, PostOptions } from '../server/account.ts'
import { isStreamingRequest } from './exchange.ts'
import type { Script } from './exchange.ts'
import { respondWithJson, respondWithRecordedStream } from './scripted-responses.ts'

export const versionHeader = { 'anthropic-version': '2023-06-01' }

/** A Messages request; `fields` are added to it unchanged. */
export function messagesRequest(model: string, fields: object = {}): { model: string; messages: object[] } {
  return { model, max_tokens: 256, messages: [{ role: 'user', content: 'Say hello.' }], ...fields } as {
    model: string
    messages: object[]
  }
}

/** Sends a request as Anthropic's client would. */
export function postMessages(
  account: Account,
  body: object | string,
  options: PostOptions = {},
): Promise<Response> {
  return account.post(body, {
    path: '/v1/messages',
    ...options,
    headers: { ...versionHeader, ...options.headers },
  })
}

export interface MessagesEvent {
  type: string
  index?: number
  message?: Record<string, unknown>
  content_block?: Record<string, unknown>
  delta?: Record<string, unknown>
  usage?: Record<string, number>
  error?: { type: string; message: string; code?: string }
  request_id?: string
  sluice?: { ended: string }
}

/** The events of a stream without pings. Checks that each event is named after its type. */
export function parseMessagesEvents(text: string): MessagesEvent[] {
  const blocks = text.split('\n\n')
  assert.equal(blocks.pop(), '', 'the stream ends inside an event')
  const events = blocks.map((block) => {
    const [, name, payload = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
    const event = JSON.parse(payload) as MessagesEvent
    assert.equal(event.type, name)
    return event
  })
  return events.filter(({ type }) => type !== 'ping')
}

/** The error of a response in Anthropic's format; checks its shape and its request id headers. */
export async function readMessagesError(
  response: Response,
): Promise<NonNullable<MessagesEvent['error']> & { param?: string; details?: object }> {
  const body = (await response.json()) as MessagesEvent
  assert.deepEqual(Object.keys(body), ['type', 'error', 'request_id'])
  assert.equal(body.type, 'error')
  assert.equal(body.request_id, response.headers.get('request-id'))
  assert.equal(body.request_id, response.headers.get('x-request-id'))
  assert.ok(body.error)
  return body.error
}

/** Assembles a message from its events and checks their order. */
export function assembleMessage(
  events: readonly MessagesEvent[],
): Record<string, unknown> & { content: Record<string, unknown>[] } {
  const content: Record<string, unknown>[] = []
  let input = ''
  let open = -1
  let message: Record<string, unknown> = {}
  for (const { type, index, message: start, content_block: block, delta = {}, usage } of events) {
    if (type === 'message_start') message = { ...start }
    else if (type === 'message_delta') message = { ...message, ...delta, usage }
    else if (type === 'content_block_start') {
      assert.equal(open, -1, 'a block starts before the previous one has stopped')
      assert.equal(index, content.length)
      open = content.push({ ...block }) - 1
      input = ''
    } else if (type === 'content_block_stop') {
      assert.equal(index, open)
      const last = content[open]
      if (last?.['type'] === 'tool_use') last['input'] = JSON.parse(input)
      open = -1
    } else if (type === 'content_block_delta') {
      assert.equal(index, open)
      const last = content[open] ?? {}
      for (const [name, value] of Object.entries(delta)) {
        if (name === 'partial_json') input += String(value)
        else if (name !== 'type') last[name] = [last[name], value].join('')
      }
    }
  }
  assert.equal(open, -1, 'a block has no stop event')
  assert.equal(events[0]?.type, 'message_start')
  assert.equal(events.at(-1)?.type, 'message_stop')
  return { ...message, content }
}

const usage = {
  input_tokens: 12,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 8,
  output_tokens: 6,
}

/** Responds with a text in these pieces, streamed if the request asks for it. */
export function respondWithMessage(pieces: readonly string[], fields: object = {}): Script {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude' }
  const body = {
    ...message,
    content: [{ type: 'text', text: pieces.join('') }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage,
    ...fields,
  }
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  }
  const stream = [
    { type: 'message_start', message: start },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 6 },
    },
    { type: 'message_stop' },
  ]
  return (exchange) =>
    isStreamingRequest(exchange.request)
      ? respondWithRecordedStream(stream.map((event) => JSON.stringify(event)))(exchange)
      : respondWithJson(200, body)(exchange)
}

/** Streams text deltas until the caller disconnects. */
export const respondWithEndlessMessage: Script = async (exchange) => {
  const send = (type: string, fields: object): Promise<boolean> =>
    exchange.event(JSON.stringify({ type, ...fields }), type)
  exchange.head(200, { 'content-type': 'text/event-stream' })
  const initialUsage = { input_tokens: 10, output_tokens: 1 }
  const message = { id: 'msg_1', role: 'assistant', content: [], usage: initialUsage }
  await send('message_start', { message })
  await send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
  const delta = { type: 'text_delta', text: ' more and more' }
  while (await send('content_block_delta', { index: 0, delta }));
}
