/**
 * The caller's side of one request, as the relay sees it: no request or response object of any HTTP library, so that
 * the layer underneath can be exchanged. The room `http/` implements it.
 */
export interface CallerExchange {
  /** The caller has left, or nothing more can be sent. */
  readonly isGone: boolean
  /** Whether any byte of an answer has been sent. */
  readonly isBegun: boolean
  /** Told once, when the caller leaves before the answer has ended. */
  onGone: (() => void) | null
  /** Told when a `write` that answered false has gone out. */
  onDrain: (() => void) | null
  /** A whole answer: head and body in one write. */
  answer(status: number, headers: readonly string[], body: Buffer | string): void
  /** The head of a streamed answer. */
  begin(status: number, headers: readonly string[]): void
  /** Bytes of a streamed answer; taken in before it returns. False: wait for `onDrain`. */
  write(bytes: Buffer): boolean
  /** The end of a streamed answer. */
  end(): void
  /** Breaks the connection. */
  destroy(): void
}
