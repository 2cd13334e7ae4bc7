/**
 * One exchange of a request and its response: the handle of the caller, and the target of the connection's events.
 * A reused connection that the server had already closed is replaced once, transparently.
 */
import type { Connection, PendingExchange } from './connection.ts'
import type { ConnectionFailure, FailureKind } from './failure.ts'
import type { ResponseSink } from './response-parser.ts'
import type { OutgoingRequest } from './request.ts'

/**
 * Handles one response: `onHead` once, then `onData` any number of times, then `onEnd`; or `onFail` at any point, and
 * only once. Chunks are views of a buffer that is reused: copy what you keep. Never called from within `send`.
 */
export interface ResponseHandler extends ResponseSink {
  /** The response is complete, exactly as framed. */
  onEnd(): void
  onFail(failure: ConnectionFailure): void
  /** The request is being written to a connected server; again, if the first connection was stale. */
  onWrite?(): void
}

export interface Exchange {
  /** Stops reading, which applies backpressure to the server; bytes already read (up to 64 KiB) are still emitted. */
  pause(): void
  resume(): void
  /** Closes the connection now; no more events follow. */
  destroy(): void
}

/** An exchange over one connection, or over two if the first was stale. */
export class HttpExchange implements Exchange, PendingExchange {
  readonly request: OutgoingRequest
  readonly sink: ResponseHandler
  isPaused = false
  isSent = false
  hasResponse = false
  readonly #reopen: (exchange: HttpExchange) => void
  #connection: Connection | null = null
  /** In milliseconds of `performance.now()`; 0 for a new connection. */
  #staleUntil = 0
  #isOver = false

  constructor(request: OutgoingRequest, handler: ResponseHandler, reopen: (exchange: HttpExchange) => void) {
    this.request = request
    this.sink = handler
    this.#reopen = reopen
  }

  /** Uses a connection that was opened for this exchange. */
  open(connection: Connection): void {
    this.#connection = connection
    this.#staleUntil = 0
  }

  /** Uses an idle connection; if it closes within this time, it was stale. */
  reuse(connection: Connection, staleWindowMs: number): void {
    this.#connection = connection
    this.#staleUntil = performance.now() + staleWindowMs
    connection.start(this)
  }

  onWrite(): void {
    this.sink.onWrite?.()
  }

  pause(): void {
    if (this.#isOver) return
    this.isPaused = true
    this.#connection?.pause()
  }

  resume(): void {
    if (this.#isOver || !this.isPaused) return
    this.isPaused = false
    this.#connection?.resume()
  }

  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection?.destroy()
  }

  complete(): void {
    this.#isOver = true
    this.sink.onEnd()
  }

  fail(kind: FailureKind, message: string): void {
    if (this.#isOver) return
    if (kind === 'reset' && !this.hasResponse && performance.now() < this.#staleUntil) {
      this.#reopen(this)
      return
    }
    this.#isOver = true
    this.sink.onFail({ kind, message, sent: this.isSent, hasResponse: this.hasResponse })
  }
}
