import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { DecodedBody, decodedWhole } from './http-client/content-encoding.ts'

/** A body being decoded, and what it does to its exchange. */
function opened(coding: string) {
  const said: string[] = []
  const chunks: Buffer[] = []
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  const exchange = {
    pause: () => void said.push('pause'),
    resume: () => void said.push('resume'),
    destroy: () => void said.push('destroy'),
  }
  const body = DecodedBody.of(coding, exchange, {
    onData: (chunk) => chunks.push(chunk),
    onEnd: () => resolve('end'),
    onBroken: resolve,
  })
  return { body, said, chunks, ended }
}

test('a body cut anywhere is decoded to what it was', async () => {
  const text = Buffer.from('data: {"choices":[]}\n\n'.repeat(50))
  const packed = { gzip: gzipSync(text), br: brotliCompressSync(text), zstd: zstdCompressSync(text) }
  for (const [coding, bytes] of Object.entries(packed)) {
    for (const size of [1, 7, bytes.length]) {
      const { body, chunks, ended } = opened(coding.toUpperCase())
      for (let at = 0; at < bytes.length; at += size) body?.push(bytes.subarray(at, at + size))
      body?.end()
      assert.equal(await ended, 'end')
      assert.deepEqual(Buffer.concat(chunks), text)
    }
    assert.deepEqual(await decodedWhole(coding, bytes, 10_000), text)
    assert.ok((await decodedWhole(coding, bytes, 100)).length <= 100)
  }
})

test('while it is paused nothing is told, and the other side has to wait', async () => {
  const text = randomBytes(2 * 1024 * 1024)
  const bytes = gzipSync(text)
  const { body, said, chunks, ended } = opened('gzip')
  body?.pause()
  body?.push(bytes)
  body?.end()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([chunks.length, said[0]], [0, 'pause'])
  body?.resume()
  assert.equal(await ended, 'end')
  assert.deepEqual(Buffer.concat(chunks), text)
})

test('what is given up tells nothing more', async () => {
  const { body, said, chunks } = opened('gzip')
  body?.push(gzipSync('Hello'))
  body?.destroy()
  body?.push(gzipSync('Hello'))
  body?.end()
  const { body: other, ended } = opened('gzip')
  other?.push(gzipSync('Hello'))
  other?.end()
  await ended
  assert.deepEqual([chunks.length, said], [0, ['destroy']])
})

test('plain bodies, and names that are no coding, are left alone', () => {
  for (const coding of ['identity', 'utf-8', '', 'gzip, br', 'constructor', '__proto__']) {
    assert.equal(opened(coding).body, null, coding)
  }
})
