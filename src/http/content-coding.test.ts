import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { ApiError } from '../errors.ts'
import { decodeBody, parseContentCoding, type ContentCoding } from './content-coding.ts'

const text = '{"model":"m","messages":[{"role":"user","content":"Hello! 你好!"}]}'.repeat(20)
const KiB = 1024
const MiB = 1024 * KiB

async function decode(coding: ContentCoding, body: Buffer, maxBytes = 32 * MiB): Promise<string> {
  let reserved = 0
  const decoded = await decodeBody(coding, body, { maxBytes, reserve: (bytes) => (reserved += bytes) })
  assert.equal(reserved, decoded.length)
  return decoded.toString()
}

const hasStatus = (status: number) => (error: unknown) => error instanceof ApiError && error.status === status

describe('content codings of request bodies', () => {
  test('Each coding is decoded, and raw deflate like deflate', async () => {
    const bodies = [
      ['gzip', gzipSync(text)],
      ['zstd', zstdCompressSync(text)],
      ['br', brotliCompressSync(text)],
      ['deflate', deflateSync(text)],
      ['deflate', deflateRawSync(text)],
    ] as const
    for (const [coding, body] of bodies) assert.equal(await decode(coding, body), text, coding)
  })

  test('Names are compared in any case, and identity is no coding', () => {
    const codings = [undefined, '', 'identity', 'GZIP', 'x-gzip', ' zstd '].map(parseContentCoding)
    assert.deepEqual(codings, [null, null, null, 'gzip', 'gzip', 'zstd'])
  })

  test('An unknown coding and a list of codings are 415 with those that are accepted', () => {
    for (const name of ['compress', 'gzip, br', 'constructor'])
      assert.throws(
        () => parseContentCoding(name),
        (error) =>
          hasStatus(415)(error) && (error as ApiError).detail.acceptEncoding === 'zstd, gzip, deflate, br',
      )
  })

  test('Bytes that are not of the coding, or not all of them, are 400', async () => {
    for (const coding of ['gzip', 'zstd', 'br', 'deflate'] as const)
      await assert.rejects(decode(coding, Buffer.from('{"model":"m"}')), hasStatus(400), coding)
    await assert.rejects(decode('gzip', gzipSync(text).subarray(0, -9)), hasStatus(400))
  })

  test('A body that expands beyond its maximum, or a hundred times, is 413', async () => {
    const zeros = Buffer.alloc(20 * MiB)
    await assert.rejects(decode('gzip', gzipSync(text), text.length - 1), hasStatus(413))
    await assert.rejects(decode('gzip', gzipSync(zeros)), hasStatus(413))
    await assert.rejects(decode('zstd', zstdCompressSync(zeros)), hasStatus(413))
    assert.equal((await decode('gzip', gzipSync(Buffer.alloc(MiB)))).length, MiB)
  })
})
