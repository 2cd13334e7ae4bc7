/** Requests in Anthropic's format, and recorded streams encoded for their caller, for tests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { ResponseContext } from '../../formats/messages-response.ts'
import { createCall } from '../../providers/contract.fixture.ts'
import type { Json } from '../../providers/json-fields.ts'
import type { Provider } from '../../providers/provider.ts'
import { findProvider } from '../../providers/registry.ts'
import { readMessagesRequest, type MessagesRequest } from './messages-request.ts'
import { UpstreamStream } from '../streaming/upstream-stream.ts'

export const interleaved: readonly string[] = fixture('tools.chunks.txt')
export const golden: readonly string[] = fixture('tools.golden.txt')

function fixture(name: string): string[] {
  return readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8')
    .trimEnd()
    .split('\n')
}

export function providerNamed(name: string): Provider {
  const found = findProvider(name)
  if (!found) throw new Error(`Provider ${name} not found.`)
  return found
}

/** A request in Anthropic's format with additional `fields`. */
export function messagesRequest(fields: object = {}): MessagesRequest {
  const hello = { model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'Hello?' }] }
  const headers = { version: undefined, beta: undefined }
  return readMessagesRequest(Buffer.from(JSON.stringify({ ...hello, ...fields })), {
    headers,
    isTokenCount: false,
  })
}

/** The context of a provider's response to `request`. */
export function responseContext(provider: string, request: Json = {}): ResponseContext {
  return { provider, request, inputTokens: () => 0 }
}

/** What a caller receives of a stream that arrives in these pieces, or its error. */
export function relayed(provider: Provider, pieces: Iterable<Buffer>, maxEventBytes = 1024 * 1024): string {
  const encoding = messagesRequest({ stream: true }).encodingFor(provider)
  const events: Buffer[] = []
  const timeouts = { connectMs: 1, firstTokenMs: 1, idleMs: 1, answerMs: 1 }
  const call = { ...createCall(provider, {}), provider, body: encoding, timeouts, proxy: null }
  const stream = new UpstreamStream(call, maxEventBytes, {
    onContent: () => undefined,
    onCommit: () => undefined,
  })
  let end = 'open'
  stream.attach({
    onChunk: (bytes) => void (bytes && events.push(Buffer.from(bytes))),
    onComplete: () => (end = 'complete'),
    onCut: () => (end = 'cut'),
    onError: ({ kind, message }) => (end = `${kind}: ${message}`),
  })
  for (const piece of pieces) stream.push(piece)
  stream.close()
  const { usage } = stream.meter
  if (end !== 'complete' || !usage) return end
  events.push(
    ...stream.encoder.finalEvents({
      cutBy: null,
      paidTokens: Infinity,
      loweredMaximum: null,
      charge: 0n,
      usage,
    }),
  )
  return Buffer.concat(events).toString()
}
