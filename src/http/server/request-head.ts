/**
 * The head of a request, for the fast lane: read only when it is exactly regular, byte by byte (RFC 9112). Whatever is
 * not, be it wrong or merely unusual, is somebody else's to judge: nothing is repaired or guessed here.
 */
import { isNamed, nameBytes, valueBytes } from '../../lib/http-client/response-head.ts'
import type { HeaderName } from '../incoming-request.ts'

/** `partial`: regular as far as it has come. */
export type Verdict = 'regular' | 'partial' | 'irregular'

/** As node:http has it; what is longer is answered there. */
export const mostHeadBytes = 16_384
const mostHeaders = 100
/** Counted exactly, and more than any body has. */
const mostLengthDigits = 15

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const ZERO = 48
const COLON = 58

/** The only requests that are served here. */
const requestLines = ['/v1/chat/completions', '/chat/completions'].map((path) => ({
  path,
  bytes: Buffer.from(`POST ${path} HTTP/1.1\r\n`),
}))

/** The headers that somebody may ask for. */
const names: readonly HeaderName[] = [
  'origin',
  'content-type',
  'authorization',
  'x-forwarded-for',
  'idempotency-key',
]

export class RequestHead {
  path = ''
  contentLength = -1
  /** Where the body begins. */
  end = 0
  #bytes: Buffer | null = null
  #hosts = 0
  #isConnectionTold = false
  /** Start and end of the value of each of `names`. */
  readonly #places = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  /** Reads the head at the beginning of the bytes. Once for each object. */
  parse(bytes: Buffer): Verdict {
    for (const line of requestLines) {
      const verdict = startsWith(bytes, line.bytes)
      if (verdict === 'irregular') continue
      if (verdict === 'partial') return 'partial'
      this.path = line.path
      this.#bytes = bytes
      return this.#parseLines(bytes, line.bytes.length)
    }
    return 'irregular'
  }

  /** The value of a header, or undefined when there is none. */
  header(name: HeaderName): string | undefined {
    const index = names.indexOf(name)
    if (index === -1) return undefined
    const place = 2 * index
    const [start = 0, end = 0] = [this.#places[place], this.#places[place + 1]]
    return start === 0 ? undefined : this.#bytes?.toString('latin1', start, end)
  }

  #parseLines(bytes: Buffer, start: number): Verdict {
    const limit = Math.min(bytes.length, mostHeadBytes)
    const unfinished = bytes.length < mostHeadBytes ? 'partial' : 'irregular'
    let at = start
    for (let headers = 0; headers <= mostHeaders; headers += 1) {
      const nameStart = at
      while (at < limit && nameBytes[bytes[at] ?? 0] === 1) at += 1
      if (at === nameStart && at < limit && bytes[at] === CR) return this.#conclude(bytes, at, limit)
      if (at >= limit) return unfinished
      if (at === nameStart || bytes[at] !== COLON) return 'irregular'
      const nameEnd = at
      at += 1
      while (at < limit && valueBytes[bytes[at] ?? 0] === 1) at += 1
      if (at >= limit) return unfinished
      if (bytes[at] !== CR) return 'irregular'
      if (at + 1 >= limit) return unfinished
      if (bytes[at + 1] !== LF) return 'irregular'
      if (!this.#note(bytes, nameStart, nameEnd, at)) return 'irregular'
      at += 2
    }
    return 'irregular'
  }

  /** At the empty line. */
  #conclude(bytes: Buffer, at: number, limit: number): Verdict {
    if (at + 1 >= limit) return bytes.length < mostHeadBytes ? 'partial' : 'irregular'
    this.end = at + 2
    return bytes[at + 1] === LF && this.#hosts === 1 && this.contentLength !== -1 ? 'regular' : 'irregular'
  }

  /** Takes note of a header. False: it makes the request irregular. */
  #note(bytes: Buffer, start: number, nameEnd: number, lineEnd: number): boolean {
    switch (nameEnd - start) {
      case 4:
        if (isNamed(bytes, start, 'host')) this.#hosts += 1
        return this.#hosts <= 1
      case 6:
        return !isNamed(bytes, start, 'expect') && this.#look(0, bytes, start, lineEnd)
      case 7:
        return !isNamed(bytes, start, 'upgrade')
      case 10:
        return !isNamed(bytes, start, 'connection') || this.#noteConnection(bytes, nameEnd + 1, lineEnd)
      case 12:
        return this.#look(1, bytes, start, lineEnd)
      case 13:
        return this.#look(2, bytes, start, lineEnd)
      case 14:
        return !isNamed(bytes, start, 'content-length') || this.#noteLength(bytes, nameEnd + 1, lineEnd)
      case 15:
        return this.#look(3, bytes, start, lineEnd) && this.#look(4, bytes, start, lineEnd)
      case 16:
        return !isNamed(bytes, start, 'proxy-connection')
      case 17:
        return !isNamed(bytes, start, 'transfer-encoding')
      default:
        return true
    }
  }

  /** Notes where the value of a header lies, if it is that of `names[index]`. False for a second one. */
  #look(index: number, bytes: Buffer, nameStart: number, lineEnd: number): boolean {
    const name = names[index] ?? ''
    if (!isNamed(bytes, nameStart, name)) return true
    if (this.#places[2 * index] !== 0) return false
    let start = nameStart + name.length + 1
    let end = lineEnd
    while (start < end && isSpace(bytes[start])) start += 1
    while (start < end && isSpace(bytes[end - 1])) end -= 1
    this.#places[2 * index] = start
    this.#places[2 * index + 1] = end
    return true
  }

  #noteConnection(bytes: Buffer, start: number, end: number): boolean {
    if (this.#isConnectionTold) return false
    this.#isConnectionTold = true
    const value = bytes.toString('latin1', bytes[start] === SPACE ? start + 1 : start, end)
    return value === 'keep-alive' || value.toLowerCase() === 'keep-alive'
  }

  #noteLength(bytes: Buffer, start: number, end: number): boolean {
    if (this.contentLength !== -1) return false
    const first = bytes[start] === SPACE ? start + 1 : start
    if (first === end || end - first > mostLengthDigits) return false
    let length = 0
    for (let at = first; at < end; at += 1) {
      const digit = (bytes[at] ?? 0) - ZERO
      if (digit < 0 || digit > 9) return false
      length = 10 * length + digit
    }
    this.contentLength = length
    return true
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

function startsWith(bytes: Buffer, expected: Buffer): Verdict {
  const length = Math.min(bytes.length, expected.length)
  for (let i = 0; i < length; i += 1) if (bytes[i] !== expected[i]) return 'irregular'
  return length === expected.length ? 'regular' : 'partial'
}
