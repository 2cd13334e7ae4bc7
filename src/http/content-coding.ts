/** Decodes request bodies with a content coding (RFC 9110, 8.4), within a bound of size and one of expansion. */
import type { Transform } from 'node:stream'
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { apiError } from '../errors.ts'

/** No text compresses this well; the first bytes are exempt. */
const maxExpansion = 100
const exemptBytes = 1024 * 1024

/** `deflate` is zlib's format, but some clients send it without the header of two bytes, whose first is 0x?8. */
function createInflateFor(bytes: Buffer): Transform {
  const [first = 0, second = 0] = bytes
  const hasHeader = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
  return hasHeader ? createInflate() : createInflateRaw()
}

const decoders = {
  zstd: () => createZstdDecompress(),
  gzip: () => createGunzip(),
  deflate: createInflateFor,
  br: () => createBrotliDecompress(),
} as const satisfies Record<string, (bytes: Buffer) => Transform>

export type ContentCoding = keyof typeof decoders

/** The codings that `Accept-Encoding` of a 415 names. */
export const acceptedCodings = Object.keys(decoders).join(', ')

/** null: the body is not encoded. Throws 415 for an unknown coding, and for several. */
export function parseContentCoding(contentEncoding: string | undefined): ContentCoding | null {
  const name = (contentEncoding ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return null
  const coding = name === 'x-gzip' ? 'gzip' : name
  if (Object.hasOwn(decoders, coding)) return coding as ContentCoding
  const message = `Unsupported content encoding. Use one of ${acceptedCodings}, or none.`
  throw apiError('unsupported_media_type', { message, acceptEncoding: acceptedCodings })
}

export interface DecodedBounds {
  readonly maxBytes: number
  /** Called before further bytes are kept. What it throws ends the decoding. */
  readonly reserve: (bytes: number) => void
}

/** Throws 400 for bytes that are not of the coding, 413 beyond a bound, and what `reserve` throws. */
export async function decodeBody(
  coding: ContentCoding,
  body: Buffer,
  { maxBytes, reserve }: DecodedBounds,
): Promise<Buffer> {
  const decoder = decoders[coding](body)
  const limitBytes = Math.min(maxBytes, Math.max(exemptBytes, body.length * maxExpansion))
  const chunks: Buffer[] = []
  let bytes = 0
  decoder.end(body)
  const decoded = (decoder as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next: IteratorResult<Buffer, unknown> = await decoded.next().catch(() => {
        throw apiError('invalid_request', { message: `The request body is not valid ${coding}.` })
      })
      if (next.done === true) return Buffer.concat(chunks, bytes)
      bytes += next.value.length
      if (bytes > limitBytes) {
        const message = `Request body too large when decoded: at most ${maxBytes} bytes and ${maxExpansion} times what is sent are allowed.`
        throw apiError('request_too_large', { message })
      }
      reserve(next.value.length)
      chunks.push(next.value)
    }
  } finally {
    decoder.destroy()
  }
}
