/**
 * Takes the chunked framing off an answer's body (RFC 9112, section 7.1), in place: the payload of all chunks of one
 * read is moved together, so that the caller sees one piece per read however finely the sender chopped it.
 * Chunk extensions and trailers are checked, counted and dropped.
 */
import { nameBytes, valueBytes } from './response-head.ts'

const CR = 13
const LF = 10
const COLON = 58
const SEMICOLON = 59

type Place =
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

/** 13 hexadecimal digits are 52 bits: counted exactly, and more than any answer has. */
const maxSizeDigits = 13

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 0x20
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

export class ChunkDecoder {
  /** Where the payload found by the last `decode` lies: bytes[payloadStart, payloadEnd). */
  payloadStart = 0
  payloadEnd = 0
  /** What is wrong with the framing, or null. */
  problem: string | null = null
  readonly #maxOverheadBytes: number
  #place: Place = 'size'
  #left = 0
  #digits = 0
  #overheadBytes = 0

  /** @param maxOverheadBytes how long a chunk's extensions, and all trailers, may be */
  constructor(maxOverheadBytes: number) {
    this.#maxOverheadBytes = maxOverheadBytes
  }

  get isDone(): boolean {
    return this.#place === 'done'
  }

  begin(): void {
    this.problem = null
    this.#place = 'size'
    this.#left = 0
    this.#digits = 0
    this.#overheadBytes = 0
  }

  /**
   * Decodes bytes[start, end), changing them.
   * @returns where it stopped: `end`, or earlier when the body was complete or broken
   */
  decode(bytes: Buffer, start: number, end: number): number {
    this.payloadStart = start
    this.payloadEnd = start
    let at = start
    while (at < end && this.#place !== 'done' && this.#place !== 'broken') {
      if (this.#place === 'data') at = this.#takeData(bytes, at, end)
      else {
        this.#place = this.#step(bytes[at] ?? 0)
        at += 1
      }
    }
    return at
  }

  #takeData(bytes: Buffer, at: number, end: number): number {
    const until = Math.min(end, at + this.#left)
    if (this.payloadEnd === this.payloadStart) {
      this.payloadStart = at
      this.payloadEnd = until
    } else {
      bytes.copyWithin(this.payloadEnd, at, until)
      this.payloadEnd += until - at
    }
    this.#left -= until - at
    if (this.#left === 0) this.#place = 'data-cr'
    return until
  }

  /** Where one byte of framing leads. */
  #step(byte: number): Place {
    switch (this.#place) {
      case 'size':
        return this.#stepSize(byte)
      case 'extension':
        if (byte === CR) return 'size-lf'
        return this.#skip(byte, 'extension')
      case 'size-lf':
        return byte === LF ? this.#beginChunk() : this.#break('a chunk size ends without CRLF')
      case 'data-cr':
        return byte === CR ? 'data-lf' : this.#break('a chunk is longer than its size')
      case 'data-lf':
        return byte === LF ? 'size' : this.#break('a chunk is longer than its size')
      case 'trailer':
        if (byte === CR) return 'last-lf'
        return nameBytes[byte] === 1 ? this.#skip(byte, 'trailer-name') : this.#break('not a trailer line')
      case 'trailer-name':
        if (byte === COLON) return 'trailer-value'
        return nameBytes[byte] === 1 ? this.#skip(byte, 'trailer-name') : this.#break('not a trailer line')
      case 'trailer-value':
        if (byte === CR) return 'trailer-lf'
        return this.#skip(byte, 'trailer-value')
      case 'trailer-lf':
        return byte === LF ? 'trailer' : this.#break('a trailer line ends without CRLF')
      case 'last-lf':
        return byte === LF ? 'done' : this.#break('the last line ends without CRLF')
      case 'data':
      case 'done':
      case 'broken':
        return this.#place
    }
  }

  #stepSize(byte: number): Place {
    const digit = hexDigit(byte)
    if (digit !== -1) {
      this.#digits += 1
      if (this.#digits > maxSizeDigits) return this.#break('a chunk size is too large')
      this.#left = this.#left * 16 + digit
      return 'size'
    }
    if (this.#digits === 0) return this.#break('a chunk size is not a number')
    if (byte === CR) return 'size-lf'
    // Some old servers pad the size with spaces.
    if (byte === SEMICOLON || byte === 32 || byte === 9) return 'extension'
    return this.#break('a chunk size is not a number')
  }

  #beginChunk(): Place {
    this.#digits = 0
    this.#overheadBytes = 0
    return this.#left === 0 ? 'trailer' : 'data'
  }

  #skip(byte: number, next: Place): Place {
    this.#overheadBytes += 1
    if (valueBytes[byte] === 0) return this.#break('a control character in the framing')
    return this.#overheadBytes > this.#maxOverheadBytes ? this.#break('too much framing') : next
  }

  #break(problem: string): Place {
    this.problem = problem
    return 'broken'
  }
}
