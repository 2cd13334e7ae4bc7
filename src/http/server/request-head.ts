/**
 * Parses the head of a request for the fast path, byte by byte and only in its plainest form (RFC 9112). Anything
 * invalid or merely unusual is `unsupported` and left to node:http: nothing is repaired or guessed here.
 */
import { hasName, nameBytes, valueBytes } from '../../lib/http-client/response-head.ts'
import type { HeaderName } from '../incoming-request.ts'

/** `partial`: supported so far, but incomplete. */
export type ParseResult = 'complete' | 'partial' | 'unsupported'

/** The same maximum as in node:http, which rejects a longer head. */
export const maxHeadBytes = 16_384
const maxHeaders = 100
/** Exact as a number, and more than any body has. */
const maxLengthDigits = 15

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const ZERO = 48
const COLON = 58

/** The only requests that the fast path serves. */
const requestLines = ['/v1/chat/completions', '/chat/completions'].map((path) => ({
  path,
  bytes: Buffer.from(`POST ${path} HTTP/1.1\r\n`),
}))

/** The headers whose values are recorded. */
const recordedNames = [
  'origin',
  'content-type',
  'authorization',
  'x-forwarded-for',
  'idempotency-key',
  'x-api-key',
  'host',
] as const satisfies readonly HeaderName[]
const searchedNames: readonly HeaderName[] = recordedNames
const hostIndex = recordedNames.indexOf('host')

/** The other headers that handlers read. A request with one is unsupported, so that none is ever overlooked. */
const unsupportedNames: Readonly<Record<Exclude<HeaderName, (typeof recordedNames)[number]>, string>> = {
  cookie: 'cookie',
  'sec-fetch-site': 'sec-fetch-site',
  'anthropic-version': 'anthropic-version',
  'anthropic-beta': 'anthropic-beta',
}

export class RequestHead {
  path = ''
  contentLength = -1
  /** The offset of the body. */
  end = 0
  #bytes: Buffer | null = null
  #hasConnection = false
  /** Start and end of the value of each of `recordedNames`; 0 if absent. */
  readonly #valueRanges = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  /** Parses the head at the start of `bytes`. Call it once per object. */
  parse(bytes: Buffer): ParseResult {
    for (const line of requestLines) {
      const result = matchPrefix(bytes, line.bytes)
      if (result === 'unsupported') continue
      if (result === 'partial') return 'partial'
      this.path = line.path
      this.#bytes = bytes
      return this.#parseLines(bytes, line.bytes.length)
    }
    return 'unsupported'
  }

  header(name: HeaderName): string | undefined {
    const index = searchedNames.indexOf(name)
    if (index === -1) return undefined
    const offset = 2 * index
    const [start = 0, end = 0] = [this.#valueRanges[offset], this.#valueRanges[offset + 1]]
    return start === 0 ? undefined : this.#bytes?.toString('latin1', start, end)
  }

  #parseLines(bytes: Buffer, start: number): ParseResult {
    const limit = Math.min(bytes.length, maxHeadBytes)
    const unfinished = bytes.length < maxHeadBytes ? 'partial' : 'unsupported'
    let at = start
    for (let headers = 0; headers <= maxHeaders; headers += 1) {
      const nameStart = at
      while (at < limit && nameBytes[bytes[at] ?? 0] === 1) at += 1
      if (at === nameStart && at < limit && bytes[at] === CR) return this.#parseEnd(bytes, at, limit)
      if (at >= limit) return unfinished
      if (at === nameStart || bytes[at] !== COLON) return 'unsupported'
      const nameEnd = at
      at += 1
      while (at < limit && valueBytes[bytes[at] ?? 0] === 1) at += 1
      if (at >= limit) return unfinished
      if (bytes[at] !== CR) return 'unsupported'
      if (at + 1 >= limit) return unfinished
      if (bytes[at + 1] !== LF) return 'unsupported'
      if (!this.#checkHeader(bytes, nameStart, nameEnd, at)) return 'unsupported'
      at += 2
    }
    return 'unsupported'
  }

  /** At the empty line that ends the head. */
  #parseEnd(bytes: Buffer, at: number, limit: number): ParseResult {
    if (at + 1 >= limit) return bytes.length < maxHeadBytes ? 'partial' : 'unsupported'
    this.end = at + 2
    return bytes[at + 1] === LF && this.#valueRanges[2 * hostIndex] !== 0 && this.contentLength !== -1
      ? 'complete'
      : 'unsupported'
  }

  /** Checks a header and records its value. False: it makes the request unsupported. */
  #checkHeader(bytes: Buffer, start: number, nameEnd: number, lineEnd: number): boolean {
    switch (nameEnd - start) {
      case 4:
        return this.#recordValue(hostIndex, bytes, start, lineEnd)
      case 6:
        return (
          !hasName(bytes, start, 'expect') &&
          !hasName(bytes, start, unsupportedNames.cookie) &&
          this.#recordValue(0, bytes, start, lineEnd)
        )
      case 7:
        return !hasName(bytes, start, 'upgrade')
      case 9:
        return this.#recordValue(5, bytes, start, lineEnd)
      case 10:
        return !hasName(bytes, start, 'connection') || this.#checkConnection(bytes, nameEnd + 1, lineEnd)
      case 12:
        return this.#recordValue(1, bytes, start, lineEnd)
      case 13:
        return this.#recordValue(2, bytes, start, lineEnd)
      case 14:
        return (
          !hasName(bytes, start, unsupportedNames['sec-fetch-site']) &&
          !hasName(bytes, start, unsupportedNames['anthropic-beta']) &&
          (!hasName(bytes, start, 'content-length') || this.#parseContentLength(bytes, nameEnd + 1, lineEnd))
        )
      case 15:
        return this.#recordValue(3, bytes, start, lineEnd) && this.#recordValue(4, bytes, start, lineEnd)
      case 16:
        return !hasName(bytes, start, 'proxy-connection')
      case 17:
        return (
          !hasName(bytes, start, 'transfer-encoding') &&
          !hasName(bytes, start, unsupportedNames['anthropic-version'])
        )
      default:
        return true
    }
  }

  /** Records the range of a header's value if its name is `recordedNames[index]`. False if it occurs twice. */
  #recordValue(index: number, bytes: Buffer, nameStart: number, lineEnd: number): boolean {
    const name = recordedNames[index] ?? ''
    if (!hasName(bytes, nameStart, name)) return true
    if (this.#valueRanges[2 * index] !== 0) return false
    let start = nameStart + name.length + 1
    let end = lineEnd
    while (start < end && isSpace(bytes[start])) start += 1
    while (start < end && isSpace(bytes[end - 1])) end -= 1
    this.#valueRanges[2 * index] = start
    this.#valueRanges[2 * index + 1] = end
    return true
  }

  #checkConnection(bytes: Buffer, start: number, end: number): boolean {
    if (this.#hasConnection) return false
    this.#hasConnection = true
    const value = bytes.toString('latin1', bytes[start] === SPACE ? start + 1 : start, end)
    return value === 'keep-alive' || value.toLowerCase() === 'keep-alive'
  }

  #parseContentLength(bytes: Buffer, start: number, end: number): boolean {
    if (this.contentLength !== -1) return false
    const first = bytes[start] === SPACE ? start + 1 : start
    if (first === end || end - first > maxLengthDigits) return false
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

function matchPrefix(bytes: Buffer, expected: Buffer): ParseResult {
  const length = Math.min(bytes.length, expected.length)
  for (let i = 0; i < length; i += 1) if (bytes[i] !== expected[i]) return 'unsupported'
  return length === expected.length ? 'complete' : 'partial'
}
