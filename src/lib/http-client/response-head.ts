/**
 * The head of an HTTP/1.1 answer: status line and header section, checked byte by byte (RFC 9112).
 * Only what decides the framing is looked at; the rest stays text until somebody asks for a header.
 * A head that could be read in two ways is refused, never guessed at.
 */

/** The headers of an answer. Looked up in the text of the head, so an unasked header costs nothing. */
export class AnswerHeaders {
  readonly #text: string
  #lowered: string | null = null

  /** @param text header lines, each between CRLFs, the first CRLF included */
  constructor(text: string) {
    this.#text = text
  }

  /** The value of a header by its name in lower case; repeated ones are joined by a comma (RFC 9110, 5.3). */
  get(name: string): string | null {
    const lowered = (this.#lowered ??= this.#text.toLowerCase())
    const needle = `\r\n${name}:`
    let value: string | null = null
    for (let at = lowered.indexOf(needle); at !== -1; at = lowered.indexOf(needle, at + 1)) {
      const from = at + needle.length
      const line = this.#text.slice(from, this.#text.indexOf('\r\n', from)).trim()
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

/** Bytes of a header's name (RFC 9110, "tchar"). */
export const nameBytes = byteTable(/[!#$%&'*+\-.^_`|~0-9A-Za-z]/)
/** Bytes of a header's value: tab, visible characters, space, and the upper half of Latin-1. */
export const valueBytes = byteTable(/[\t\x20-\x7e\x80-\xff]/)

/** Whether the header name at `start` is this one; `name` in lower case. */
export function isNamed(bytes: Buffer, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i += 1) {
    const byte = bytes[start + i] ?? 0
    if ((byte | 0x20) !== name.charCodeAt(i)) return false
  }
  return true
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/

/** The largest length that a number counts exactly has 16 digits; 15 are enough for a petabyte. */
const lengthValue = /^\d{1,15}$/

/** One head at a time: `parse` fills the fields. */
export class AnswerHead {
  status = 0
  /** The header section as text, for {@link AnswerHeaders}. */
  text = ''
  /** Bytes of the body as stated, or -1 when not stated. */
  contentLength = -1
  isChunked = false
  /** Whether the other side will keep the connection open after this answer; a `close` outweighs everything. */
  isKept = false
  /** How long it will keep it, from `Keep-Alive: timeout=`; Infinity when not said. */
  keepAliveMs = Infinity
  #isClosing = false
  #isOld = false

  /**
   * Reads the head in bytes[start, end), its empty last line included.
   * @returns what is wrong with it, or null
   */
  parse(bytes: Buffer, start: number, end: number): string | null {
    const lineEnd = bytes.indexOf(CR, start)
    if (bytes[lineEnd + 1] !== LF) return 'a line ends without CRLF'
    const problem =
      this.#parseStatusLine(bytes, start, lineEnd) ?? this.#parseLines(bytes, lineEnd + 2, end - 2)
    if (problem !== null) return problem
    if (this.isChunked && this.contentLength !== -1) return 'content-length and transfer-encoding together'
    // RFC 9112, 6.1: chunks in an HTTP/1.0 answer are suspect, so the connection ends with it.
    if (this.#isClosing || (this.isChunked && this.#isOld)) this.isKept = false
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
      const wrong = this.#note(bytes, nameStart, nameEnd, at)
      if (wrong !== null) return wrong
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
    this.#isOld = match[1] === '0'
    this.isKept = !this.#isOld
    return null
  }

  /** Takes note of a header that decides the framing or the connection's future. */
  #note(bytes: Buffer, nameStart: number, nameEnd: number, valueEnd: number): string | null {
    switch (nameEnd - nameStart) {
      case 10:
        if (isNamed(bytes, nameStart, 'connection')) {
          this.#noteConnection(bytes.toString('latin1', nameEnd + 1, valueEnd).toLowerCase())
        } else if (isNamed(bytes, nameStart, 'keep-alive')) {
          const seconds = /timeout=(\d{1,9})/i.exec(bytes.toString('latin1', nameEnd + 1, valueEnd))?.[1]
          if (seconds !== undefined) this.keepAliveMs = Number(seconds) * 1000
        }
        return null
      case 14:
        if (!isNamed(bytes, nameStart, 'content-length')) return null
        return this.#noteLength(bytes.toString('latin1', nameEnd + 1, valueEnd))
      case 17: {
        if (!isNamed(bytes, nameStart, 'transfer-encoding')) return null
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

  #noteConnection(value: string): void {
    for (const option of value.split(',')) {
      const word = option.trim()
      if (word === 'close') this.#isClosing = true
      else if (word === 'keep-alive') this.isKept = true
    }
  }

  #noteLength(value: string): string | null {
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
