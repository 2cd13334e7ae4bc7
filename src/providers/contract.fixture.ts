/**
 * What the tests of providers share: calls, recorded answers, and streams played from their bytes. A recording is
 * `<name>.json` (a whole answer) or `<name>.chunks.txt` (one payload of a stream a line), as in the folder that
 * RECORDINGS_DIR names; the project's own small ones, written by hand from the providers' documents, are in fixtures/.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

import { EventSplitter } from '../lib/sse/sse-parser.ts'
import { isObject } from './usage.ts'
import type { Call, ChatBody, Chunk, Provider, StreamEvent } from './provider.ts'

type Json = Record<string, unknown>

/** A request's body; `spliced` says what would be put into it. */
export function bodyWith(json: Json): ChatBody {
  return {
    stream: json['stream'] === true,
    maxOutputField: null,
    spliced: (edits) => {
      const { maximum, model, extra } = edits
      const most = maximum ? { [maximum.field]: maximum.tokens } : {}
      return [Buffer.from(JSON.stringify({ ...json, ...extra, model, ...most }))]
    },
    parsed: () => json,
  }
}

/** A key of Amazon's documents for Bedrock, and one that stands for a key everywhere else. */
export function credentialOf(provider: Provider): string {
  return provider.name === 'bedrock' ? 'AKIDEXAMPLEAKIDEXAMPLE:wJalrXUtnFEMI' : 'a-secret-key'
}

export function callOf(provider: Provider, json: Json, fields: Partial<Call> = {}): Call {
  return {
    body: bodyWith({ model: 'callers-model', messages: [{ role: 'user', content: 'Hello?' }], ...json }),
    model: 'upstream-model',
    maximumTokens: null,
    modelMaximumTokens: 4096,
    baseUrl: provider.baseUrl ?? 'https://models.example/v1',
    credential: credentialOf(provider),
    settings: {},
    withoutStreamOptions: false,
    nowMs: 1_790_000_000_000,
    ...fields,
  }
}

/** The body that a provider would be sent. */
export function sentBody(provider: Provider, call: Call): Json {
  const value: unknown = JSON.parse(Buffer.concat([...provider.ask(call).body]).toString())
  if (!isObject(value)) throw new Error('The body is no object.')
  return value
}

/** The folder of hand-written answers in a provider's dialect. */
export function ownRecordings({ name, translation }: Provider): string {
  const dialect = name === 'vertex' ? 'gemini' : name
  return join(import.meta.dirname, 'fixtures', translation ? dialect : 'common')
}

export function wholeIn(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
}

export function payloadsIn(folder: string, name: string): string[] {
  return readFileSync(join(folder, `${name}.chunks.txt`), 'utf8')
    .split('\n')
    .filter(Boolean)
}

/** One frame of Amazon's binary streams. */
export function awsFrame(headers: Record<string, string>, payload: string): Buffer {
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

/** A stream's bytes from its payloads; Bedrock's are `{"<event>": payload}`. `lineEnd` for server-sent events. */
export function bytesOf(provider: Provider, payloads: readonly string[], lineEnd = '\n'): Buffer {
  if (!provider.translation?.framing) {
    return Buffer.from(payloads.map((payload) => `data: ${payload}${lineEnd}${lineEnd}`).join(''))
  }
  const frames = payloads.flatMap((payload) => {
    const events: unknown = JSON.parse(payload)
    return Object.entries(isObject(events) ? events : {}).map(([name, event]) => {
      const kind = name.endsWith('Exception') ? 'exception' : 'event'
      return awsFrame({ [`:${kind}-type`]: name, ':message-type': kind }, JSON.stringify(event))
    })
  })
  return Buffer.concat(frames)
}

/** The chunks of a stream that comes in these pieces, as the relay would see them. `most`: the bound of one event. */
export function chunksOf(
  provider: Provider,
  call: Call,
  pieces: Iterable<Buffer>,
  most = 16 * 1024 * 1024,
): Chunk[] {
  const chunks: Chunk[] = []
  const stream = provider.translation?.stream(call)
  const take = (event: StreamEvent): void => {
    if (stream && !stream.isOver) chunks.push(...stream.take(event))
    else if (!stream && event.text !== '[DONE]') chunks.push(JSON.parse(event.text) as Chunk)
  }
  const splitter = new EventSplitter((event) => {
    if (event.hasData) take({ name: event.name, text: event.text })
  }, most)
  const framing = provider.translation?.framing?.(take, most) ?? splitter
  for (const piece of pieces) framing.push(piece)
  chunks.push(...(stream?.end() ?? []))
  return chunks
}

/** What a caller puts together from the chunks of a stream. */
export interface Assembled {
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

function addDelta(into: Assembled, delta: Json): void {
  if (typeof delta['content'] === 'string') into.text += delta['content']
  if (typeof delta['reasoning_content'] === 'string') into.reasoning += delta['reasoning_content']
  if (Array.isArray(delta['reasoning_details'])) into.details.push(...(delta['reasoning_details'] as Json[]))
  for (const [place, call] of ((delta['tool_calls'] ?? []) as Json[]).entries()) {
    const index = typeof call['index'] === 'number' ? call['index'] : place
    const called = isObject(call['function']) ? call['function'] : {}
    const known = (into.calls[index] ??= { id: call['id'], name: called['name'], arguments: '' })
    if (typeof called['arguments'] === 'string') known.arguments += called['arguments']
  }
}

export function assembled(chunks: readonly Chunk[]): Assembled {
  const into: Assembled = { text: '', reasoning: '', details: [], calls: [], finishes: [], usages: [] }
  for (const chunk of chunks) {
    if (isObject(chunk['usage'])) into.usages.push(chunk['usage'])
    for (const choice of choicesOf(chunk)) {
      const said = choice['delta'] ?? choice['message']
      if (isObject(said)) addDelta(into, said)
      const { finish_reason: reason, native_finish_reason: native } = choice
      if (reason !== null && reason !== undefined) into.finishes.push({ reason, native })
    }
  }
  return into
}
