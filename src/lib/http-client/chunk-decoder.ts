/**
 * Decodes the chunked transfer coding of a response body (RFC 9112, section 7.1) in place. The payload of all chunks
 * in one read is moved together, so the caller gets one piece per read, however small the chunks are.
 * Chunk extensions and trailers are validated, counted and dropped.
 */
import { nameBytes, valueBytes } from './response-head.ts'

const CR = 13
const LF = 10
const COLON = 58
const SEMICOLON = 59

type DecoderState =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer'
  | 'trailer-name'
  | 'trailer-value'
  | 'trailer-lf'
  | 'last-lf'
  | 'done'
  | 'broken'

/** 13 hexadecimal digits are 52 bits: exact in a number, and more than any response needs. */
const maxSizeDigits = 13

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 0x20
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

export class ChunkDecoder {
  /** The payload found by the last `decode`: bytes[payloadStart, payloadEnd). */
  payloadStart = 0
  payloadEnd = 0
  /** The error in the framing, or null. */
  problem: string | null = null
  readonly #maxOverheadBytes: number
  #state: DecoderState = 'size'
  #remainingBytes = 0
  #digits = 0
  #overheadBytes = 0

  /** @param maxOverheadBytes the maximum length of a chunk's extensions, and of all trailers together */
  constructor(maxOverheadBytes: number) {
    this.#maxOverheadBytes = maxOverheadBytes
  }

  get isDone(): boolean {
    return this.#state === 'done'
  }

  begin(): void {
    this.problem = null
    this.#state = 'size'
    this.#remainingBytes = 0
    this.#digits = 0
    this.#overheadBytes = 0
  }

  /**
   * Decodes bytes[start, end) in place.
   * @returns where decoding stopped: `end`, or earlier if the body is complete or malformed
   */
  decode(bytes: Buffer, start: number, end: number): number {
    this.payloadStart = start
    this.payloadEnd = start
    let at = start
    while (at < end && this.#state !== 'done' && this.#state !== 'broken') {
      if (this.#state === 'data') at = this.#decodeData(bytes, at, end)
      else {
        this.#state = this.#step(bytes[at] ?? 0)
        at += 1
      }
    }
    return at
  }

  #decodeData(bytes: Buffer, at: number, end: number): number {
    const until = Math.min(end, at + this.#remainingBytes)
    if (this.payloadEnd === this.payloadStart) {
      this.payloadStart = at
      this.payloadEnd = until
    } else {
      bytes.copyWithin(this.payloadEnd, at, until)
      this.payloadEnd += until - at
    }
    this.#remainingBytes -= until - at
    if (this.#remainingBytes === 0) this.#state = 'data-cr'
    return until
  }

  /** Returns the state after one byte of framing. */
  #step(byte: number): DecoderState {
    switch (this.#state) {
      case 'size':
        return this.#stepSize(byte)
      case 'extension':
        if (byte === CR) return 'size-lf'
        return this.#skipByte(byte, 'extension')
      case 'size-lf':
        return byte === LF ? this.#beginChunk() : this.#fail('a chunk size ends without CRLF')
      case 'data-cr':
        return byte === CR ? 'data-lf' : this.#fail('a chunk is longer than its size')
      case 'data-lf':
        return byte === LF ? 'size' : this.#fail('a chunk is longer than its size')
      case 'trailer':
        if (byte === CR) return 'last-lf'
        return nameBytes[byte] === 1 ? this.#skipByte(byte, 'trailer-name') : this.#fail('not a trailer line')
      case 'trailer-name':
        if (byte === COLON) return 'trailer-value'
        return nameBytes[byte] === 1 ? this.#skipByte(byte, 'trailer-name') : this.#fail('not a trailer line')
      case 'trailer-value':
        if (byte === CR) return 'trailer-lf'
        return this.#skipByte(byte, 'trailer-value')
      case 'trailer-lf':
        return byte === LF ? 'trailer' : this.#fail('a trailer line ends without CRLF')
      case 'last-lf':
        return byte === LF ? 'done' : this.#fail('the last line ends without CRLF')
      case 'data':
      case 'done':
      case 'broken':
        return this.#state
    }
  }

  #stepSize(byte: number): DecoderState {
    const digit = hexDigit(byte)
    if (digit !== -1) {
      this.#digits += 1
      if (this.#digits > maxSizeDigits) return this.#fail('a chunk size is too large')
      this.#remainingBytes = this.#remainingBytes * 16 + digit
      return 'size'
    }
    if (this.#digits === 0) return this.#fail('a chunk size is not a number')
    if (byte === CR) return 'size-lf'
    // Some old servers pad the size with spaces.
    if (byte === SEMICOLON || byte === 32 || byte === 9) return 'extension'
    return this.#fail('a chunk size is not a number')
  }

  #beginChunk(): DecoderState {
    this.#digits = 0
    this.#overheadBytes = 0
    return this.#remainingBytes === 0 ? 'trailer' : 'data'
  }

  #skipByte(byte: number, next: DecoderState): DecoderState {
    this.#overheadBytes += 1
    if (valueBytes[byte] === 0) return this.#fail('a control character in the framing')
    return this.#overheadBytes > this.#maxOverheadBytes ? this.#fail('too much framing') : next
  }

  #fail(problem: string): DecoderState {
    this.problem = problem
    return 'broken'
  }
}
