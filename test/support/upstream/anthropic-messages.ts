/** What stories of Anthropic's format share: questions, streams taken apart, and upstreams that speak it. */
import assert from 'node:assert/strict'

import type { Account, Asking } from '../server/account.ts'
import { asksForStream } from './exchange.ts'
import type { Script } from './exchange.ts'
import { json, recordedStream } from './scripted-responses.ts'

export const version = { 'anthropic-version': '2023-06-01' }

/** A question in Anthropic's format; `fields` are added to the request as they are. */
export function ask(model: string, fields: object = {}): { model: string; messages: object[] } {
  return { model, max_tokens: 256, messages: [{ role: 'user', content: 'Say hello.' }], ...fields } as {
    model: string
    messages: object[]
  }
}

/** Asks as a client of the format would. */
export function send(account: Account, body: object | string, options: Asking = {}): Promise<Response> {
  return account.post(body, { path: '/v1/messages', ...options, headers: { ...version, ...options.headers } })
}

export interface Told {
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

/** The events of a stream, each named by its type as the format wants it; pings are left out. */
export function toldIn(text: string): Told[] {
  const blocks = text.split('\n\n')
  assert.equal(blocks.pop(), '', 'the stream ends inside an event')
  const events = blocks.map((block) => {
    const [, name, payload = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
    const event = JSON.parse(payload) as Told
    assert.equal(event.type, name)
    return event
  })
  return events.filter(({ type }) => type !== 'ping')
}

/** A message put together from its events, which have to come in the format's order. */
export function messageIn(
  events: readonly Told[],
): Record<string, unknown> & { content: Record<string, unknown>[] } {
  const content: Record<string, unknown>[] = []
  let input = ''
  let open = -1
  let message: Record<string, unknown> = {}
  for (const { type, index, message: begun, content_block: block, delta = {}, usage } of events) {
    if (type === 'message_start') message = { ...begun }
    else if (type === 'message_delta') message = { ...message, ...delta, usage }
    else if (type === 'content_block_start') {
      assert.equal(open, -1, 'a block begins before the last has ended')
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
  assert.equal(open, -1, 'a block was left open')
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

/** Says a text in Anthropic's format, whole or streamed as asked, in these pieces. */
export function sayingMessage(pieces: readonly string[], fields: object = {}): Script {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude' }
  const whole = {
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
    asksForStream(exchange.request)
      ? recordedStream(stream.map((event) => JSON.stringify(event)))(exchange)
      : json(200, whole)(exchange)
}
