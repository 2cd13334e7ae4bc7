/**
 * Server-sent events as bytes (WHATWG HTML, "Server-sent events"): a splitter that finds the events of a stream
 * that is cut anywhere, and the few bytes that we write ourselves.
 * Events that are plain already are told as views of what arrived, so that a stream passes through untouched.
 */
import { ServerEvent } from './sse-event.ts'

export type { ServerEvent }

const lf = 0x0a
const cr = 0x0d

/** A comment that keeps a silent stream open; parsers ignore it. */
export const keepAliveComment: Buffer = Buffer.from(': keep-alive\n\n')

/** The bytes of an event with this payload; every line of it becomes a `data:` line. */
export function encodeEvent(data: string, name?: string): Buffer {
  const lines = /[\n\r]/.test(data) ? data.replaceAll(/\r\n|\n|\r/g, '\ndata: ') : data
  return Buffer.from(name === undefined ? `data: ${lines}\n\n` : `event: ${name}\ndata: ${lines}\n\n`)
}

/** 16 MiB of payload, and room for what stands around it. */
export const defaultMaxEventBytes = 16 * 1024 * 1024 + 64 * 1024

/** A larger buffer is let go once its event is out, so that a stream at rest stays small. */
const keptBytes = 32 * 1024

/** An event that outgrew the splitter's bound; the stream cannot be followed any further. */
export class EventTooLarge extends Error {
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`An event of the stream is larger than ${maxBytes} bytes.`)
    this.name = 'EventTooLarge'
    this.maxBytes = maxBytes
  }
}

/**
 * Cuts a stream into events. Chunks may end anywhere; lines may end with LF, CR LF or CR; a byte order mark at the
 * stream's start is dropped. Linear in the bytes pushed, whatever the cuts. A chunk of whole plain events is not
 * copied, and splitting it allocates nothing.
 */
export class EventSplitter {
  readonly #onEvent: (event: ServerEvent) => void
  readonly #maxEventBytes: number
  readonly #event = new ServerEvent()
  /** The bytes of the begun event that came in earlier chunks. */
  #held: Buffer = Buffer.alloc(0)
  #heldBytes = 0
  /** The next byte is the first of its line. */
  #atLineStart = true
  /** The last byte was a CR: a line feed that follows ends the same line. */
  #afterCr = false
  #atStreamStart = true

  /**
   * `onEvent` is called during `push`, in order, and also for events without payload (comments only). What it
   * throws ends the push, and the splitter with it.
   */
  constructor(onEvent: (event: ServerEvent) => void, maxEventBytes = defaultMaxEventBytes) {
    this.#onEvent = onEvent
    this.#maxEventBytes = maxEventBytes
  }

  /** Bytes held of an event that has begun and not ended. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Takes the next bytes, which are not kept after the call. Throws `EventTooLarge`. */
  push(chunk: Buffer): void {
    const { length } = chunk
    let start = 0
    let at = 0
    if (this.#afterCr && length > 0) {
      this.#afterCr = false
      // The rest of a line's end; when its event is out already it belongs to none.
      if (chunk[0] === lf) {
        at = 1
        if (this.#heldBytes === 0) start = 1
      }
    }
    let nextLf = chunk.indexOf(lf, at)
    let nextCr = chunk.indexOf(cr, at)
    while (at < length) {
      if (nextLf !== -1 && nextLf < at) nextLf = chunk.indexOf(lf, at)
      if (nextCr !== -1 && nextCr < at) nextCr = chunk.indexOf(cr, at)
      const byCr = nextCr !== -1 && (nextLf === -1 || nextCr < nextLf)
      const lineEnd = byCr ? nextCr : nextLf
      if (lineEnd === -1) {
        this.#atLineStart = false
        break
      }
      const blank = lineEnd === at && this.#atLineStart
      const lineStart = at
      this.#atLineStart = true
      at = lineEnd + 1
      if (blank) this.#complete(chunk, start, at)
      else if (!byCr && chunk[at] === lf) {
        at++
        if (lineStart !== start || !this.#emitPlain(chunk, start, at)) this.#complete(chunk, start, at)
      }
      const ended = blank || at > lineEnd + 1
      if (byCr) {
        if (chunk[at] === lf) at++
        else this.#afterCr = at === length
      }
      if (ended) start = at
    }
    if (start < length) this.#hold(chunk, start, length)
  }

  /**
   * The stream's end: what had begun and was never ended by a blank line, read as an event (never `isPlain`), or
   * undefined when nothing is left over. Valid until the splitter is used again.
   */
  end(): ServerEvent | undefined {
    const bytes = this.#heldBytes
    this.#heldBytes = 0
    this.#atLineStart = true
    this.#afterCr = false
    if (bytes === 0) return undefined
    this.#event.read(this.#held, this.#contentStart(this.#held, 0), bytes)
    return this.#event
  }

  /** The common case: one line that begins with `data: `, and nothing held; false when it is another. */
  #emitPlain(chunk: Buffer, start: number, end: number): boolean {
    if (
      this.#heldBytes > 0 ||
      end - start > this.#maxEventBytes ||
      !this.#event.readPlain(chunk, start, end)
    ) {
      return false
    }
    this.#atStreamStart = false
    this.#onEvent(this.#event)
    return true
  }

  #complete(chunk: Buffer, start: number, end: number): void {
    if (this.#heldBytes === 0) {
      if (end - start > this.#maxEventBytes) throw new EventTooLarge(this.#maxEventBytes)
      this.#emit(chunk, start, end)
      return
    }
    this.#hold(chunk, start, end)
    const bytes = this.#heldBytes
    const held = this.#held
    this.#heldBytes = 0
    this.#emit(held, 0, bytes)
    if (held.length <= keptBytes) return
    this.#held = Buffer.alloc(0)
    this.#event.clear()
  }

  #emit(source: Buffer, start: number, end: number): void {
    const contentStart = this.#contentStart(source, start)
    // Only a blank line between events.
    if (end - contentStart === 1) return
    this.#event.read(source, contentStart, end)
    this.#onEvent(this.#event)
  }

  #contentStart(source: Buffer, start: number): number {
    const first = this.#atStreamStart
    this.#atStreamStart = false
    const marked = first && source[start] === 0xef && source[start + 1] === 0xbb && source[start + 2] === 0xbf
    return marked ? start + 3 : start
  }

  #hold(chunk: Buffer, start: number, end: number): void {
    const bytes = this.#heldBytes + end - start
    if (bytes > this.#maxEventBytes) throw new EventTooLarge(this.#maxEventBytes)
    if (bytes > this.#held.length) {
      const doubled = Math.min(2 * this.#held.length, this.#maxEventBytes)
      const larger = Buffer.allocUnsafeSlow(Math.max(1024, bytes, doubled))
      this.#held.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    chunk.copy(this.#held, this.#heldBytes, start, end)
    this.#heldBytes = bytes
  }
}
