/**
 * What a scripted upstream can be told to say: good answers in the common format, recorded ones, and refusals.
 * The ways in which a good answer goes wrong are wrappers of their own (mishaps.ts).
 */

import { readFileSync } from 'node:fs'

import { asksForStream, modelOf } from './exchange.ts'
import type { Exchange, Received, Script } from './exchange.ts'

/** What an answer says it used. `raw` is told as it is; `absent` leaves the field out; null tells null. */
export type Usage =
  | { input: number; output: number; cached?: number; reasoning?: number }
  | { raw: Record<string, unknown> }
  | 'absent'
  | null

export interface ToolCall {
  id: string
  name: string
  arguments: string
}

export interface Manner {
  /** The pieces of the streamed text; default: its words. */
  deltas?: string[]
  /** The upstream's finish reason, default "stop" ("tool_calls" with tools); null tells none. */
  finish?: string | null
  reasoning?: string
  toolCalls?: ToolCall[]
  /** The model that the answer names; default the one asked for. */
  model?: string
  headers?: Record<string, string>
}

/** An honest answer: whole or streamed as asked, usage told once (streamed: when asked for, after the finish chunk). */
export function saying(text: string, usage: Usage = { input: 10, output: 5 }, manner: Manner = {}): Script {
  return async (exchange) => {
    const { request } = exchange
    if (!asksForStream(request))
      return json(200, wholeAnswer(request, text, usage, manner), manner.headers)(exchange)
    return events(streamedAnswer(request, text, usage, manner), manner.headers)(exchange)
  }
}

/** Pieces that together make a stream of `count` deltas: " w1", " w2", … */
export function words(count: number): string[] {
  return Array.from({ length: count }, (_, index) => ` w${index + 1}`)
}

/** A stream of `count` deltas, usage last. */
export function sayingMany(count: number, usage?: Usage): Script {
  const deltas = words(count)
  return saying(deltas.join(''), usage, { deltas })
}

/** Embeddings, one per input, three dimensions each. */
export function embedding(inputTokens: number): Script {
  return (exchange) => {
    const input = exchange.request.json['input']
    const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
    return json(200, {
      object: 'list',
      data: inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.5, -0.5, 0.25] })),
      model: modelOf(exchange.request),
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
    })(exchange)
  }
}

/** One whole answer: an object as JSON, a string as it is. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Script {
  return async (exchange) => {
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const type = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
    exchange.head(status, { ...type, ...headers })
    if (bytes.length === 0 || (await exchange.write(bytes))) await exchange.end()
  }
}

/** A stream of these events, as they are. */
export function events(
  payloads: Iterable<string | NamedEvent>,
  headers: Record<string, string> = {},
): Script {
  return async (exchange) => {
    exchange.head(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...headers,
    })
    for (const event of payloads) {
      const { payload, name } = typeof event === 'string' ? { payload: event } : event
      if (!(await exchange.event(payload, name))) return
    }
    await exchange.end()
  }
}

export interface NamedEvent {
  payload: string
  name?: string
}

/** A refusal. Without a body of its own it speaks the format's error object. */
export function failing(status: number, body?: unknown, headers?: Record<string, string>): Script {
  const message = `The scripted upstream answers ${status}.`
  return json(status, body ?? { error: { message, type: 'server_error', param: null, code: null } }, headers)
}

/** An error that travels under 200: the body of a whole answer, the first event of a stream. */
export function failingInside(
  error: Record<string, unknown> = { message: 'overloaded', code: 'overloaded' },
): Script {
  const body = { error }
  return (exchange) =>
    (asksForStream(exchange.request) ? events([JSON.stringify(body)]) : json(200, body))(exchange)
}

export function redirecting(location: string, status = 302): Script {
  return failing(status, '', { location })
}

/** Refuses `stream_options` as older servers do; without it, `script` answers. */
export function refusingStreamOptions(script: Script, status = 400): Script {
  const message = 'Unrecognized request argument supplied: stream_options'
  const error = { message, type: 'invalid_request_error', param: 'stream_options', code: 'unknown_parameter' }
  return (exchange) =>
    ('stream_options' in exchange.request.json ? failing(status, { error }) : script)(exchange)
}

/**
 * Plays a recording: `<path>.json` for whole answers, `<path>.chunks.txt` (one payload a line) for streams.
 * `[DONE]` follows where the dialect has it; Anthropic's event names are made from the payload's type.
 */
export function recorded(path: string): Script {
  return (exchange) =>
    asksForStream(exchange.request)
      ? recordedStream(readFileSync(`${path}.chunks.txt`, 'utf8').split('\n').filter(Boolean))(exchange)
      : json(200, readFileSync(`${path}.json`, 'utf8'))(exchange)
}

/** Plays recorded payloads as a stream. */
export function recordedStream(payloads: string[]): Script {
  return (exchange) => {
    const { path } = exchange.request
    if (path.endsWith('/messages'))
      return events(payloads.map((payload) => ({ payload, name: typeOf(payload) })))(exchange)
    return events(path.endsWith('/completions') ? [...payloads, '[DONE]'] : payloads)(exchange)
  }
}

function typeOf(payload: string): string {
  const { type } = JSON.parse(payload) as { type?: unknown }
  return typeof type === 'string' ? type : 'message'
}

/** Deltas without end, until the caller leaves. */
export function endless(delta = ' more', paceMs = 5): Script {
  return async (exchange: Exchange) => {
    const payload = JSON.stringify(chunk(exchange.request, {}, { content: delta }))
    exchange.head(200, { 'content-type': 'text/event-stream' })
    while ((await exchange.event(payload)) && (await exchange.pause(paceMs)));
  }
}

/** A stream of about `bytes` bytes as fast as the caller takes it; `request.bytesSent` tells how far it came. */
export function flood(bytes: number, deltaBytes = 16_384): Script {
  const content = 'x'.repeat(deltaBytes)
  return (exchange) => {
    const payload = JSON.stringify(chunk(exchange.request, {}, { content }))
    const count = Math.ceil(bytes / payload.length)
    const ending = [JSON.stringify(chunk(exchange.request, {}, {}, 'stop')), '[DONE]']
    return events([...Array.from({ length: count }, () => payload), ...ending])(exchange)
  }
}

/** One event whose line is at least `bytes` long. */
export function hugeLine(bytes = 16 * 1024 * 1024): Script {
  return saying('x'.repeat(bytes), undefined, { deltas: ['x'.repeat(bytes)] })
}

function wholeAnswer(request: Received, text: string, usage: Usage, manner: Manner): Record<string, unknown> {
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: manner.model ?? modelOf(request),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text,
          ...(manner.reasoning === undefined ? {} : { reasoning_content: manner.reasoning }),
          ...(manner.toolCalls ? { tool_calls: manner.toolCalls.map((call) => toolCall(call)) } : {}),
        },
        logprobs: null,
        finish_reason: finishOf(manner),
      },
    ],
    ...(usage === 'absent' ? {} : { usage: usageObject(usage) }),
  }
}

function* streamedAnswer(request: Received, text: string, usage: Usage, manner: Manner): Generator<string> {
  const told = asksForUsage(request) && usage !== 'absent'
  const piece = (delta: object, finish: string | null = null) =>
    JSON.stringify({ ...chunk(request, manner, delta, finish), ...(told ? { usage: null } : {}) })
  yield piece({ role: 'assistant', content: '' })
  if (manner.reasoning !== undefined) yield piece({ reasoning_content: manner.reasoning })
  for (const content of manner.deltas ?? text.match(/\s*\S+\s*$|\s*\S+/g) ?? []) yield piece({ content })
  for (const [index, call] of (manner.toolCalls ?? []).entries()) {
    yield piece({ tool_calls: [{ index, ...toolCall({ ...call, arguments: '' }) }] })
    for (const part of call.arguments.match(/.{1,8}/gs) ?? []) {
      yield piece({ tool_calls: [{ index, function: { arguments: part } }] })
    }
  }
  yield piece({}, finishOf(manner))
  if (told) yield JSON.stringify({ ...chunk(request, manner, {}), choices: [], usage: usageObject(usage) })
  yield '[DONE]'
}

function chunk(request: Received, manner: Manner, delta: object, finish: string | null = null): object {
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: manner.model ?? modelOf(request),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  }
}

function toolCall(call: ToolCall): object {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

function finishOf(manner: Manner): string | null {
  if (manner.finish !== undefined) return manner.finish
  return manner.toolCalls ? 'tool_calls' : 'stop'
}

function asksForUsage(request: Received): boolean {
  const options = request.json['stream_options']
  return (
    typeof options === 'object' &&
    options !== null &&
    'include_usage' in options &&
    options.include_usage === true
  )
}

function usageObject(usage: Exclude<Usage, 'absent'>): object | null {
  if (usage === null) return null
  if ('raw' in usage) return usage.raw
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  }
}
