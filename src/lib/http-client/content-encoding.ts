/**
 * Decompresses responses that arrive compressed although `accept-encoding: identity` was sent. Decompression is
 * streamed with backpressure; a body that expands beyond a bound (a decompression bomb) is aborted.
 */
import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createInflateRaw,
  createUnzip,
  createZstdDecompress,
} from 'node:zlib'
import type { Exchange } from './exchange.ts'

/** No real text of a provider compresses this well; the first megabytes are exempt. */
const maxExpansion = 100
const freeBytes = 4 * 1024 * 1024

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush: ZSTD_FLUSH } = constants
const flushOptions = { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH }
const createUnzipDecoder = (): Transform => createUnzip(flushOptions)

/** The compression method in the low bits of the header of zlib (RFC 1950, 2.2), and the first byte of gzip. */
const zlibMethod = 8
const gzipStart = 0x1f

/** Some servers send deflate without the header of zlib (RFC 9110, 8.4.1.2). */
function createDeflateDecoder(first: number): Transform {
  const hasHeader = first === gzipStart || (first & 0x0f) === zlibMethod
  return hasHeader ? createUnzipDecoder() : createInflateRaw(flushOptions)
}

/** Decoders by content coding (RFC 9110, 8.4.1; RFC 8878), for a body that begins with this byte. */
const decoders: ReadonlyMap<string, (first: number) => Transform> = new Map([
  ['gzip', createUnzipDecoder],
  ['x-gzip', createUnzipDecoder],
  ['deflate', createDeflateDecoder],
  [
    'br',
    () => createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH }),
  ],
  ['zstd', () => createZstdDecompress({ flush: ZSTD_FLUSH, finishFlush: ZSTD_FLUSH })],
])

function findDecoder(coding: string): ((first: number) => Transform) | undefined {
  return decoders.get(coding.trim().toLowerCase())
}

/** Decompresses a buffered body; the result is cut at `maxBytes`. Rejects if the body is malformed. */
export async function decodeBuffered(coding: string, bytes: Buffer, maxBytes: number): Promise<Buffer> {
  const createDecoder = findDecoder(coding)
  const [first] = bytes
  if (!createDecoder || first === undefined) return bytes
  const decoder = createDecoder(first)
  decoder.end(bytes)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of decoder as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Receives the decompressed body: any number of chunks, which are copies, then `onEnd`; or `onError` once. */
export interface DecodedSink {
  onData(chunk: Buffer): void
  onEnd(): void
  onError(why: string): void
}

/** A body that is being decompressed. It takes the place of its exchange: pausing or destroying it affects both. */
export class DecodedBody implements Exchange {
  readonly #exchange: Exchange
  readonly #createDecoder: (first: number) => Transform
  readonly #sink: DecodedSink
  /** `null`: the body has not begun. */
  #decoder: Transform | null = null
  #received = 0
  #decoded = 0
  #isPaused = false
  #isOver = false

  private constructor(createDecoder: (first: number) => Transform, exchange: Exchange, sink: DecodedSink) {
    this.#exchange = exchange
    this.#createDecoder = createDecoder
    this.#sink = sink
  }

  #start(first: number): Transform {
    const [sink, exchange] = [this.#sink, this.#exchange]
    const decoder = this.#createDecoder(first)
    decoder.on('drain', () => {
      if (!this.#isPaused && !this.#isOver) exchange.resume()
    })
    decoder.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      this.#decoded += chunk.length
      if (this.#decoded > freeBytes && this.#decoded > maxExpansion * this.#received) {
        this.#fail(sink, 'The response of the provider expands too much when decompressed.')
      } else sink.onData(chunk)
    })
    decoder.on('end', () => {
      if (this.#isOver) return
      this.#isOver = true
      sink.onEnd()
    })
    decoder.on('error', () => this.#fail(sink, 'The response of the provider could not be decompressed.'))
    if (this.#isPaused) decoder.pause()
    return decoder
  }

  /** Creates a decoder by the value of `content-encoding`; null if there is nothing to decode or the coding is unknown. */
  static create(coding: string, exchange: Exchange, sink: DecodedSink): DecodedBody | null {
    const createDecoder = findDecoder(coding)
    return createDecoder ? new DecodedBody(createDecoder, exchange, sink) : null
  }

  /** Takes compressed bytes; they are copied. */
  push(chunk: Buffer): void {
    const [first] = chunk
    if (this.#isOver || first === undefined) return
    this.#received += chunk.length
    this.#decoder ??= this.#start(first)
    if (!this.#decoder.write(Buffer.from(chunk))) this.#exchange.pause()
  }

  /** The compressed body is complete. */
  end(): void {
    if (this.#isOver) return
    if (this.#decoder) this.#decoder.end()
    else {
      this.#isOver = true
      this.#sink.onEnd()
    }
  }

  pause(): void {
    this.#isPaused = true
    this.#decoder?.pause()
    this.#exchange.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#decoder?.resume()
    if (!this.#decoder?.writableNeedDrain) this.#exchange.resume()
  }

  destroy(): void {
    this.#isOver = true
    this.#decoder?.destroy()
    this.#exchange.destroy()
  }

  #fail(sink: DecodedSink, why: string): void {
    if (this.#isOver) return
    this.destroy()
    sink.onError(why)
  }
}
