/**
 * The type and the size of an image by its bytes, whatever its name says: PNG (W3C), JPEG (ITU-T T.81) and WebP
 * (RFC 9649). The structure is followed to its end, so that a truncated file and one with something appended are no image.
 */
import { crc32 } from 'node:zlib'

export interface ImageHeader {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp'
  /** In pixels, as is the height. */
  readonly width: number
  readonly height: number
}

type Size = Pick<ImageHeader, 'width' | 'height'>

const pngSignature = Buffer.from('\x89PNG\r\n\x1A\n', 'latin1')

function ascii(bytes: Buffer, at: number, length: number): string {
  return bytes.toString('latin1', at, at + length)
}

/** A chunk: length, type, data, checksum. The first is `IHDR`, the last `IEND`. */
function readPng(bytes: Buffer): Size | null {
  if (!bytes.subarray(0, pngSignature.length).equals(pngSignature)) return null
  let size: Size | null = null
  let hasData = false
  for (let at = pngSignature.length; at + 12 <= bytes.length;) {
    const length = bytes.readUInt32BE(at)
    const end = at + 12 + length
    if (end > bytes.length) return null
    const type = ascii(bytes, at + 4, 4)
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) return null
    if ((size === null) !== (type === 'IHDR')) return null
    if (type === 'IHDR') {
      if (length !== 13) return null
      size = { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) }
    }
    hasData ||= type === 'IDAT'
    if (type === 'IEND') return hasData && end === bytes.length ? size : null
    at = end
  }
  return null
}

/** The markers of frames are C0 to CF, without DHT, JPG and DAC. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}

/** Segments up to the start of the scan; what follows it must end with the end marker. */
function readJpeg(bytes: Buffer): Size | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8 || bytes.readUInt16BE(bytes.length - 2) !== 0xffd9)
    return null
  let size: Size | null = null
  for (let at = 2; at + 4 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes.readUInt8(at + 1)
    // Fill bytes before a marker.
    if (marker === 0xff) {
      at += 1
      continue
    }
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2 || at + 2 + length > bytes.length) return null
    if (marker === 0xda) return size
    if (isFrame(marker)) {
      if (length < 8) return null
      size = { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    }
    at += 2 + length
  }
  return null
}

/** The size in the first chunk of a WebP: lossy, lossless or extended. */
function readWebpSize(bytes: Buffer, type: string, at: number): Size | null {
  switch (type) {
    case 'VP8 ': {
      if (bytes.readUIntBE(at + 3, 3) !== 0x9d012a) return null
      return { width: bytes.readUInt16LE(at + 6) & 0x3fff, height: bytes.readUInt16LE(at + 8) & 0x3fff }
    }
    case 'VP8L': {
      if (bytes[at] !== 0x2f) return null
      const bits = bytes.readUInt32LE(at + 1)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(at + 4, 3) + 1, height: bytes.readUIntLE(at + 7, 3) + 1 }
    default:
      return null
  }
}

/** Chunks of an even length fill the file. */
function readWebp(bytes: Buffer): Size | null {
  if (bytes.length < 30 || ascii(bytes, 0, 4) !== 'RIFF' || ascii(bytes, 8, 4) !== 'WEBP') return null
  if (bytes.readUInt32LE(4) !== bytes.length - 8) return null
  let hasData = false
  let at = 12
  while (at + 8 <= bytes.length) {
    hasData ||= ['VP8 ', 'VP8L', 'ANMF'].includes(ascii(bytes, at, 4))
    const length = bytes.readUInt32LE(at + 4)
    at += 8 + length + (length % 2)
  }
  return hasData && at === bytes.length ? readWebpSize(bytes, ascii(bytes, 12, 4), 20) : null
}

const readers = { 'image/png': readPng, 'image/jpeg': readJpeg, 'image/webp': readWebp } as const

/** `null`: none of these, or damaged. Sizes are those that the header states; 0 is possible. */
export function readImageHeader(bytes: Buffer): ImageHeader | null {
  for (const mediaType of Object.keys(readers) as (keyof typeof readers)[]) {
    const size = readers[mediaType](bytes)
    if (size !== null) return { mediaType, ...size }
  }
  return null
}
