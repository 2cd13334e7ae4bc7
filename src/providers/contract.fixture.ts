/**
 * Calls, recorded responses and streams for the tests of providers. A recording is `<name>.json` (a non-streaming
 * response) or `<name>.chunks.txt` (one payload of a stream per line). The small ones in fixtures/ are written by hand
 * from the providers' docs; RECORDINGS_DIR may name a folder with more.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

import { assertAccepted, type StrictFormat } from '../../test/support/upstream/strict-upstream.ts'
import { SseParser } from '../lib/sse/sse-parser.ts'
import { isObject } from './json-fields.ts'
import { providerFor } from './openai/spoken-apis.ts'
import type { UpstreamCall, ChatBody, Chunk, Provider, StreamEvent } from './provider.ts'

type Json = Record<string, unknown>

/** A request's body, whose `encode` applies the edits. */
export function createBody(json: Json): ChatBody {
  return {
    stream: json['stream'] === true,
    maxOutputField: null,
    encode: (edits) => {
      const { maximum, model, extra } = edits
      const maximums = maximum ? { [maximum.field]: maximum.tokens } : {}
      return [Buffer.from(JSON.stringify({ ...json, ...extra, model, ...maximums }))]
    },
    parsed: () => json,
  }
}

/** The example key of Amazon's docs for Bedrock, and a placeholder for other providers. */
export function credentialOf(provider: Provider): string {
  return provider.name === 'bedrock' ? 'AKIDEXAMPLEAKIDEXAMPLE:wJalrXUtnFEMI' : 'a-secret-key'
}

export function createCall(provider: Provider, json: Json, fields: Partial<UpstreamCall> = {}): UpstreamCall {
  return {
    body: createBody({ model: 'callers-model', messages: [{ role: 'user', content: 'Hello?' }], ...json }),
    model: 'upstream-model',
    maximumTokens: null,
    modelMaximumTokens: 4096,
    baseUrl: provider.baseUrl ?? 'https://models.example/v1',
    credential: credentialOf(provider),
    settings: {},
    nowMs: 1_790_000_000_000,
    ...fields,
  }
}

/** The body of the request to a provider, which the provider would accept. */
export function sentBody(provider: Provider, call: UpstreamCall): Json {
  const value: unknown = JSON.parse(Buffer.concat([...provider.buildRequest(call).body]).toString())
  if (!isObject(value)) throw new Error('The body is no object.')
  const format = strictFormatOf(provider)
  if (format) assertAccepted(format, value, call.model)
  return value
}

function strictFormatOf({ name, nativeFormat }: Provider): StrictFormat | undefined {
  if (name === 'vertex') return nativeFormat === 'messages' ? 'vertex-claude' : 'gemini'
  const formats = ['openai', 'responses', 'anthropic', 'bedrock', 'cohere', 'gemini'] as const
  return formats.find((format) => format === name)
}

/** OpenAI with a model that only the Responses API serves, under a name of its own. */
export function responsesOnlyProvider(): Provider {
  const provider = providerFor({ provider: 'openai', settings: {} }, 'o3-pro', undefined)
  if (!provider?.translation) throw new Error('The Responses API is not used.')
  return { ...provider, name: 'responses' }
}

/** The folder of hand-written responses in a provider's API format. */
export function recordingsOf({ name, translation }: Provider): string {
  const format = name === 'vertex' ? 'gemini' : name
  return join(import.meta.dirname, 'fixtures', translation ? format : 'openai')
}

export function readResponse(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
}

export function readStreamPayloads(folder: string, name: string): string[] {
  return readFileSync(join(folder, `${name}.chunks.txt`), 'utf8')
    .split('\n')
    .filter(Boolean)
}

/** A frame of Amazon's binary streams. */
export function encodeAwsFrame(headers: Record<string, string>, payload: string): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const sizes = Buffer.from([name.length, ...Buffer.from(name), 7, value.length >> 8, value.length & 255])
      return Buffer.concat([sizes, Buffer.from(value)])
    }),
  )
  const prelude = Buffer.alloc(8)
  const body = Buffer.from(payload)
  prelude.writeUInt32BE(16 + head.length + body.length, 0)
  prelude.writeUInt32BE(head.length, 4)
  const checked = Buffer.concat([prelude, checksum(prelude), head, body])
  return Buffer.concat([checked, checksum(checked)])
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum
}

/** Encodes a stream from its payloads; Bedrock's are `{"<event>": payload}`. `lineEnd`: of server-sent events. */
export function encodeStream(provider: Provider, payloads: readonly string[], lineEnd = '\n'): Buffer {
  if (!provider.translation?.createFraming) {
    return Buffer.from(payloads.map((payload) => `data: ${payload}${lineEnd}${lineEnd}`).join(''))
  }
  const frames = payloads.flatMap((payload) => {
    const events: unknown = JSON.parse(payload)
    return Object.entries(isObject(events) ? events : {}).map(([name, event]) => {
      const kind = name.endsWith('Exception') ? 'exception' : 'event'
      return encodeAwsFrame({ [`:${kind}-type`]: name, ':message-type': kind }, JSON.stringify(event))
    })
  })
  return Buffer.concat(frames)
}

/** The chunks of a stream that arrives in these pieces, as in the relay. */
export function translateStream(
  provider: Provider,
  call: UpstreamCall,
  pieces: Iterable<Buffer>,
  maxEventBytes = 16 * 1024 * 1024,
): Chunk[] {
  const chunks: Chunk[] = []
  const stream = provider.translation?.createStream(call)
  const take = (event: StreamEvent): void => {
    if (stream && !stream.isComplete) chunks.push(...stream.translate(event))
    else if (!stream && event.text !== '[DONE]') chunks.push(JSON.parse(event.text) as Chunk)
  }
  const splitter = new SseParser((event) => {
    if (event.hasData) take({ name: event.name, text: event.text })
  }, maxEventBytes)
  const framing = provider.translation?.createFraming?.(take, maxEventBytes) ?? splitter
  for (const piece of pieces) framing.push(piece)
  chunks.push(...(stream?.end() ?? []))
  return chunks
}

/** What a caller assembles from the chunks of a stream. */
export interface AssembledResponse {
  text: string
  reasoning: string
  details: Json[]
  calls: { id: unknown; name: unknown; arguments: string }[]
  finishes: { reason: unknown; native: unknown }[]
  usages: Json[]
}

function choicesOf(chunk: Chunk): Json[] {
  return Array.isArray(chunk['choices']) ? chunk['choices'].filter((each) => isObject(each)) : []
}

function addDelta(into: AssembledResponse, delta: Json): void {
  if (typeof delta['content'] === 'string') into.text += delta['content']
  if (typeof delta['reasoning_content'] === 'string') into.reasoning += delta['reasoning_content']
  if (Array.isArray(delta['reasoning_details'])) into.details.push(...(delta['reasoning_details'] as Json[]))
  for (const [position, call] of ((delta['tool_calls'] ?? []) as Json[]).entries()) {
    const index = typeof call['index'] === 'number' ? call['index'] : position
    const called = isObject(call['function']) ? call['function'] : {}
    const known = (into.calls[index] ??= { id: call['id'], name: called['name'], arguments: '' })
    if (typeof called['arguments'] === 'string') known.arguments += called['arguments']
  }
}

export function assemble(chunks: readonly Chunk[]): AssembledResponse {
  const into: AssembledResponse = {
    text: '',
    reasoning: '',
    details: [],
    calls: [],
    finishes: [],
    usages: [],
  }
  for (const chunk of chunks) {
    if (isObject(chunk['usage'])) into.usages.push(chunk['usage'])
    for (const choice of choicesOf(chunk)) {
      const delta = choice['delta'] ?? choice['message']
      if (isObject(delta)) addDelta(into, delta)
      const { finish_reason: reason, native_finish_reason: native } = choice
      if (reason !== null && reason !== undefined) into.finishes.push({ reason, native })
    }
  }
  return into
}
