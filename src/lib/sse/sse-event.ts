/**
 * One server-sent event (WHATWG HTML, "Server-sent events"), read line by line from its bytes.
 */

const lf = 0x0a
const cr = 0x0d
const space = 0x20
const colon = 0x3a

const dataPrefix = Buffer.from('data: ')
const lineFeed = Buffer.from('\n')
const nothing = Buffer.alloc(0)

/**
 * One event, as the splitter tells it. The splitter reuses the object and the memory behind it: everything here is
 * valid only until the callback returns, so copy what must be kept.
 */
export class ServerEvent {
  /** The bytes that hold the event, from `start` to `end`; mostly the chunk itself, with its neighbours around. */
  source: Buffer = nothing
  start = 0
  end = 0
  /** Where the payload lies in `source`, unless several `data:` lines had to be joined. */
  dataStart = 0
  dataEnd = 0
  /** False for an event without a `data:` line: comments, or other fields only. */
  hasData = false
  /** True when its bytes are exactly `data: `, the payload as one line, and two line feeds. */
  isPlain = false
  /** The value of its `event:` line; empty without one. */
  name = ''
  #joined: Buffer | undefined

  /** Lets go of the bytes. */
  clear(): void {
    this.read(nothing, 0, 0)
  }

  /**
   * Takes the bytes as a plain event, which ends with two line feeds and has no other line end; false when it does
   * not begin with `data: `.
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

  /** Takes the bytes as any event, whole or broken off, line by line. */
  read(source: Buffer, start: number, end: number): void {
    this.source = source
    this.start = start
    this.end = end
    this.dataStart = this.dataEnd = end
    this.hasData = false
    this.name = ''
    let joined: Buffer | undefined
    let joinedBytes = 0
    const lines = new Lines(source, start, end)
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

  /** The event's bytes as they arrived, with the blank line that ends it (of a CR LF there, only the CR). */
  get raw(): Buffer {
    return this.source.subarray(this.start, this.end)
  }

  /** The payload; several `data:` lines joined by line feeds; empty without any. */
  get data(): Buffer {
    return this.#joined ?? this.source.subarray(this.dataStart, this.dataEnd)
  }

  /** The payload as text. */
  get text(): string {
    return this.#joined?.toString() ?? this.source.toString('utf8', this.dataStart, this.dataEnd)
  }

  /**
   * The bytes to pass on in the chat format: the payload and nothing else. The same bytes when the event is plain;
   * without its name, `id:`, `retry:` and comments otherwise; nothing when it has no payload.
   */
  get plain(): Buffer {
    if (this.isPlain) return this.raw
    return this.hasData ? plainBytes(this.data) : nothing
  }
}

function plainBytes(data: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at <= data.length;) {
    const found = data.indexOf(lf, at)
    const end = found === -1 ? data.length : found
    pieces.push(dataPrefix, data.subarray(at, end), lineFeed)
    at = end + 1
  }
  return Buffer.concat([...pieces, lineFeed])
}

/** Goes through the lines of some bytes, ended by LF, CR LF or CR. Linear. */
class Lines {
  lineStart: number
  lineEnd: number
  readonly #source: Buffer
  readonly #end: number
  #nextLf: number
  #nextCr: number
  #at: number

  constructor(source: Buffer, start: number, end: number) {
    // A view that ends with the event, or each search would run on through its neighbours.
    this.#source = source.subarray(0, end)
    this.#end = end
    this.#at = start
    this.lineStart = this.lineEnd = start
    this.#nextLf = this.#find(lf)
    this.#nextCr = this.#find(cr)
  }

  /** Goes to the next line; false when there is none. */
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

  /** Where the value begins when the line is this field's, one space after the colon left out; else -1. */
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
