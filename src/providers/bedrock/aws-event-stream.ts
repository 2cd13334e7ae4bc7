/**
 * Amazon's binary framing of streams (`application/vnd.amazon.eventstream`): twelve bytes of lengths and their
 * checksum, headers, a payload, a checksum of all.
 */
import { crc32 } from 'node:zlib'
import { EventTooLarge } from '../../lib/sse/sse-parser.ts'
import type { Framing, StreamEvent } from '../provider.ts'

const preludeBytes = 12
const checksumBytes = 4
const stringType = 7
/** Lengths of the values of headers, by type; those of types 6 and 7 say theirs. */
const valueBytes: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]

/** The headers that are texts; the others say nothing that is needed. */
function textHeaders(bytes: Buffer): Map<string, string> {
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

/** An event's name is its type, or the exception's, or the code of an error that has no payload. */
function eventOf(frame: Buffer): StreamEvent {
  const headersEnd = preludeBytes + frame.readUInt32BE(4)
  const end = frame.length - checksumBytes
  if (headersEnd > end) throw new Error('The headers of an event do not fit into it.')
  const headers = textHeaders(frame.subarray(preludeBytes, headersEnd))
  const text = frame.toString('utf8', headersEnd, end)
  if (headers.get(':message-type') === 'error') {
    const message = headers.get(':error-message') ?? ''
    return { name: headers.get(':error-code') ?? 'InternalFailure', text: JSON.stringify({ message }) }
  }
  return { name: headers.get(':exception-type') ?? headers.get(':event-type') ?? '', text }
}

/** Cuts such a stream into its events, wherever the bytes are cut. */
export class AwsEventStream implements Framing {
  readonly #onEvent: (event: StreamEvent) => void
  readonly #maxEventBytes: number
  #held: Buffer[] = []
  #heldBytes = 0
  /** How many bytes have to be there before more can be read. */
  #neededBytes = preludeBytes

  constructor(onEvent: (event: StreamEvent) => void, maxEventBytes: number) {
    this.#onEvent = onEvent
    this.#maxEventBytes = maxEventBytes
  }

  /** Throws `EventTooLarge`, or an error for bytes that are not framed so. */
  push(chunk: Buffer): void {
    this.#held.push(Buffer.from(chunk))
    this.#heldBytes += chunk.length
    if (this.#heldBytes < this.#neededBytes) return
    let bytes = Buffer.concat(this.#held)
    while (bytes.length >= this.#neededBytes) {
      if (this.#neededBytes === preludeBytes) this.#neededBytes = this.#frameBytes(bytes)
      if (bytes.length < this.#neededBytes) break
      const frame = bytes.subarray(0, this.#neededBytes)
      bytes = bytes.subarray(this.#neededBytes)
      this.#neededBytes = preludeBytes
      const end = frame.length - checksumBytes
      if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) {
        throw new Error('The checksum of an event is wrong.')
      }
      this.#onEvent(eventOf(frame))
    }
    this.#held = bytes.length > 0 ? [bytes] : []
    this.#heldBytes = bytes.length
  }

  #frameBytes(bytes: Buffer): number {
    if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) {
      throw new Error('The checksum of the lengths of an event is wrong.')
    }
    const length = bytes.readUInt32BE(0)
    if (length > this.#maxEventBytes) throw new EventTooLarge(this.#maxEventBytes)
    if (length < preludeBytes + checksumBytes) throw new Error('An event is too short to be one.')
    return length
  }
}
