/** Variants of stream framing that mean the same, for every API format. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { SseEventTooLargeError } from '../lib/sse/sse-parser.ts'
import {
  assemble,
  encodeStream,
  createCall,
  translateStream,
  recordingsOf,
  readStreamPayloads,
} from './contract.fixture.ts'
import type { Chunk, Provider } from './provider.ts'
import { providerNames, findProvider } from './registry.ts'

const providers = providerNames
  .flatMap((name) => findProvider(name) ?? [])
  .filter(({ name, translation }) => translation || name === 'openai-compatible')
/** Providers whose streams are server-sent events. */
const sseProviders = providers.filter(({ translation }) => !translation?.createFraming)

function payloadsOf(provider: Provider): string[] {
  return readStreamPayloads(recordingsOf(provider), provider.translation ? 'tools' : 'text')
}

function withoutIds(chunks: readonly Chunk[]): unknown[] {
  return chunks.map((chunk) => ({ ...chunk, id: '' }))
}

function* halves(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

describe('stream framing', () => {
  for (const provider of sseProviders) {
    test(`${provider.name} – accepts all SSE fields and any split`, () => {
      const call = createCall(provider, { stream: true })
      const expected = withoutIds(
        translateStream(provider, call, [encodeStream(provider, payloadsOf(provider))]),
      )
      for (const end of ['\n', '\r\n', '\r']) {
        const events = payloadsOf(provider).map((payload) =>
          [': a comment', 'id:7', 'retry: 10', 'event:some', `data:${payload}`, '', ''].join(end),
        )
        const bytes = Buffer.from(`\uFEFF: first${end}${end}${events.join('')}`)
        for (const pieces of halves(bytes))
          assert.deepEqual(withoutIds(translateStream(provider, call, pieces)), expected)
      }
    })
  }

  const longText = 'x'.repeat(16 * 1024 * 1024)

  /** The recorded stream with a text of 16 MB, as bytes and in pieces of 64 KiB. */
  function enlargeStream(provider: Provider): { bytes: Buffer; pieces: Buffer[] } {
    const payloads = readStreamPayloads(recordingsOf(provider), 'text').map((each) =>
      each.replace('Hello', longText),
    )
    const bytes = encodeStream(provider, payloads)
    const size = 65_536
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    )
    return { bytes, pieces }
  }

  for (const provider of providers) {
    test(`${provider.name} – accepts a line of 16 MB, and rejects one over the maximum`, () => {
      const { bytes, pieces } = enlargeStream(provider)
      const call = createCall(provider, { stream: true })
      assert.equal(
        assemble(translateStream(provider, call, pieces, bytes.length)).text,
        `${longText}, world.`,
      )
      assert.throws(() => translateStream(provider, call, pieces, longText.length), SseEventTooLargeError)
    })
  }
})
