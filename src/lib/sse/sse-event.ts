/** One server-sent event (WHATWG HTML, "Server-sent events"), parsed line by line from its bytes. */

const lf = 0x0a
const cr = 0x0d
const space = 0x20
const colon = 0x3a

const dataPrefix = Buffer.from('data: ')
const lineFeed = Buffer.from('\n')
const emptyBuffer = Buffer.alloc(0)

/**
 * One event as the parser emits it. The parser reuses the object and the memory behind it: its fields are valid only
 * until the callback returns, so copy what you keep.
 */
export class SseEvent {
  /** The buffer that contains the event from `start` to `end`; usually the received chunk with its other events. */
  source: Buffer = emptyBuffer
  start = 0
  end = 0
  /** The range of the payload in `source`, unless several `data:` lines were joined. */
  dataStart = 0
  dataEnd = 0
  /** False for an event without a `data:` line, such as a comment. */
  hasData = false
  /** True if its bytes are exactly `data: `, the payload in one line, and two line feeds. */
  isPlain = false
  /** The value of its `event:` line, or empty. */
  name = ''
  #joined: Buffer | undefined

  /** Releases the bytes. */
  clear(): void {
    this.read(emptyBuffer, 0, 0)
  }

  /**
   * Reads a plain event, which ends with two line feeds and has no other line end; returns false if it does not begin
   * with `data: `.
   */
  readPlain(source: Buffer, start: number, end: number): boolean {
    for (let i = 0; i < 6; i++) if (source[start + i] !== dataPrefix[i]) return false
    this.source = source
    this.start = start
    this.end = end
    this.dataStart = start + 6
    this.dataEnd = end - 2
    this.hasData = true
    this.isPlain = true
    this.name = ''
    this.#joined = undefined
    return true
  }

  /** Reads any event, complete or truncated, line by line. */
  read(source: Buffer, start: number, end: number): void {
    this.source = source
    this.start = start
    this.end = end
    this.dataStart = this.dataEnd = end
    this.hasData = false
    this.name = ''
    let joined: Buffer | undefined
    let joinedBytes = 0
    const lines = new LineReader(source, start, end)
    while (lines.next()) {
      const nameStart = lines.valueStart('event')
      if (nameStart !== -1) this.name = source.toString('utf8', nameStart, lines.lineEnd)
      const dataStart = lines.valueStart('data')
      if (dataStart === -1) continue
      if (!this.hasData) {
        this.hasData = true
        this.dataStart = dataStart
        this.dataEnd = lines.lineEnd
        continue
      }
      if (joined === undefined) {
        joined = Buffer.allocUnsafe(end - start)
        joinedBytes = source.copy(joined, 0, this.dataStart, this.dataEnd)
      }
      joined[joinedBytes++] = lf
      joinedBytes += source.copy(joined, joinedBytes, dataStart, lines.lineEnd)
    }
    this.#joined = joined?.subarray(0, joinedBytes)
    this.isPlain =
      this.dataStart === start + 6 &&
      this.dataEnd === end - 2 &&
      source[end - 2] === lf &&
      source[end - 1] === lf
  }

  /** It has no payload but white space, and thus is no event (WHATWG HTML, "Server-sent events"). */
  get isBlank(): boolean {
    const isText = this.dataStart < this.dataEnd && (this.source[this.dataStart] ?? 0) > space
    return !isText && this.text.trim() === ''
  }

  /** The event's bytes as received, including the blank line that ends it (of a CR LF there, only the CR). */
  get raw(): Buffer {
    return this.source.subarray(this.start, this.end)
  }

  /** The payload: the `data:` lines joined by line feeds, or empty. */
  get data(): Buffer {
    return this.#joined ?? this.source.subarray(this.dataStart, this.dataEnd)
  }

  /** The payload as text. */
  get text(): string {
    return this.#joined?.toString() ?? this.source.toString('utf8', this.dataStart, this.dataEnd)
  }

  /**
   * The bytes to forward in the OpenAI format: only the payload. A plain event is returned unchanged; otherwise the
   * name, `id:`, `retry:` and comments are removed. Empty if the event has no payload.
   */
  get dataOnly(): Buffer {
    if (this.isPlain) return this.raw
    return this.hasData ? encodeData(this.data) : emptyBuffer
  }
}

function encodeData(data: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at <= data.length;) {
    const found = data.indexOf(lf, at)
    const end = found === -1 ? data.length : found
    pieces.push(dataPrefix, data.subarray(at, end), lineFeed)
    at = end + 1
  }
  return Buffer.concat([...pieces, lineFeed])
}

/** Iterates over lines that end with LF, CR LF or CR, in linear time. */
class LineReader {
  lineStart: number
  lineEnd: number
  readonly #source: Buffer
  readonly #end: number
  #nextLf: number
  #nextCr: number
  #at: number

  constructor(source: Buffer, start: number, end: number) {
    // A view that ends with the event, so that no search continues into the following events.
    this.#source = source.subarray(0, end)
    this.#end = end
    this.#at = start
    this.lineStart = this.lineEnd = start
    this.#nextLf = this.#find(lf)
    this.#nextCr = this.#find(cr)
  }

  /** Moves to the next line; false if there is none. */
  next(): boolean {
    const at = this.#at
    if (at >= this.#end) return false
    if (this.#nextLf < at) this.#nextLf = this.#find(lf)
    if (this.#nextCr < at) this.#nextCr = this.#find(cr)
    this.lineStart = at
    this.lineEnd = Math.min(this.#nextLf, this.#nextCr)
    this.#at = this.lineEnd + (this.lineEnd === this.#nextCr && this.#nextLf === this.#nextCr + 1 ? 2 : 1)
    return true
  }

  /** Returns the offset of the value if the line has this field, skipping one space after the colon; else -1. */
  valueStart(field: string): number {
    const source = this.#source
    for (let i = 0; i < field.length; i++) {
      if (source[this.lineStart + i] !== field.charCodeAt(i)) return -1
    }
    const after = this.lineStart + field.length
    if (after >= this.lineEnd) return after === this.lineEnd ? after : -1
    if (source[after] !== colon) return -1
    return after + 1 < this.lineEnd && source[after + 1] === space ? after + 2 : after + 1
  }

  #find(byte: number): number {
    const found = this.#source.indexOf(byte, this.#at)
    return found === -1 ? this.#end : found
  }
}
