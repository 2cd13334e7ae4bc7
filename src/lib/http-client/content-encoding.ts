/**
 * Answers that come compressed although none were asked for: decoded as they arrive, within bounds. What is decoded
 * waits for its reader as the bytes on the wire would, and what swells without measure is given up.
 */
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib'
import type { Exchange } from './exchange.ts'

/** No text that a provider writes is made this much smaller; the first megabytes may be. */
const mostTimesLarger = 100
const freeBytes = 4 * 1024 * 1024

const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush: ZSTD_FLUSH } = constants
const flushed = { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH }
const unzip = (): Transform => createUnzip(flushed)

/** What each coding's name is read by (RFC 9110, 8.4.1; RFC 8878). */
const decoders: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', unzip],
  ['x-gzip', unzip],
  ['deflate', unzip],
  [
    'br',
    () => createBrotliDecompress({ flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH }),
  ],
  ['zstd', () => createZstdDecompress({ flush: ZSTD_FLUSH, finishFlush: ZSTD_FLUSH })],
])

function decoderOf(coding: string): Transform | undefined {
  return decoders.get(coding.trim().toLowerCase())?.()
}

/** A body that has come whole; what is longer than `mostBytes` is cut there. Rejects where it cannot be decoded. */
export async function decodedWhole(coding: string, bytes: Buffer, mostBytes: number): Promise<Buffer> {
  const decoder = decoderOf(coding)
  if (!decoder) return bytes
  decoder.end(bytes)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of decoder as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > mostBytes) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Told the body as it was before it was encoded: copies, any number of them, then `onEnd`; or `onBroken`, once. */
export interface DecodedSink {
  onData(chunk: Buffer): void
  onEnd(): void
  onBroken(why: string): void
}

/** A body on its way through its decoder. In the place of its exchange it holds back and gives up both. */
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
      if (this.#decoded > freeBytes && this.#decoded > mostTimesLarger * this.#received) {
        this.#break(sink, 'The answer of the provider swells without measure when it is decoded.')
      } else sink.onData(chunk)
    })
    decoder.on('end', () => {
      if (this.#isOver) return
      this.#isOver = true
      sink.onEnd()
    })
    decoder.on('error', () => this.#break(sink, 'The answer of the provider could not be decoded.'))
  }

  /** By the value of `content-encoding`; null where it names nothing that has to be, or can be, decoded. */
  static of(coding: string, exchange: Exchange, sink: DecodedSink): DecodedBody | null {
    const decoder = decoderOf(coding)
    return decoder ? new DecodedBody(decoder, exchange, sink) : null
  }

  /** Takes bytes as they came; they are copied. */
  push(chunk: Buffer): void {
    if (this.#isOver) return
    this.#received += chunk.length
    if (!this.#decoder.write(Buffer.from(chunk))) this.#exchange.pause()
  }

  /** Everything has come. */
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

  #break(sink: DecodedSink, why: string): void {
    if (this.#isOver) return
    this.destroy()
    sink.onBroken(why)
  }
}
