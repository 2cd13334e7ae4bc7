/**
 * Writes and frames a response on the fast path. A non-streaming response is one write; a stream is one write per turn
 * of the event loop, including its head and its end.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ResponseWriter } from '../../relay/response-writer.ts'

/** Larger bodies are not worth copying. */
const maxJoinedBytes = 65_536
/** A stream that writes more than this in one turn is flushed within it. */
const maxBufferedBytes = 16_384
/**
 * How long after its last event an incomplete stream is cut. Clients that read with `fetch` lose what they have not yet
 * read when the connection breaks, and need this event.
 */
export const abortDelayMs = 100
const lastChunk = '0\r\n\r\n'
const invalidInValue = /[^\t\x20-\x7e\x80-\xff]/

/** Shared by the responses of all connections. */
export interface ResponseContext {
  /** Header lines that are the same in all responses for a while. */
  readonly date: string
  readonly keepAlive: string
  /** Calls `flush` at the end of this turn of the event loop. */
  flushSoon(response: FastResponseWriter): void
}

/** The connection of a request and its response. */
export interface CallerConnection {
  readonly socket: Socket
  readonly context: ResponseContext
  /** The whole request has been received; an earlier response is the connection's last. */
  readonly isRequestComplete: boolean
  respond(commonHeaders: readonly string[]): ResponseWriter
  /** `isLast`: the response announced that the connection closes. */
  responseEnded(isLast: boolean): void
  linger(): void
}

export class FastResponseWriter implements ResponseWriter {
  readonly #connection: CallerConnection
  readonly #commonHeaders: readonly string[]
  /** To be sent with the next write, as Latin-1. */
  #buffered = ''
  #isEnded = false
  #isLast = false
  #isAwaitingDrain = false
  isDisconnected = false
  isStarted = false
  onDisconnect: (() => void) | null = null
  onDrain: (() => void) | null = null

  /** `commonHeaders`: headers of every response, as a flat list. */
  constructor(connection: CallerConnection, commonHeaders: readonly string[]) {
    this.#connection = connection
    this.#commonHeaders = commonHeaders
  }

  send(status: number, headers: readonly string[], body: Buffer | string): void {
    if (this.isDisconnected || this.isStarted) return
    const { socket } = this.#connection
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const head = this.#formatHead(status, headers, `content-length: ${bytes.length}\r\n\r\n`)
    this.isStarted = true
    this.#isEnded = true
    if (bytes.length <= maxJoinedBytes) socket.write(head + bytes.toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(bytes)
      socket.uncork()
    }
    this.#connection.responseEnded(this.#isLast)
  }

  start(status: number, headers: readonly string[]): void {
    if (this.isDisconnected || this.isStarted) return
    this.#append(this.#formatHead(status, headers, 'transfer-encoding: chunked\r\n\r\n'))
    this.isStarted = true
  }

  write(bytes: Buffer): boolean {
    // An empty chunk would end the response.
    if (this.isDisconnected || this.#isEnded || bytes.length === 0) return true
    this.#append(`${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`)
    if (this.#buffered.length > maxBufferedBytes) this.flush()
    this.#isAwaitingDrain = this.#connection.socket.writableNeedDrain
    return !this.#isAwaitingDrain
  }

  end(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.#isEnded = true
    this.#buffered += lastChunk
    this.flush()
    this.#connection.responseEnded(this.#isLast)
  }

  abort(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.#isEnded = true
    this.flush()
    setTimeout(() => this.#connection.responseEnded(true), abortDelayMs)
  }

  destroy(): void {
    if (!this.#isEnded) this.#connection.socket.destroy()
  }

  /** Writes what is buffered. */
  flush(): void {
    if (this.#buffered === '' || this.isDisconnected) return
    this.#connection.socket.write(this.#buffered, 'latin1')
    this.#buffered = ''
  }

  /** Called when the socket has sent everything. */
  onSocketDrain(): void {
    if (!this.#isAwaitingDrain) return
    this.#isAwaitingDrain = false
    this.onDrain?.()
  }

  /** Called when the caller has disconnected before the end. */
  onSocketClose(): void {
    if (this.isDisconnected || this.#isEnded) return
    this.isDisconnected = true
    this.onDisconnect?.()
  }

  #append(text: string): void {
    if (this.#buffered === '') this.#connection.context.flushSoon(this)
    this.#buffered += text
  }

  #formatHead(status: number, headers: readonly string[], framing: string): string {
    const { date, keepAlive } = this.#connection.context
    this.#isLast = !this.#connection.isRequestComplete
    const lines = this.#formatHeaders(headers) + this.#formatHeaders(this.#commonHeaders)
    const connectionHeaders = this.#isLast ? 'connection: close\r\n' : keepAlive
    return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}${date}${connectionHeaders}${framing}`
  }

  #formatHeaders(headers: readonly string[]): string {
    let lines = ''
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] ?? ''
      const value = headers[i + 1] ?? ''
      if (invalidInValue.test(value))
        throw new Error(`Invalid characters in the value of the header ${name}.`)
      if (name === 'connection') this.#isLast ||= value === 'close'
      else lines += `${name}: ${value}\r\n`
    }
    return lines
  }
}
