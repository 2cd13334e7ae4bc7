/**
 * Decompresses responses that arrive compressed although `accept-encoding: identity` was sent. Decompression is
 * streamed with backpressure; a body that expands beyond a bound (a decompression bomb) is aborted.
 */
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib'
import type { Exchange } from './exchange.ts'

/** No real text of a provider compresses this well; the first megabytes are exempt. */
const maxExpansion = 100
const freeBytes = 4 * 1024 * 1024

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush: ZSTD_FLUSH } = constants
const flushOptions = { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH }
const createUnzipDecoder = (): Transform => createUnzip(flushOptions)

/** Decoders by content coding (RFC 9110, 8.4.1; RFC 8878). */
const decoders: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createUnzipDecoder],
  ['x-gzip', createUnzipDecoder],
  ['deflate', createUnzipDecoder],
  [
    'br',
    () => createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH }),
  ],
  ['zstd', () => createZstdDecompress({ flush: ZSTD_FLUSH, finishFlush: ZSTD_FLUSH })],
])

function createDecoder(coding: string): Transform | undefined {
  return decoders.get(coding.trim().toLowerCase())?.()
}

/** Decompresses a buffered body; the result is cut at `maxBytes`. Rejects if the body is malformed. */
export async function decodeBuffered(coding: string, bytes: Buffer, maxBytes: number): Promise<Buffer> {
  const decoder = createDecoder(coding)
  if (!decoder) return bytes
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
  readonly #decoder: Transform
  #received = 0
  #decoded = 0
  #isPaused = false
  #isOver = false

  private constructor(decoder: Transform, exchange: Exchange, sink: DecodedSink) {
    this.#exchange = exchange
    this.#decoder = decoder
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
  }

  /** Creates a decoder by the value of `content-encoding`; null if there is nothing to decode or the coding is unknown. */
  static create(coding: string, exchange: Exchange, sink: DecodedSink): DecodedBody | null {
    const decoder = createDecoder(coding)
    return decoder ? new DecodedBody(decoder, exchange, sink) : null
  }

  /** Takes compressed bytes; they are copied. */
  push(chunk: Buffer): void {
    if (this.#isOver) return
    this.#received += chunk.length
    if (!this.#decoder.write(Buffer.from(chunk))) this.#exchange.pause()
  }

  /** The compressed body is complete. */
  end(): void {
    if (!this.#isOver) this.#decoder.end()
  }

  pause(): void {
    this.#isPaused = true
    this.#decoder.pause()
    this.#exchange.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#decoder.resume()
    if (!this.#decoder.writableNeedDrain) this.#exchange.resume()
  }

  destroy(): void {
    this.#isOver = true
    this.#decoder.destroy()
    this.#exchange.destroy()
  }

  #fail(sink: DecodedSink, why: string): void {
    if (this.#isOver) return
    this.destroy()
    sink.onError(why)
  }
}
