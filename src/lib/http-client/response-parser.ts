/**
 * Reads one HTTP/1.1 answer from pieces as they arrive (RFC 9112): interim heads are swallowed, the head is told once,
 * the body piece by piece without its framing. The same bytes cut anywhere else give the same answer.
 * Nothing is copied but a head that arrives in parts; pieces are views, valid only while they are told.
 */
import { ChunkDecoder } from './chunk-decoder.ts'
import { AnswerHead, AnswerHeaders } from './response-head.ts'

/** Who is told. */
export interface AnswerSink {
  onHead(status: number, headers: AnswerHeaders): void
  onData(chunk: Buffer): void
}

/**
 * What a piece led to: `more` is needed; the answer is `complete`; it is `malformed` (see `problem`); or the sink
 * `stopped` the parser.
 */
export type Progress = 'more' | 'complete' | 'malformed' | 'stopped'

type Body = 'unknown' | 'none' | 'length' | 'chunked' | 'until-close'

const endOfHead = Buffer.from('\r\n\r\n')
const opening = 'HTTP/1.'

export class AnswerParser {
  /** Why the answer is malformed, or null. */
  problem: string | null = null
  /** Whether the connection can carry another request once the answer is complete. */
  isReusable = false
  readonly #head = new AnswerHead()
  readonly #chunks: ChunkDecoder
  readonly #maxHeadBytes: number
  #sink: AnswerSink | null = null
  #isBodiless = false
  #body: Body = 'unknown'
  #left = 0
  #pending: Buffer | null = null
  /** Bytes of heads that are over: interim ones count too, so that their number is bounded. */
  #headBytes = 0

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes
    this.#chunks = new ChunkDecoder(maxHeadBytes)
  }

  /** How long the other side keeps the connection after this answer, as far as it said: else Infinity. */
  get keepAliveMs(): number {
    return this.#head.keepAliveMs
  }

  /** Prepares for the answer to a request of this method. */
  begin(method: string, sink: AnswerSink): void {
    this.problem = null
    this.isReusable = false
    this.#sink = sink
    this.#isBodiless = method === 'HEAD'
    this.#body = 'unknown'
    this.#pending = null
    this.#headBytes = 0
  }

  /** Tells nothing more, also when called from within the sink. */
  stop(): void {
    this.#sink = null
  }

  /** Reads bytes[0, end); may change them. */
  feed(bytes: Buffer, end: number): Progress {
    if (this.#body !== 'unknown') return this.#feedBody(bytes, 0, end)
    if (this.#pending === null) return this.#feedHead(bytes, end, 0)
    const before = this.#pending.length
    const joined = Buffer.concat([this.#pending, bytes.subarray(0, end)])
    this.#pending = null
    return this.#feedHead(joined, joined.length, Math.max(0, before - 3))
  }

  /** The other side closed: says whether that completes the answer. */
  finish(): boolean {
    return this.#body === 'until-close'
  }

  /** @param searchFrom before it, the end of the head is known not to begin */
  #feedHead(bytes: Buffer, end: number, searchFrom: number): Progress {
    let start = 0
    let from = searchFrom
    while (true) {
      const found = bytes.subarray(from, end).indexOf(endOfHead)
      if (found === -1) return this.#keepPart(bytes, start, end)
      const headEnd = from + found + endOfHead.length
      this.#headBytes += headEnd - start
      if (this.#headBytes > this.#maxHeadBytes) return this.#refuse('the head is too long')
      const problem = this.#head.parse(bytes, start, headEnd)
      if (problem !== null) return this.#refuse(problem)
      if (this.#head.status === 101) return this.#refuse('a switch of protocols that nobody asked for')
      if (this.#head.status >= 200) return this.#beginBody(bytes, headEnd, end)
      start = headEnd
      from = headEnd
    }
  }

  #keepPart(bytes: Buffer, start: number, end: number): Progress {
    if (this.#headBytes + end - start > this.#maxHeadBytes) return this.#refuse('the head is too long')
    const seen = Math.min(end - start, opening.length)
    if (bytes.toString('latin1', start, start + seen) !== opening.slice(0, seen)) {
      return this.#refuse('not a status line')
    }
    this.#pending = Buffer.from(bytes.subarray(start, end))
    return 'more'
  }

  #beginBody(bytes: Buffer, at: number, end: number): Progress {
    const { status, isChunked, contentLength, isKept } = this.#head
    this.isReusable = isKept
    if (this.#isBodiless || status === 204 || status === 304) this.#body = 'none'
    else if (isChunked) {
      this.#body = 'chunked'
      this.#chunks.begin()
    } else if (contentLength === -1) {
      this.#body = 'until-close'
      this.isReusable = false
    } else {
      this.#body = contentLength === 0 ? 'none' : 'length'
      this.#left = contentLength
    }
    this.#sink?.onHead(status, new AnswerHeaders(this.#head.text))
    return this.#feedBody(bytes, at, end)
  }

  #feedBody(bytes: Buffer, at: number, end: number): Progress {
    switch (this.#body) {
      case 'chunked':
        return this.#feedChunks(bytes, at, end)
      case 'length': {
        const until = Math.min(end, at + this.#left)
        this.#left -= until - at
        this.#tell(bytes, at, until)
        return this.#left === 0 ? this.#complete(until < end) : this.#goOn()
      }
      case 'until-close':
        this.#tell(bytes, at, end)
        return this.#goOn()
      case 'none':
      case 'unknown':
        return this.#complete(at < end)
    }
  }

  #feedChunks(bytes: Buffer, at: number, end: number): Progress {
    const stop = this.#chunks.decode(bytes, at, end)
    this.#tell(bytes, this.#chunks.payloadStart, this.#chunks.payloadEnd)
    if (this.#chunks.problem !== null) return this.#refuse(this.#chunks.problem)
    return this.#chunks.isDone ? this.#complete(stop < end) : this.#goOn()
  }

  #tell(bytes: Buffer, start: number, end: number): void {
    if (start < end) this.#sink?.onData(bytes.subarray(start, end))
  }

  #goOn(): Progress {
    return this.#sink === null ? 'stopped' : 'more'
  }

  /** @param hasSurplus bytes follow that nobody asked for: whatever they are, the connection is out of step */
  #complete(hasSurplus: boolean): Progress {
    if (hasSurplus) this.isReusable = false
    return this.#sink === null ? 'stopped' : 'complete'
  }

  #refuse(problem: string): Progress {
    this.problem = problem
    return this.#sink === null ? 'stopped' : 'malformed'
  }
}
