/**
 * Captures a response for idempotency, and replays it. A stored response is one line of JSON, its header, followed by
 * its bytes. It is written before the charge is known, so the final events have a placeholder that replay fills in.
 */
import { formatAmount } from '../../lib/money.ts'
import type { CallerFormat } from '../request/caller-format.ts'
import type { ResponseWriter } from '../response-writer.ts'
import { cutEncoded, type CutPosition } from './cut-text.ts'
import { streamHeaders } from './stream-writer.ts'

/** Larger responses are not stored. */
const maxStoredBytes = 1024 * 1024
const lineFeed = 10
const emptyBuffer = Buffer.alloc(0)
const replayedHeader = ['idempotent-replayed', 'true']
/** The placeholder for a charge that is not known yet. No response costs this much. */
export const placeholderCharge = 9_223_372_036_854_775_807n
const placeholderText = formatAmount(placeholderCharge)

interface StoredResponseHeader {
  readonly stream: boolean
  /** Those headers of the response that are replayed. */
  readonly headers: readonly string[]
  /** The position of the charge in the bytes; null: they do not contain it. */
  readonly priceAt: number | null
}

function encodeStored(header: StoredResponseHeader, pieces: readonly Buffer[]): Uint8Array | null {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (bytes > maxStoredBytes) return null
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...pieces])
}

/** Without the rate limit headers, which are valid only for the first response. */
function storableHeaders(headers: readonly string[]): string[] {
  const storable: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]]
    if (!name.startsWith('x-ratelimit-')) storable.push(name, value)
  }
  return storable
}

/** Captures a non-streaming response; null if it is too large. */
export function captureBuffered(bytes: Buffer, headers: readonly string[]): Uint8Array | null {
  return encodeStored({ stream: false, headers: storableHeaders(headers), priceAt: null }, [bytes])
}

/** Joins final events that were encoded with `placeholderCharge`, with the actual charge. */
export function withCharge(finalEvents: readonly Buffer[], charge: bigint): Buffer {
  const bytes = Buffer.concat(finalEvents)
  const at = bytes.lastIndexOf(placeholderText)
  if (at === -1) return bytes
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(formatAmount(charge)),
    bytes.subarray(at + placeholderText.length),
  ])
}

/** Captures the events of a stream. */
export class ResponseCapture {
  #events: { readonly bytes: Buffer; readonly totalTokens: number }[] = []
  #bytes = 0

  /** Adds events with the output tokens up to and including them. The bytes are valid only during the call. */
  add(bytes: Buffer, totalTokens: number): void {
    this.#bytes += bytes.length
    // Beyond the maximum size only the token counts are needed.
    this.#events.push({ bytes: this.#bytes > maxStoredBytes ? emptyBuffer : Buffer.from(bytes), totalTokens })
  }

  /** Drops events after this many paid tokens, but keeps the part of the first of them that is within. */
  cutAfter(tokens: number): CutPosition {
    const end = this.#events.findIndex(({ totalTokens }) => totalTokens > tokens)
    const [first] = end === -1 ? [] : this.#events.splice(end)
    const kept = this.#events.at(-1)?.totalTokens ?? 0
    const part = first && cutEncoded(first.bytes, tokens - kept)
    if (!first || !part) return { delivered: kept, upTo: kept }
    const delivered = kept + part.tokens
    this.#events.push({ bytes: part.bytes, totalTokens: delivered })
    return { delivered, upTo: first.totalTokens }
  }

  /**
   * The stream to store: the events that this many paid tokens cover, and the final events; null if it is too large.
   */
  finish(tokens: number, finalEvents: readonly Buffer[], headers: readonly string[]): Uint8Array | null {
    if (this.#bytes > maxStoredBytes) return null
    const paid = this.#events.filter(({ totalTokens }) => totalTokens <= tokens).map(({ bytes }) => bytes)
    const before = paid.reduce((sum, piece) => sum + piece.length, 0)
    const priceAt = Buffer.concat(finalEvents).lastIndexOf(placeholderText)
    const offset = priceAt === -1 ? null : before + priceAt
    return encodeStored({ stream: true, headers: storableHeaders(headers), priceAt: offset }, [
      ...paid,
      ...finalEvents,
    ])
  }
}

/** Sends a stored response again, with its original charge. */
export function replay(stored: Buffer, cost: bigint, writer: ResponseWriter, format: CallerFormat): void {
  const lineEnd = stored.indexOf(lineFeed)
  const { stream, headers, priceAt } = JSON.parse(stored.toString('utf8', 0, lineEnd)) as StoredResponseHeader
  const bytes = stored.subarray(lineEnd + 1)
  if (!stream) {
    const own = ['content-type', 'application/json', 'x-sluice-cost', formatAmount(cost)]
    writer.send(200, [...own, ...headers, ...replayedHeader], bytes)
    return
  }
  writer.start(200, [...streamHeaders, ...headers, ...replayedHeader])
  writer.write(bytes.subarray(0, priceAt ?? bytes.length))
  if (priceAt !== null) writer.write(withCharge([bytes.subarray(priceAt)], cost))
  if (format.isCutAfter(bytes)) writer.abort()
  else writer.end()
}
