/**
 * The head of an HTTP/1.1 response: status line and header section, validated byte by byte (RFC 9112).
 * Only the headers that decide the framing are parsed; the rest stays text until a header is requested.
 * An ambiguous head is rejected.
 */

/** The headers of a response, looked up in the text of the head, so that unused headers cost nothing. */
export class ResponseHeaders {
  readonly text: string
  #lowered: string | null = null

  /** @param text header lines, each between CRLFs, the first CRLF included */
  constructor(text: string) {
    this.text = text
  }

  /** Returns a header by its lower-case name; repeated headers are joined by a comma (RFC 9110, 5.3). */
  get(name: string): string | null {
    const lowered = (this.#lowered ??= this.text.toLowerCase())
    const needle = `\r\n${name}:`
    let value: string | null = null
    for (let at = lowered.indexOf(needle); at !== -1; at = lowered.indexOf(needle, at + 1)) {
      const from = at + needle.length
      const line = this.text.slice(from, this.text.indexOf('\r\n', from)).trim()
      value = value === null ? line : `${value}, ${line}`
    }
    return value
  }
}

const CR = 13
const LF = 10
const COLON = 58

function byteTable(test: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (test.test(String.fromCharCode(byte)) ? 1 : 0))
}

/** Bytes allowed in a header name (RFC 9110, "tchar"). */
export const nameBytes = byteTable(/[!#$%&'*+\-.^_`|~0-9A-Za-z]/)
/** Bytes allowed in a header value: tab, visible characters, space, and the upper half of Latin-1. */
export const valueBytes = byteTable(/[\t\x20-\x7e\x80-\xff]/)

/** Whether the header name at `start` is `name`, which is in lower case. */
export function hasName(bytes: Buffer, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i += 1) {
    const byte = bytes[start + i] ?? 0
    if ((byte | 0x20) !== name.charCodeAt(i)) return false
  }
  return true
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/

/** Lengths of 16 digits may be inexact in a number; 15 digits suffice for a petabyte. */
const lengthValue = /^\d{1,15}$/

/** One head at a time: `parse` fills the fields. */
export class ResponseHead {
  status = 0
  /** The header section as text, for {@link AnswerHeaders}. */
  text = ''
  /** The value of `content-length`, or -1 if absent. */
  contentLength = -1
  isChunked = false
  /** Whether the server keeps the connection open after this response; `close` takes precedence. */
  isKeepAlive = false
  /** From `Keep-Alive: timeout=`; Infinity if absent. */
  keepAliveMs = Infinity
  #isClosing = false
  #isHttp10 = false

  /**
   * Parses the head in bytes[start, end), including its empty last line.
   * @returns the error, or null
   */
  parse(bytes: Buffer, start: number, end: number): string | null {
    const lineEnd = bytes.indexOf(CR, start)
    if (bytes[lineEnd + 1] !== LF) return 'a line ends without CRLF'
    const problem =
      this.#parseStatusLine(bytes, start, lineEnd) ?? this.#parseLines(bytes, lineEnd + 2, end - 2)
    if (problem !== null) return problem
    if (this.isChunked && this.contentLength !== -1) return 'content-length and transfer-encoding together'
    // RFC 9112, 6.1: chunked framing in an HTTP/1.0 response is suspect, so the connection is closed after it.
    if (this.#isClosing || (this.isChunked && this.#isHttp10)) this.isKeepAlive = false
    this.text = bytes.toString('latin1', lineEnd, end - 2)
    return null
  }

  #parseLines(bytes: Buffer, start: number, end: number): string | null {
    this.contentLength = -1
    this.isChunked = false
    this.keepAliveMs = Infinity
    this.#isClosing = false
    let at = start
    while (at < end) {
      const nameStart = at
      while (nameBytes[bytes[at] ?? 0] === 1) at += 1
      if (at === nameStart || bytes[at] !== COLON)
        return 'a header line does not begin with a name and a colon'
      const nameEnd = at
      at += 1
      while (valueBytes[bytes[at] ?? 0] === 1) at += 1
      if (bytes[at] !== CR || bytes[at + 1] !== LF) return 'a header value contains a control character'
      const headerProblem = this.#recordHeader(bytes, nameStart, nameEnd, at)
      if (headerProblem !== null) return headerProblem
      at += 2
    }
    return null
  }

  #parseStatusLine(bytes: Buffer, start: number, lineEnd: number): string | null {
    for (let at = start; at < lineEnd; at += 1) {
      if (valueBytes[bytes[at] ?? 0] === 0) return 'the status line contains a control character'
    }
    const match = statusLine.exec(bytes.toString('latin1', start, Math.min(lineEnd, start + 13)))
    if (match === null) return 'not a status line'
    this.status = Number(match[2])
    this.#isHttp10 = match[1] === '0'
    this.isKeepAlive = !this.#isHttp10
    return null
  }

  /** Records a header that decides the framing or the reuse of the connection. */
  #recordHeader(bytes: Buffer, nameStart: number, nameEnd: number, valueEnd: number): string | null {
    switch (nameEnd - nameStart) {
      case 10:
        if (hasName(bytes, nameStart, 'connection')) {
          this.#recordConnection(bytes.toString('latin1', nameEnd + 1, valueEnd).toLowerCase())
        } else if (hasName(bytes, nameStart, 'keep-alive')) {
          const seconds = /timeout=(\d{1,9})/i.exec(bytes.toString('latin1', nameEnd + 1, valueEnd))?.[1]
          if (seconds !== undefined) this.keepAliveMs = Number(seconds) * 1000
        }
        return null
      case 14:
        if (!hasName(bytes, nameStart, 'content-length')) return null
        return this.#recordContentLength(bytes.toString('latin1', nameEnd + 1, valueEnd))
      case 17: {
        if (!hasName(bytes, nameStart, 'transfer-encoding')) return null
        const coding = bytes
          .toString('latin1', nameEnd + 1, valueEnd)
          .trim()
          .toLowerCase()
        if (coding !== 'chunked' || this.isChunked) return 'a transfer-encoding other than chunked'
        this.isChunked = true
        return null
      }
      default:
        return null
    }
  }

  #recordConnection(value: string): void {
    for (const option of value.split(',')) {
      const directive = option.trim()
      if (directive === 'close') this.#isClosing = true
      else if (directive === 'keep-alive') this.isKeepAlive = true
    }
  }

  #recordContentLength(value: string): string | null {
    for (const part of value.split(',')) {
      const digits = part.trim()
      if (!lengthValue.test(digits)) return 'a content-length that is not a number'
      const length = Number(digits)
      if (this.contentLength !== -1 && this.contentLength !== length) return 'conflicting content-lengths'
      this.contentLength = length
    }
    return null
  }
}
