/**
 * Parses Amazon's binary framing of streams (`application/vnd.amazon.eventstream`): a prelude of twelve bytes with the
 * lengths and their checksum, headers, a payload, and a checksum of the whole frame.
 */
import { crc32 } from 'node:zlib'
import { SseEventTooLargeError } from '../../lib/sse/sse-parser.ts'
import type { Framing, StreamEvent } from '../provider.ts'

const preludeBytes = 12
const checksumBytes = 4
const stringType = 7
/** Lengths of header values by type; -1: the value has a length prefix. */
const valueBytes: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]

/** The string headers; the others are not needed. */
function parseTextHeaders(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes.readUInt8(nameEnd)
    at = nameEnd + 1
    let length = valueBytes[type]
    if (length === undefined) throw new Error('A header of the stream has an unknown type.')
    if (length === -1) {
      length = bytes.readUInt16BE(at)
      at += 2
    }
    if (type === stringType) headers.set(name, bytes.toString('utf8', at, at + length))
    at += length
  }
  return headers
}

/** An event's name is its type, its exception type, or the code of an error without a payload. */
function parseEvent(frame: Buffer): StreamEvent {
  const headersEnd = preludeBytes + frame.readUInt32BE(4)
  const end = frame.length - checksumBytes
  if (headersEnd > end) throw new Error('The headers of an event exceed its length.')
  const headers = parseTextHeaders(frame.subarray(preludeBytes, headersEnd))
  const text = frame.toString('utf8', headersEnd, end)
  if (headers.get(':message-type') === 'error') {
    const message = headers.get(':error-message') ?? ''
    return { name: headers.get(':error-code') ?? 'InternalFailure', text: JSON.stringify({ message }) }
  }
  return { name: headers.get(':exception-type') ?? headers.get(':event-type') ?? '', text }
}

/** Parses a stream, whose bytes may be split anywhere, into events. */
export class AwsEventStreamParser implements Framing {
  readonly #onEvent: (event: StreamEvent) => void
  readonly #maxEventBytes: number
  #buffered: Buffer[] = []
  #bufferedBytes = 0
  /** The number of bytes that must be buffered before parsing continues. */
  #neededBytes = preludeBytes

  constructor(onEvent: (event: StreamEvent) => void, maxEventBytes: number) {
    this.#onEvent = onEvent
    this.#maxEventBytes = maxEventBytes
  }

  /** Throws `SseEventTooLargeError`, or another error for invalid bytes. */
  push(chunk: Buffer): void {
    this.#buffered.push(Buffer.from(chunk))
    this.#bufferedBytes += chunk.length
    if (this.#bufferedBytes < this.#neededBytes) return
    let bytes = Buffer.concat(this.#buffered)
    while (bytes.length >= this.#neededBytes) {
      if (this.#neededBytes === preludeBytes) this.#neededBytes = this.#frameLength(bytes)
      if (bytes.length < this.#neededBytes) break
      const frame = bytes.subarray(0, this.#neededBytes)
      bytes = bytes.subarray(this.#neededBytes)
      this.#neededBytes = preludeBytes
      const end = frame.length - checksumBytes
      if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) {
        throw new Error('The checksum of an event is wrong.')
      }
      this.#onEvent(parseEvent(frame))
    }
    this.#buffered = bytes.length > 0 ? [bytes] : []
    this.#bufferedBytes = bytes.length
  }

  #frameLength(bytes: Buffer): number {
    if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) {
      throw new Error('The checksum of the lengths of an event is wrong.')
    }
    const length = bytes.readUInt32BE(0)
    if (length > this.#maxEventBytes) throw new SseEventTooLargeError(this.#maxEventBytes)
    if (length < preludeBytes + checksumBytes) throw new Error('An event is shorter than its framing.')
    return length
  }
}
