/** What the tests of Anthropic's format share: recorded streams read as the relay reads them, in the caller's words. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { callOf } from '../../providers/contract.fixture.ts'
import type { Provider } from '../../providers/provider.ts'
import { providerOf } from '../../providers/registry.ts'
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
  const found = providerOf(name)
  if (!found) throw new Error(`There is no provider ${name}.`)
  return found
}

/** A checked request of Anthropic's format; `fields` are added to it. */
export function messagesRequest(fields: object = {}): MessagesRequest {
  const hello = { model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'Hello?' }] }
  const headers = { version: undefined, beta: undefined }
  return readMessagesRequest(Buffer.from(JSON.stringify({ ...hello, ...fields })), {
    headers,
    forCount: false,
  })
}

/** What a caller reads of a stream that comes in these pieces, or why it broke. */
export function relayed(provider: Provider, pieces: Iterable<Buffer>, maxEventBytes = 1024 * 1024): string {
  const wording = messagesRequest({ stream: true }).wordingFor(provider)
  const said: Buffer[] = []
  const call = { ...callOf(provider, {}), body: wording }
  const { translation = null } = provider
  const stream = new UpstreamStream({ translation, call, wording, maxEventBytes, onCommit: () => undefined })
  let end = 'open'
  stream.attach({
    onChunk: (bytes) => void (bytes && said.push(Buffer.from(bytes))),
    onComplete: () => (end = 'complete'),
    onBroken: ({ kind, message }) => (end = `${kind}: ${message}`),
  })
  for (const piece of pieces) stream.push(piece)
  stream.close()
  const { usage } = stream.meter
  if (end !== 'complete' || !usage) return end
  said.push(...stream.words.conclude({ isShort: false, paid: Infinity, charge: 0n, usage }))
  return Buffer.concat(said).toString()
}
