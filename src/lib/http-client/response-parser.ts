/**
 * An incremental HTTP/1.1 response parser (RFC 9112): interim responses are skipped, the head is emitted once, then
 * the body without its framing. How the bytes are split into reads does not change the result.
 * Only a head that arrives in parts is copied; emitted chunks are views that are valid only during the call.
 */
import { ChunkDecoder } from './chunk-decoder.ts'
import { ResponseHead, ResponseHeaders } from './response-head.ts'

/** Receives the parsed response. */
export interface ResponseSink {
  onHead(status: number, headers: ResponseHeaders): void
  onData(chunk: Buffer): void
}

/**
 * The result of a `feed`: `more` bytes are needed; the response is `complete`; it is `malformed` (see `problem`); or
 * the sink `stopped` the parser.
 */
export type ParserStatus = 'more' | 'complete' | 'malformed' | 'stopped'

type BodyFraming = 'unknown' | 'none' | 'length' | 'chunked' | 'until-close'

const endOfHead = Buffer.from('\r\n\r\n')
const statusLinePrefix = 'HTTP/1.'

export class ResponseParser {
  /** Why the response is malformed, or null. */
  problem: string | null = null
  /** Whether the connection can carry another request after this response. */
  isReusable = false
  readonly #head = new ResponseHead()
  readonly #chunks: ChunkDecoder
  readonly #maxHeadBytes: number
  #sink: ResponseSink | null = null
  #isBodiless = false
  #framing: BodyFraming = 'unknown'
  #remainingBytes = 0
  #pending: Buffer | null = null
  /** Bytes of parsed heads; interim responses count too, which bounds their number. */
  #headBytes = 0

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes
    this.#chunks = new ChunkDecoder(maxHeadBytes)
  }

  /** How long the server keeps the connection open after this response; Infinity if it does not say. */
  get keepAliveMs(): number {
    return this.#head.keepAliveMs
  }

  /** Prepares for the response to a request with this method. */
  begin(method: string, sink: ResponseSink): void {
    this.problem = null
    this.isReusable = false
    this.#sink = sink
    this.#isBodiless = method === 'HEAD'
    this.#framing = 'unknown'
    this.#pending = null
    this.#headBytes = 0
  }

  /** Stops emitting; may be called from within the sink. */
  stop(): void {
    this.#sink = null
  }

  /** Parses bytes[0, end); may modify them. */
  feed(bytes: Buffer, end: number): ParserStatus {
    if (this.#framing !== 'unknown') return this.#feedBody(bytes, 0, end)
    if (this.#pending === null) return this.#feedHead(bytes, end, 0)
    const before = this.#pending.length
    const joined = Buffer.concat([this.#pending, bytes.subarray(0, end)])
    this.#pending = null
    return this.#feedHead(joined, joined.length, Math.max(0, before - 3))
  }

  /** Call when the server closes the connection; returns whether that completes the response. */
  finish(): boolean {
    return this.#framing === 'until-close'
  }

  /** @param searchFrom the end of the head does not begin before this offset */
  #feedHead(bytes: Buffer, end: number, searchFrom: number): ParserStatus {
    let start = 0
    let from = searchFrom
    while (true) {
      const found = bytes.subarray(from, end).indexOf(endOfHead)
      if (found === -1) return this.#bufferPartialHead(bytes, start, end)
      const headEnd = from + found + endOfHead.length
      this.#headBytes += headEnd - start
      if (this.#headBytes > this.#maxHeadBytes) return this.#fail('the head is too long')
      const problem = this.#head.parse(bytes, start, headEnd)
      if (problem !== null) return this.#fail(problem)
      if (this.#head.status === 101) return this.#fail('an unexpected switch of protocols')
      if (this.#head.status >= 200) return this.#beginBody(bytes, headEnd, end)
      start = headEnd
      from = headEnd
    }
  }

  #bufferPartialHead(bytes: Buffer, start: number, end: number): ParserStatus {
    if (this.#headBytes + end - start > this.#maxHeadBytes) return this.#fail('the head is too long')
    const seen = Math.min(end - start, statusLinePrefix.length)
    if (bytes.toString('latin1', start, start + seen) !== statusLinePrefix.slice(0, seen)) {
      return this.#fail('not a status line')
    }
    this.#pending = Buffer.from(bytes.subarray(start, end))
    return 'more'
  }

  #beginBody(bytes: Buffer, at: number, end: number): ParserStatus {
    const { status, isChunked, contentLength, isKeepAlive } = this.#head
    this.isReusable = isKeepAlive
    if (this.#isBodiless || status === 204 || status === 304) this.#framing = 'none'
    else if (isChunked) {
      this.#framing = 'chunked'
      this.#chunks.begin()
    } else if (contentLength === -1) {
      this.#framing = 'until-close'
      this.isReusable = false
    } else {
      this.#framing = contentLength === 0 ? 'none' : 'length'
      this.#remainingBytes = contentLength
    }
    this.#sink?.onHead(status, new ResponseHeaders(this.#head.text))
    return this.#feedBody(bytes, at, end)
  }

  #feedBody(bytes: Buffer, at: number, end: number): ParserStatus {
    switch (this.#framing) {
      case 'chunked':
        return this.#feedChunks(bytes, at, end)
      case 'length': {
        const until = Math.min(end, at + this.#remainingBytes)
        this.#remainingBytes -= until - at
        this.#emitData(bytes, at, until)
        return this.#remainingBytes === 0 ? this.#complete(until < end) : this.#needMore()
      }
      case 'until-close':
        this.#emitData(bytes, at, end)
        return this.#needMore()
      case 'none':
      case 'unknown':
        return this.#complete(at < end)
    }
  }

  #feedChunks(bytes: Buffer, at: number, end: number): ParserStatus {
    const stop = this.#chunks.decode(bytes, at, end)
    this.#emitData(bytes, this.#chunks.payloadStart, this.#chunks.payloadEnd)
    if (this.#chunks.problem !== null) return this.#fail(this.#chunks.problem)
    return this.#chunks.isDone ? this.#complete(stop < end) : this.#needMore()
  }

  #emitData(bytes: Buffer, start: number, end: number): void {
    if (start < end) this.#sink?.onData(bytes.subarray(start, end))
  }

  #needMore(): ParserStatus {
    return this.#sink === null ? 'stopped' : 'more'
  }

  /** @param hasSurplus unsolicited bytes follow, so the connection is out of sync */
  #complete(hasSurplus: boolean): ParserStatus {
    if (hasSurplus) this.isReusable = false
    return this.#sink === null ? 'stopped' : 'complete'
  }

  #fail(problem: string): ParserStatus {
    this.problem = problem
    return this.#sink === null ? 'stopped' : 'malformed'
  }
}
