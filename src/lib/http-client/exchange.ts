/**
 * One exchange: what the caller holds while its answer comes, and what the connection reports to.
 * A kept connection that the other side had closed already is replaced once, so that nobody notices.
 */
import type { Connection, Load } from './connection.ts'
import type { ConnectionFailure, FailureKind } from './failure.ts'
import type { AnswerSink } from './response-parser.ts'
import type { OutgoingRequest } from './request.ts'

/**
 * Told about one answer: `onHead` once, then `onData` any number of times, then `onEnd`; or `onFail`, at any point and
 * only once. Chunks are views into a buffer that is read into again: copy what is kept. Never called from within `send`.
 */
export interface AnswerHandler extends AnswerSink {
  /** The whole answer came, exactly as framed. */
  onEnd(): void
  onFail(failure: ConnectionFailure): void
}

export interface Exchange {
  /** Stops reading, so that the other side has to wait; what is read already (up to 64 KiB) is still told. */
  pause(): void
  resume(): void
  /** Closes the connection now; nothing is told any more. */
  destroy(): void
}

/** One request and its answer, over one connection or, when the first was stale, two. */
export class RunningExchange implements Exchange, Load {
  readonly request: OutgoingRequest
  readonly sink: AnswerHandler
  isPaused = false
  isSent = false
  isAnswered = false
  readonly #reopen: (exchange: RunningExchange) => void
  #connection: Connection | null = null
  /** In milliseconds of `performance.now()`; 0 for a fresh connection. */
  #staleUntil = 0
  #isOver = false

  constructor(request: OutgoingRequest, handler: AnswerHandler, reopen: (exchange: RunningExchange) => void) {
    this.request = request
    this.sink = handler
    this.#reopen = reopen
  }

  /** Goes over a connection that was opened for it. */
  open(connection: Connection): void {
    this.#connection = connection
    this.#staleUntil = 0
  }

  /** Goes over a connection that carried others before; its end within this time means that it was stale. */
  reuse(connection: Connection, staleWindowMs: number): void {
    this.#connection = connection
    this.#staleUntil = performance.now() + staleWindowMs
    connection.carry(this)
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
    this.#connection?.drop()
  }

  complete(): void {
    this.#isOver = true
    this.sink.onEnd()
  }

  fail(kind: FailureKind, message: string): void {
    if (this.#isOver) return
    if (kind === 'reset' && !this.isAnswered && performance.now() < this.#staleUntil) {
      this.#reopen(this)
      return
    }
    this.#isOver = true
    this.sink.onFail({ kind, message, sent: this.isSent, answered: this.isAnswered })
  }
}
