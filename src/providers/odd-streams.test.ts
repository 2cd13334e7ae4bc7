/** What streams may look like on the wire without meaning anything else, for every dialect and the common format. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { EventTooLarge } from '../lib/sse/sse-parser.ts'
import { assembled, bytesOf, callOf, chunksOf, ownRecordings, payloadsIn } from './contract.fixture.ts'
import type { Chunk, Provider } from './provider.ts'
import { providerNames, providerOf } from './registry.ts'

const providers = providerNames
  .flatMap((name) => providerOf(name) ?? [])
  .filter(({ name, translation }) => translation || name === 'openai-compatible')
/** Those whose streams are server-sent events. */
const ofEvents = providers.filter(({ translation }) => !translation?.framing)

function payloadsOf(provider: Provider): string[] {
  return payloadsIn(ownRecordings(provider), provider.translation ? 'tools' : 'text')
}

function withoutIds(chunks: readonly Chunk[]): unknown[] {
  return chunks.map((chunk) => ({ ...chunk, id: '' }))
}

function* halves(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

for (const provider of ofEvents) {
  test(`${provider.name}: without a space after data:, with names, comments and other fields, a stream says the same wherever it is cut`, () => {
    const call = callOf(provider, { stream: true })
    const expected = withoutIds(chunksOf(provider, call, [bytesOf(provider, payloadsOf(provider))]))
    for (const end of ['\n', '\r\n', '\r']) {
      const events = payloadsOf(provider).map((payload) =>
        [': a comment', 'id:7', 'retry: 10', 'event:some', `data:${payload}`, '', ''].join(end),
      )
      const bytes = Buffer.from(`\uFEFF: first${end}${end}${events.join('')}`)
      for (const pieces of halves(bytes))
        assert.deepEqual(withoutIds(chunksOf(provider, call, pieces)), expected)
    }
  })
}

const longest = 'x'.repeat(16 * 1024 * 1024)

/** The recorded words with one of them of 16 MB, and the bytes of the stream in pieces of 64 KiB. */
function enlarged(provider: Provider): { bytes: Buffer; pieces: Buffer[] } {
  const payloads = payloadsIn(ownRecordings(provider), 'text').map((each) => each.replace('Hello', longest))
  const bytes = bytesOf(provider, payloads)
  const size = 65_536
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
  return { bytes, pieces }
}

for (const provider of providers) {
  test(`${provider.name}: a line of 16 MB arrives whole; one beyond the bound is an explicit error`, () => {
    const { bytes, pieces } = enlarged(provider)
    const call = callOf(provider, { stream: true })
    assert.equal(assembled(chunksOf(provider, call, pieces, bytes.length)).text, `${longest}, world.`)
    assert.throws(() => chunksOf(provider, call, pieces, longest.length), EventTooLarge)
  })
}
