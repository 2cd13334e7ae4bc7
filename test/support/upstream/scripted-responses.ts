/** Scripts of upstreams: successful responses in the OpenAI format, recorded responses, and errors. Faults are in fault-injection.ts. */

import { readFileSync } from 'node:fs'

import { isStreamingRequest, requestedModel } from './exchange.ts'
import type { Exchange, ReceivedRequest, Script } from './exchange.ts'

/** The usage in a response. `raw` is sent unchanged; `absent` omits the field; null sends null. */
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

export interface ResponseOptions {
  /** The deltas of a stream; default: the words of the text. */
  deltas?: string[]
  /** The finish reason; default "stop", or "tool_calls" with tool calls; null sends none. */
  finish?: string | null
  reasoning?: string
  toolCalls?: ToolCall[]
  /** The model in the response; default: the requested model. */
  model?: string
  headers?: Record<string, string>
  /** Further members of the response, and of each chunk. */
  fields?: object
}

/** A successful response, streamed if requested. A stream has its usage after the finish chunk, if requested. */
export function respondWith(
  text: string,
  usage: Usage = { input: 10, output: 5 },
  options: ResponseOptions = {},
): Script {
  return async (exchange) => {
    const { request } = exchange
    if (!isStreamingRequest(request))
      return respondWithJson(200, completionBody(request, text, usage, options), options.headers)(exchange)
    return respondWithEvents(completionChunks(request, text, usage, options), options.headers)(exchange)
  }
}

/** `count` deltas: " w1", " w2", … */
export function numberedWords(count: number): string[] {
  return Array.from({ length: count }, (_, index) => ` w${index + 1}`)
}

/** Responds with `count` deltas. */
export function respondWithDeltas(count: number, usage?: Usage): Script {
  const deltas = numberedWords(count)
  return respondWith(deltas.join(''), usage, { deltas })
}

/** Responds with one embedding of three dimensions per input. */
export function respondWithEmbeddings(inputTokens: number): Script {
  return (exchange) => {
    const input = exchange.request.json['input']
    const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
    return respondWithJson(200, {
      object: 'list',
      data: inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.5, -0.5, 0.25] })),
      model: requestedModel(exchange.request),
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
    })(exchange)
  }
}

/** Responds with one body: an object as JSON, a string unchanged. */
export function respondWithJson(status: number, body: unknown, headers: Record<string, string> = {}): Script {
  return async (exchange) => {
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const type = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
    exchange.head(status, { ...type, ...headers })
    if (bytes.length === 0 || (await exchange.write(bytes))) await exchange.end()
  }
}

/** Responds with a stream of exactly these events. */
export function respondWithEvents(
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

/** Responds with an error; default body: an OpenAI error object. */
export function respondWithError(status: number, body?: unknown, headers?: Record<string, string>): Script {
  const message = `The scripted upstream returns ${status}.`
  return respondWithJson(
    status,
    body ?? { error: { message, type: 'server_error', param: null, code: null } },
    headers,
  )
}

/** Responds with status 200 and an error as the body, or as the first event of a stream. */
export function respondWithErrorInside200(
  error: Record<string, unknown> = { message: 'overloaded', code: 'overloaded' },
): Script {
  const body = { error }
  return (exchange) =>
    (isStreamingRequest(exchange.request)
      ? respondWithEvents([JSON.stringify(body)])
      : respondWithJson(200, body))(exchange)
}

export function respondWithRedirect(location: string, status = 302): Script {
  return respondWithError(status, '', { location })
}

/** Rejects `stream_options` as older servers do; runs `script` for requests without it. */
export function rejectStreamOptions(script: Script, status = 400): Script {
  const message = 'Unrecognized request argument supplied: stream_options'
  const error = { message, type: 'invalid_request_error', param: 'stream_options', code: 'unknown_parameter' }
  return (exchange) =>
    ('stream_options' in exchange.request.json ? respondWithError(status, { error }) : script)(exchange)
}

/**
 * Replays a recording: `<path>.json`, or `<path>.chunks.txt` (one payload per line) for streams. `[DONE]` follows if the
 * API format has it; Anthropic's event names are the types of the payloads.
 */
export function respondWithRecording(path: string): Script {
  return (exchange) =>
    isStreamingRequest(exchange.request)
      ? respondWithRecordedStream(readFileSync(`${path}.chunks.txt`, 'utf8').split('\n').filter(Boolean))(
          exchange,
        )
      : respondWithJson(200, readFileSync(`${path}.json`, 'utf8'))(exchange)
}

/** Replays recorded payloads as a stream. */
export function respondWithRecordedStream(payloads: string[]): Script {
  return (exchange) => {
    const { path } = exchange.request
    if (path.endsWith('/messages'))
      return respondWithEvents(payloads.map((payload) => ({ payload, name: payloadType(payload) })))(exchange)
    return respondWithEvents(path.endsWith('/completions') ? [...payloads, '[DONE]'] : payloads)(exchange)
  }
}

function payloadType(payload: string): string {
  const { type } = JSON.parse(payload) as { type?: unknown }
  return typeof type === 'string' ? type : 'message'
}

/** Sends deltas until the caller disconnects. */
export function respondEndlessly(delta = ' more', paceMs = 5): Script {
  return async (exchange: Exchange) => {
    const payload = JSON.stringify(completionChunk(exchange.request, {}, { content: delta }))
    exchange.head(200, { 'content-type': 'text/event-stream' })
    while ((await exchange.event(payload)) && (await exchange.pause(paceMs)));
  }
}

/** Writes as many tokens as the request allows, at most these. */
export function respondWithin(usage: { readonly input: number; readonly output: number }): Script {
  return (exchange) => {
    const maximum = Number(exchange.request.json['max_tokens'] ?? Infinity)
    return respondWith('Hello!', { ...usage, output: Math.min(usage.output, maximum) })(exchange)
  }
}

/** Streams about `bytes` bytes as fast as the caller reads; `request.bytesSent` shows the progress. */
export function respondWithFlood(bytes: number, deltaBytes = 16_384): Script {
  const content = 'x'.repeat(deltaBytes)
  return (exchange) => {
    const payload = JSON.stringify(completionChunk(exchange.request, {}, { content }))
    const count = Math.ceil(bytes / payload.length)
    const final = [JSON.stringify(completionChunk(exchange.request, {}, {}, 'stop')), '[DONE]']
    return respondWithEvents([...Array.from({ length: count }, () => payload), ...final])(exchange)
  }
}

/** Responds with one event whose line has at least `bytes` bytes. */
export function respondWithHugeLine(bytes = 16 * 1024 * 1024): Script {
  return respondWith('x'.repeat(bytes), undefined, { deltas: ['x'.repeat(bytes)] })
}

function completionBody(
  request: ReceivedRequest,
  text: string,
  usage: Usage,
  options: ResponseOptions,
): Record<string, unknown> {
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: options.model ?? requestedModel(request),
    ...options.fields,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text,
          ...(options.reasoning === undefined ? {} : { reasoning_content: options.reasoning }),
          ...(options.toolCalls ? { tool_calls: options.toolCalls.map((call) => toolCallObject(call)) } : {}),
        },
        logprobs: null,
        finish_reason: finishReason(options),
      },
    ],
    ...(usage === 'absent' ? {} : { usage: usageObject(usage) }),
  }
}

function* completionChunks(
  request: ReceivedRequest,
  text: string,
  usage: Usage,
  options: ResponseOptions,
): Generator<string> {
  const reportsUsage = requestsUsage(request) && usage !== 'absent'
  const toChunk = (delta: object, finish: string | null = null) =>
    JSON.stringify({
      ...completionChunk(request, options, delta, finish),
      ...(reportsUsage ? { usage: null } : {}),
    })
  yield toChunk({ role: 'assistant', content: '' })
  if (options.reasoning !== undefined) yield toChunk({ reasoning_content: options.reasoning })
  for (const content of options.deltas ?? text.match(/\s*\S+\s*$|\s*\S+/g) ?? []) yield toChunk({ content })
  for (const [index, call] of (options.toolCalls ?? []).entries()) {
    yield toChunk({ tool_calls: [{ index, ...toolCallObject({ ...call, arguments: '' }) }] })
    for (const part of call.arguments.match(/.{1,8}/gs) ?? []) {
      yield toChunk({ tool_calls: [{ index, function: { arguments: part } }] })
    }
  }
  yield toChunk({}, finishReason(options))
  if (reportsUsage)
    yield JSON.stringify({ ...completionChunk(request, options, {}), choices: [], usage: usageObject(usage) })
  yield '[DONE]'
}

function completionChunk(
  request: ReceivedRequest,
  options: ResponseOptions,
  delta: object,
  finish: string | null = null,
): object {
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: options.model ?? requestedModel(request),
    ...options.fields,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  }
}

function toolCallObject(call: ToolCall): object {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }
}

function finishReason(options: ResponseOptions): string | null {
  if (options.finish !== undefined) return options.finish
  return options.toolCalls ? 'tool_calls' : 'stop'
}

function requestsUsage(request: ReceivedRequest): boolean {
  const options = request.json['stream_options']
  const isObject = typeof options === 'object' && options !== null
  return isObject && 'include_usage' in options && options.include_usage === true
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
