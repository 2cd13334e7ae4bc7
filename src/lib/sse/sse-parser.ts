/**
 * An incremental parser for server-sent events (WHATWG HTML, "Server-sent events") over chunks with arbitrary
 * boundaries, and the encoder for the events that we write. Plain events are emitted as views of the received chunk, so
 * that a stream can be forwarded without copying.
 */
import { SseEvent } from './sse-event.ts'

export type { SseEvent }

const lf = 0x0a
const cr = 0x0d

/** A comment that keeps a silent stream open; clients ignore it. */
export const keepAliveComment: Buffer = Buffer.from(': keep-alive\n\n')

/** Encodes an event with this payload; each line of the payload becomes a `data:` line. */
export function encodeSseEvent(data: string, name?: string): Buffer {
  const lines = /[\n\r]/.test(data) ? data.replaceAll(/\r\n|\n|\r/g, '\ndata: ') : data
  return Buffer.from(name === undefined ? `data: ${lines}\n\n` : `event: ${name}\ndata: ${lines}\n\n`)
}

/** 16 MiB of payload plus the rest of the event. */
export const defaultMaxEventBytes = 16 * 1024 * 1024 + 64 * 1024

/** A larger buffer is released after its event, so that idle streams use little memory. */
const maxRetainedBytes = 32 * 1024

/** An event exceeds the parser's bound; the stream cannot be parsed further. */
export class SseEventTooLargeError extends Error {
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`An event of the stream is larger than ${maxBytes} bytes.`)
    this.name = 'SseEventTooLargeError'
    this.maxBytes = maxBytes
  }
}

/**
 * Parses a stream into events. Chunks may end anywhere; lines may end with LF, CR LF or CR; a byte order mark at the
 * start is dropped. Takes linear time however the stream is split. A chunk of complete plain events is parsed without
 * copying or allocating.
 */
export class SseParser {
  readonly #onEvent: (event: SseEvent) => void
  readonly #maxEventBytes: number
  readonly #event = new SseEvent()
  /** The bytes of an incomplete event from earlier chunks. */
  #buffer: Buffer = Buffer.alloc(0)
  #bufferedBytes = 0
  /** The next byte is the first of its line. */
  #atLineStart = true
  /** The last byte was a CR: a line feed that follows belongs to the same line end. */
  #afterCr = false
  #atStreamStart = true

  /**
   * `onEvent` is called during `push`, in order, also for events without payload (comments only). If it throws, the
   * push ends and the parser must not be used again.
   */
  constructor(onEvent: (event: SseEvent) => void, maxEventBytes = defaultMaxEventBytes) {
    this.#onEvent = onEvent
    this.#maxEventBytes = maxEventBytes
  }

  /** The buffered bytes of an incomplete event. */
  get bufferedBytes(): number {
    return this.#bufferedBytes
  }

  /** Parses the next bytes, which are not retained after the call. Throws {@link SseEventTooLargeError}. */
  push(chunk: Buffer): void {
    const { length } = chunk
    let start = 0
    let at = 0
    if (this.#afterCr && length > 0) {
      this.#afterCr = false
      // The second byte of a line end; if its event was already emitted, it belongs to none.
      if (chunk[0] === lf) {
        at = 1
        if (this.#bufferedBytes === 0) start = 1
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
      if (blank) this.#completeEvent(chunk, start, at)
      else if (!byCr && chunk[at] === lf) {
        at++
        if (lineStart !== start || !this.#emitPlain(chunk, start, at)) this.#completeEvent(chunk, start, at)
      }
      const ended = blank || at > lineEnd + 1
      if (byCr) {
        if (chunk[at] === lf) at++
        else this.#afterCr = at === length
      }
      if (ended) start = at
    }
    if (start < length) this.#bufferBytes(chunk, start, length)
  }

  /**
   * Ends the stream and returns the trailing event that no blank line ended (never `isPlain`), or undefined. Valid until
   * the parser is used again.
   */
  end(): SseEvent | undefined {
    const bytes = this.#bufferedBytes
    this.#bufferedBytes = 0
    this.#atLineStart = true
    this.#afterCr = false
    if (bytes === 0) return undefined
    this.#event.read(this.#buffer, this.#skipByteOrderMark(this.#buffer, 0), bytes)
    return this.#event
  }

  /** Emits the common case, one line that begins with `data: ` with nothing buffered; false for any other event. */
  #emitPlain(chunk: Buffer, start: number, end: number): boolean {
    if (
      this.#bufferedBytes > 0 ||
      end - start > this.#maxEventBytes ||
      !this.#event.readPlain(chunk, start, end)
    ) {
      return false
    }
    this.#atStreamStart = false
    this.#onEvent(this.#event)
    return true
  }

  #completeEvent(chunk: Buffer, start: number, end: number): void {
    if (this.#bufferedBytes === 0) {
      if (end - start > this.#maxEventBytes) throw new SseEventTooLargeError(this.#maxEventBytes)
      this.#emit(chunk, start, end)
      return
    }
    this.#bufferBytes(chunk, start, end)
    const bytes = this.#bufferedBytes
    const buffered = this.#buffer
    this.#bufferedBytes = 0
    this.#emit(buffered, 0, bytes)
    if (buffered.length <= maxRetainedBytes) return
    this.#buffer = Buffer.alloc(0)
    this.#event.clear()
  }

  #emit(source: Buffer, start: number, end: number): void {
    const contentStart = this.#skipByteOrderMark(source, start)
    // Only a blank line between events.
    if (end - contentStart === 1) return
    this.#event.read(source, contentStart, end)
    this.#onEvent(this.#event)
  }

  #skipByteOrderMark(source: Buffer, start: number): number {
    const first = this.#atStreamStart
    this.#atStreamStart = false
    const marked = first && source[start] === 0xef && source[start + 1] === 0xbb && source[start + 2] === 0xbf
    return marked ? start + 3 : start
  }

  #bufferBytes(chunk: Buffer, start: number, end: number): void {
    const bytes = this.#bufferedBytes + end - start
    if (bytes > this.#maxEventBytes) throw new SseEventTooLargeError(this.#maxEventBytes)
    if (bytes > this.#buffer.length) {
      const doubled = Math.min(2 * this.#buffer.length, this.#maxEventBytes)
      const grown = Buffer.allocUnsafeSlow(Math.max(1024, bytes, doubled))
      this.#buffer.copy(grown, 0, 0, this.#bufferedBytes)
      this.#buffer = grown
    }
    chunk.copy(this.#buffer, this.#bufferedBytes, start, end)
    this.#bufferedBytes = bytes
  }
}
