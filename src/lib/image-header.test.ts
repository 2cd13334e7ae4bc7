import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createJpeg, createPng, createWebp } from './image-files.fixture.ts'
import { readImageHeader } from './image-header.ts'

const images: Readonly<Record<string, readonly [mediaType: string, bytes: Buffer]>> = {
  PNG: ['image/png', createPng({ width: 300, height: 17 })],
  'PNG with a comment': ['image/png', createPng({ width: 300, height: 17, commentBytes: 100 })],
  JPEG: ['image/jpeg', createJpeg(300, 17)],
  'lossy WebP': ['image/webp', createWebp('VP8 ', 300, 17)],
  'lossless WebP': ['image/webp', createWebp('VP8L', 300, 17)],
  'extended WebP': ['image/webp', createWebp('VP8X', 300, 17)],
}

describe('readImageHeader', () => {
  for (const [name, [mediaType, bytes]] of Object.entries(images)) {
    test(`${name} – has its type and size`, () => {
      assert.deepEqual(readImageHeader(bytes), { mediaType, width: 300, height: 17 })
    })

    test(`${name} – is no image when it is cut off anywhere, or has something appended`, () => {
      for (let length = 0; length < bytes.length; length += 1)
        assert.equal(readImageHeader(bytes.subarray(0, length)), null, `${length} of ${bytes.length} bytes`)
      assert.equal(readImageHeader(Buffer.concat([bytes, Buffer.from('<script>')])), null)
    })
  }

  test('PNG whose header was changed – does not have its checksum', () => {
    const bytes = createPng({ width: 5000, height: 5000 })
    bytes.writeUInt32BE(16, 16)
    assert.equal(readImageHeader(bytes), null)
  })

  test('other files – are no images', () => {
    const files = ['', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'GIF89a', '\x89PNG\r\n\x1A\n', '%PDF-1.7']
    for (const text of files) assert.equal(readImageHeader(Buffer.from(text, 'latin1')), null, text)
  })

  test('random bytes after a signature – never throw', () => {
    const signatures = Object.values(images).map(([, bytes]) => bytes.subarray(0, 30))
    for (let seed = 1; seed <= 2000; seed += 1) {
      const random = Buffer.from(
        Array.from({ length: 60 }, (_, at) => (seed * 2_654_435_761 * (at + 1)) >>> 13),
      )
      for (const signature of signatures) {
        const bytes = Buffer.concat([signature.subarray(0, 4 + (seed % 27)), random])
        assert.equal(readImageHeader(bytes), null)
      }
    }
  })
})
