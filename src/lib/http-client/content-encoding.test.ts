import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { DecodedBody, decodeBuffered } from './content-encoding.ts'

/** Creates a body that is being decoded, and records its calls to the exchange. */
function createBody(coding: string) {
  const calls: string[] = []
  const chunks: Buffer[] = []
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  const exchange = {
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    destroy: () => void calls.push('destroy'),
  }
  const body = DecodedBody.create(coding, exchange, {
    onData: (chunk) => chunks.push(chunk),
    onEnd: () => resolve('end'),
    onError: resolve,
  })
  return { body, said: calls, chunks, ended }
}

describe('content encoding', () => {
  test('decoding – works for chunks of any size', async () => {
    const text = Buffer.from('data: {"choices":[]}\n\n'.repeat(50))
    const packed = { gzip: gzipSync(text), br: brotliCompressSync(text), zstd: zstdCompressSync(text) }
    for (const [coding, bytes] of Object.entries(packed)) {
      for (const size of [1, 7, bytes.length]) {
        const { body, chunks, ended } = createBody(coding.toUpperCase())
        for (let at = 0; at < bytes.length; at += size) body?.push(bytes.subarray(at, at + size))
        body?.end()
        assert.equal(await ended, 'end')
        assert.deepEqual(Buffer.concat(chunks), text)
      }
      assert.deepEqual(await decodeBuffered(coding, bytes, 10_000), text)
      assert.ok((await decodeBuffered(coding, bytes, 100)).length <= 100)
    }
  })

  test('Deflate is decoded with the header of zlib and without it', async () => {
    const text = Buffer.from('data: {"choices":[]}\n\n'.repeat(50))
    for (const bytes of [deflateSync(text), deflateRawSync(text), gzipSync(text)]) {
      for (const size of [1, bytes.length]) {
        const { body, chunks, ended } = createBody('deflate')
        for (let at = 0; at < bytes.length; at += size) body?.push(bytes.subarray(at, at + size))
        body?.end()
        assert.equal(await ended, 'end')
        assert.deepEqual(Buffer.concat(chunks), text)
      }
      assert.deepEqual(await decodeBuffered('deflate', bytes, 10_000), text)
    }
  })

  test('pause – stops output and applies backpressure', async () => {
    const text = randomBytes(2 * 1024 * 1024)
    const bytes = gzipSync(text)
    const { body, said: calls, chunks, ended } = createBody('gzip')
    body?.pause()
    body?.push(bytes)
    body?.end()
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([chunks.length, calls[0]], [0, 'pause'])
    body?.resume()
    assert.equal(await ended, 'end')
    assert.deepEqual(Buffer.concat(chunks), text)
  })

  test('destroy – emits nothing more', async () => {
    const { body, said: calls, chunks } = createBody('gzip')
    body?.push(gzipSync('Hello'))
    body?.destroy()
    body?.push(gzipSync('Hello'))
    body?.end()
    const { body: other, ended } = createBody('gzip')
    other?.push(gzipSync('Hello'))
    other?.end()
    await ended
    assert.deepEqual([chunks.length, calls], [0, ['destroy']])
  })

  test('other codings – are not decoded', () => {
    for (const coding of ['identity', 'utf-8', '', 'gzip, br', 'constructor', '__proto__']) {
      assert.equal(createBody(coding).body, null, coding)
    }
  })
})
