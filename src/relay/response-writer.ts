/** Writes the response to a caller, independent of any HTTP library. Implemented in `http/server/`. */
export interface ResponseWriter {
  /** The caller has disconnected before the end of the response. */
  readonly isDisconnected: boolean
  /** The head of the response has been written. */
  readonly isStarted: boolean
  /** Called once, if the caller disconnects before the end of the response. */
  onDisconnect: (() => void) | null
  /** Called when the bytes of a `write` that returned false have been sent. */
  onDrain: (() => void) | null
  /** Sends a non-streaming response: head and body in one write. */
  send(status: number, headers: readonly string[], body: Buffer | string): void
  /** Starts a streaming response. */
  start(status: number, headers: readonly string[]): void
  /** Writes bytes of a streaming response; they may be changed when it returns. False: wait for `onDrain`. */
  write(bytes: Buffer): boolean
  /** Ends a streaming response. */
  end(): void
  /** Ends a streaming response as incomplete: closes the connection soon after everything written has been sent. */
  abort(): void
  /** Destroys the connection. */
  destroy(): void
}
