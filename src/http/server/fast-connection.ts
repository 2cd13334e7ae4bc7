/**
 * A connection of the fast path. It serves one request after the other. At the first one that the fast path does not
 * support, the connection is passed to node:http for good.
 */
import type { Socket } from 'node:net'
import type { ResponseWriter } from '../../relay/response-writer.ts'
import { FastRequest } from './fast-request.ts'
import { FastResponseWriter, type CallerConnection, type ResponseContext } from './fast-response-writer.ts'
import { RequestHead } from './request-head.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { bodyAbortedError } from '../body.ts'
import { lingerBytes, lingerMsWhenClosing } from './lingering-close.ts'

/** How much of pipelined requests is buffered while another is served. */
const maxPendingBytes = 65_536
/** A connection stays open for this much longer than announced, so that a request that is already sent still arrives. */
const graceMs = 1000

export interface FastPathOptions {
  /** An idle connection is closed after this time. */
  readonly idleTimeoutMs: number
  /** The maximum time for a request's head to arrive. */
  readonly headTimeoutMs: number
  /** How long it may take to send what remains of a response. */
  readonly maxSendMs: (bytes: number) => number
  /** How long a caller may take to close the connection after an early response. */
  readonly lingerMs: number
  /** A response is abandoned if the caller reads nothing of it for this time. */
  readonly writeTimeoutMs: number
  /** How often the timeouts are checked. */
  readonly sweepIntervalMs: number
}

/** Shared by all connections. */
export interface FastPathContext extends ResponseContext {
  readonly options: FastPathOptions
  readonly nowMs: number
  readonly isClosing: boolean
  handleRequest(request: IncomingRequest): void
  /** Passes the connection to node:http. */
  fallbackToNode(socket: Socket): void
  /** Responds to an invalid head as node:http does. */
  rejectHead(socket: Socket, code: string): void
  removeConnection(connection: FastConnection): void
}

/** `done`: closed, closing or passed to node:http. */
type ConnectionState = 'idle' | 'serving' | 'lingering' | 'done'

export class FastConnection implements CallerConnection {
  readonly socket: Socket
  readonly context: FastPathContext
  #state: ConnectionState = 'idle'
  #sinceMs: number
  /** Received bytes that belong to no request yet. */
  #pending: Buffer | null = null
  #request: FastRequest | null = null
  #response: FastResponseWriter | null = null
  #isReadingHeads = false
  #isFirst = true
  #lingeredBytes = 0

  constructor(socket: Socket, context: FastPathContext) {
    this.socket = socket
    this.context = context
    this.#sinceMs = context.nowMs
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    socket.on('error', this.#onError)
    socket.on('drain', this.#onDrain)
    socket.on('timeout', this.#onTimeout)
  }

  get isRequestComplete(): boolean {
    return this.#request?.isComplete !== false
  }

  respond(commonHeaders: readonly string[]): ResponseWriter {
    this.#response = new FastResponseWriter(this, commonHeaders)
    return this.#response
  }

  responseEnded(isLast: boolean): void {
    this.#response = null
    this.#sinceMs = this.context.nowMs
    if (!this.isRequestComplete) {
      this.linger()
      return
    }
    this.#request = null
    if (isLast || this.context.isClosing) {
      this.#closeSoon()
      return
    }
    this.#state = 'idle'
    if (this.socket.writableLength > 0) this.socket.setTimeout(this.context.options.writeTimeoutMs)
    if (this.#pending) this.#readHeads()
  }

  linger(): void {
    if (this.#state !== 'serving') return
    this.#state = 'lingering'
    // The time limit starts when the response has been sent.
    this.socket.end(() => (this.#sinceMs = this.context.nowMs))
    this.socket.resume()
  }

  /** Closes the connection unless a request is under way. On a new connection, the first is assumed to be. */
  closeIfIdle(): void {
    const { nowMs, options } = this.context
    // Both times are from a sweep, so the age is up to one interval too high.
    if (this.#isFirst && nowMs - this.#sinceMs < graceMs + options.sweepIntervalMs) return
    if (this.#state === 'idle' && this.#pending === null) this.#closeSoon()
  }

  /** Checks the timeouts, about once a second. */
  sweep(): void {
    const { nowMs, options, isClosing } = this.context
    const ageMs = nowMs - this.#sinceMs
    const unsent = this.socket.writableLength
    const maxLingerMs = isClosing ? lingerMsWhenClosing : options.lingerMs
    // What the client sends extends the write timeout, but not this one.
    const maxMs = unsent > 0 ? options.writeTimeoutMs + options.maxSendMs(unsent) : maxLingerMs
    if (this.#state === 'serving') this.#request?.checkTime(nowMs)
    else if (this.#state === 'idle' && unsent === 0) this.#sweepIdle(ageMs)
    else if (ageMs > maxMs) this.socket.destroy()
  }

  #sweepIdle(ageMs: number): void {
    const { options } = this.context
    const maxMs = this.#isFirst ? options.headTimeoutMs : options.idleTimeoutMs + graceMs
    if (this.#pending && ageMs > options.headTimeoutMs) this.#rejectHead('ERR_HTTP_REQUEST_TIMEOUT')
    else if (ageMs > maxMs) this.#closeSoon()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#state === 'idle') this.#receiveHead(bytes)
    else if (this.#state === 'serving') this.#receiveBody(bytes)
    else if (this.#state === 'lingering') this.#discard(bytes)
  }

  #receiveHead(bytes: Buffer): void {
    if (this.#pending === null) this.#sinceMs = this.context.nowMs
    this.#appendPending(bytes)
    this.#readHeads()
  }

  #appendPending(bytes: Buffer): void {
    this.#pending = this.#pending === null ? bytes : Buffer.concat([this.#pending, bytes])
  }

  /** A loop, not a recursion: responses to pipelined requests may be sent synchronously. */
  #readHeads(): void {
    if (this.#isReadingHeads) return
    const { socket } = this
    this.#isReadingHeads = true
    while (this.#state === 'idle' && this.#pending !== null && this.#readHead(this.#pending));
    this.#isReadingHeads = false
    if (this.#state !== 'idle') return
    if (socket.writableNeedDrain) socket.pause()
    else if (socket.isPaused()) socket.resume()
  }

  /** False: no head could be read; more bytes or a drain are needed, or node:http has taken over. */
  #readHead(bytes: Buffer): boolean {
    // Unread responses must not accumulate.
    if (this.socket.writableNeedDrain) return false
    const head = new RequestHead()
    const result = head.parse(bytes)
    if (result === 'partial') return false
    if (result === 'unsupported') {
      this.#fallbackToNode(bytes)
      return false
    }
    if (this.socket.timeout) this.socket.setTimeout(0)
    this.#isFirst = false
    this.#pending = null
    this.#state = 'serving'
    const request = new FastRequest(head, this)
    this.#request = request
    this.#receiveBody(bytes.subarray(head.end))
    this.context.handleRequest(request)
    if (this.#state === 'serving' && !request.isComplete && !request.isReading) this.socket.pause()
    return true
  }

  #receiveBody(bytes: Buffer): void {
    this.#sinceMs = this.context.nowMs
    const receivedBytes = this.#request?.receive(bytes) ?? 0
    if (receivedBytes === bytes.length) return
    this.#appendPending(bytes.subarray(receivedBytes))
    if ((this.#pending?.length ?? 0) > maxPendingBytes) this.socket.pause()
  }

  #discard(bytes: Buffer): void {
    this.#lingeredBytes += bytes.length
    this.#request?.receive(bytes)
    if (this.isRequestComplete) this.socket.destroySoon()
    else if (this.#lingeredBytes > lingerBytes) this.socket.pause()
  }

  #fallbackToNode(bytes: Buffer): void {
    const { socket } = this
    this.#detach()
    socket.setTimeout(0)
    // Pause first: bytes that are unshifted into a flowing stream are only emitted when more arrive.
    socket.pause()
    socket.unshift(bytes)
    this.context.fallbackToNode(socket)
    socket.resume()
  }

  #detach(): void {
    const { socket } = this
    this.#state = 'done'
    this.#pending = null
    this.context.removeConnection(this)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    socket.off('error', this.#onError)
    socket.off('drain', this.#onDrain)
    socket.off('timeout', this.#onTimeout)
  }

  #rejectHead(code: string): void {
    this.context.rejectHead(this.socket, code)
    this.#closeSoon()
  }

  /** Closes the connection when everything written has been sent. */
  #closeSoon(): void {
    this.#state = 'done'
    this.#pending = null
    this.socket.setTimeout(this.context.options.writeTimeoutMs)
    this.socket.destroySoon()
  }

  /** A caller that half-closes before the response has ended counts as disconnected, as in node:http. */
  readonly #onEnd = (): void => {
    if (this.#state === 'idle' && this.#pending) this.#rejectHead('HPE_INVALID_EOF_STATE')
    else if (this.#state === 'serving') this.socket.destroy()
    else this.#closeSoon()
  }

  readonly #onClose = (): void => {
    this.#state = 'done'
    this.context.removeConnection(this)
    this.#request?.fail(bodyAbortedError)
    this.#response?.onSocketClose()
  }

  /** `close` follows every error. */
  readonly #onError = (): void => undefined

  readonly #onDrain = (): void => {
    if (this.#response) return this.#response.onSocketDrain()
    this.#sinceMs = this.context.nowMs
    this.#readHeads()
  }

  readonly #onTimeout = (): void => {
    if (this.socket.writableLength > 0 || this.#state === 'done') this.socket.destroy()
  }
}
