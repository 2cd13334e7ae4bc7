/** Small images of each type, made here so that tests can state their size and damage them. */
import { crc32, deflateSync } from 'node:zlib'

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}

export interface PngOptions {
  readonly width?: number
  readonly height?: number
  readonly color?: readonly [red: number, green: number, blue: number]
  /** Of a chunk of text, which makes the file larger. */
  readonly commentBytes?: number
}

/** A filled rectangle. */
export function createPng({ width = 4, height = 4, color = [200, 40, 90], commentBytes }: PngOptions = {}) {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8)
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(3 * width, Buffer.from(color))])
  const data = deflateSync(Buffer.alloc(row.length * height, row))
  const comment = Buffer.alloc(commentBytes ?? 0, 'a')
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1A\n', 'latin1'),
    pngChunk('IHDR', header),
    ...(commentBytes === undefined ? [] : [pngChunk('tEXt', comment)]),
    pngChunk('IDAT', data),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** The headers of a JPEG, followed by bytes in place of its scan. */
export function createJpeg(width: number, height: number): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0])
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  const comment = Buffer.from([0xff, 0xfe, 0, 6, 0xff, 0xc0, 1, 2])
  const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0x3f, 0, 0x12, 0x34])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), comment, frame, scan, Buffer.from([0xff, 0xd9])])
}

function riff(...chunks: readonly Buffer[]): Buffer {
  const content = Buffer.concat([Buffer.from('WEBP'), ...chunks])
  const head = Buffer.from('RIFF0000')
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content])
}

function riffChunk(type: string, data: Buffer): Buffer {
  const head = Buffer.from(`${type}0000`)
  head.writeUInt32LE(data.length, 4)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

/** The headers of a WebP, followed by bytes in place of its pixels. */
export function createWebp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const lossy = Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0, 1, 2])
  lossy.writeUInt16LE(width, 6)
  lossy.writeUInt16LE(height, 8)
  if (kind === 'VP8 ') return riff(riffChunk(kind, lossy))
  if (kind === 'VP8X') {
    const canvas = Buffer.alloc(10)
    canvas.writeUIntLE(width - 1, 4, 3)
    canvas.writeUIntLE(height - 1, 7, 3)
    return riff(riffChunk(kind, canvas), riffChunk('VP8 ', lossy))
  }
  const lossless = Buffer.alloc(13)
  lossless[0] = 0x2f
  lossless.writeUInt32LE((width - 1) | ((height - 1) << 14), 1)
  return riff(riffChunk(kind, lossless))
}
