/**
 * Parses the head of a request for the fast path, byte by byte and only in its plainest form (RFC 9112). Anything
 * invalid or merely unusual is `unsupported` and left to node:http: nothing is repaired or guessed here.
 */
import { hasName, nameBytes, valueBytes } from '../../lib/http-client/response-head.ts'
import type { HeaderName } from '../incoming-request.ts'
import { relayHeaderPrefix } from '../relay-headers.ts'

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
const DASH = 45
const ZERO = 48
const COLON = 58
const LOWER_S = 115

/** The only requests that the fast path serves. */
const requestLines = ['/chat/completions', '/responses', '/messages', '/embeddings', '/completions']
  .flatMap((path) => [`/v1${path}`, path])
  .map((path) => ({ path, bytes: Buffer.from(`POST ${path} HTTP/1.1\r\n`) }))

/** The headers whose values are recorded. */
const recordedNames = [
  'origin',
  'content-type',
  'authorization',
  'x-forwarded-for',
  'idempotency-key',
  'x-api-key',
  'host',
  'anthropic-version',
  'anthropic-beta',
] as const satisfies readonly HeaderName[]

/** The other headers that handlers read. A request with one is unsupported, so that none is ever overlooked. */
const unreadNames: Readonly<Record<Exclude<HeaderName, (typeof recordedNames)[number]>, true>> = {
  'access-control-request-headers': true,
  'content-encoding': true,
  cookie: true,
  'sec-fetch-site': true,
}
const unsupportedNames = [
  ...Object.keys(unreadNames),
  'expect',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]

type HeaderRule = number | 'connection' | 'content-length' | 'unsupported'

interface CheckedHeader {
  readonly name: string
  /** A number: record the value at this index. */
  readonly rule: HeaderRule
}

const checkedHeaders: readonly CheckedHeader[] = [
  ...recordedNames.map((name, rule) => ({ name, rule })),
  ...unsupportedNames.map((name) => ({ name, rule: 'unsupported' as const })),
  { name: 'connection', rule: 'connection' },
  { name: 'content-length', rule: 'content-length' },
]
const longestName = Math.max(...checkedHeaders.map(({ name }) => name.length))
/** By the length of the name, which rules most headers out at once. */
const headersByLength = Array.from({ length: longestName + 1 }, (_, length) =>
  checkedHeaders.filter(({ name }) => name.length === length),
)
const searchedNames: readonly HeaderName[] = recordedNames
const hostIndex = searchedNames.indexOf('host')

export class RequestHead {
  path = ''
  contentLength = -1
  /** The offset of the body. */
  end = 0
  #bytes: Buffer | null = null
  #hasConnection = false
  /** Start and end of the value of each of `recordedNames`; 0 if absent. */
  readonly #valueRanges = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

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
    if (isRelayHeader(bytes, start, nameEnd)) return false
    const length = nameEnd - start
    if (length > longestName) return true
    const candidates = headersByLength[length] ?? []
    for (let i = 0; i < candidates.length; i += 1) {
      const candidate = candidates[i]
      if (candidate && hasName(bytes, start, candidate.name))
        return this.#applyRule(candidate.rule, bytes, nameEnd + 1, lineEnd)
    }
    return true
  }

  #applyRule(rule: HeaderRule, bytes: Buffer, start: number, end: number): boolean {
    if (rule === 'unsupported') return false
    if (rule === 'connection') return this.#checkConnection(bytes, start, end)
    if (rule === 'content-length') return this.#parseContentLength(bytes, start, end)
    return this.#recordValue(rule, bytes, start, end)
  }

  /** Records the range of the value of `recordedNames[index]`. False if it occurs twice. */
  #recordValue(index: number, bytes: Buffer, valueStart: number, lineEnd: number): boolean {
    if (this.#valueRanges[2 * index] !== 0) return false
    let start = valueStart
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

/** Whether the name begins with `x-sluice-`. Nearly all others differ in their third byte. */
function isRelayHeader(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < relayHeaderPrefix.length || bytes[start + 1] !== DASH) return false
  if (((bytes[start + 2] ?? 0) | 0x20) !== LOWER_S) return false
  return hasName(bytes, start, relayHeaderPrefix)
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

function matchPrefix(bytes: Buffer, expected: Buffer): ParseResult {
  const length = Math.min(bytes.length, expected.length)
  for (let i = 0; i < length; i += 1) if (bytes[i] !== expected[i]) return 'unsupported'
  return length === expected.length ? 'complete' : 'partial'
}
