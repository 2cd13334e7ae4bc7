/**
 * The fast path: reads and writes connections directly, without node:http, as long as they carry only plain
 * requests of operations. At anything else, and whenever in doubt, node:http takes over the connection.
 * Why: docs/decisions/0010-fast-path-in-front-of-node-http.md.
 */
import type { Server, Socket } from 'node:net'
import type { IncomingRequest } from '../incoming-request.ts'
import { maxBodyMs } from '../body.ts'
import { FastConnection, type FastPathContext, type FastPathOptions } from './fast-connection.ts'
import type { FastResponseWriter } from './fast-response-writer.ts'
import { lingerMs } from './lingering-close.ts'

/** The maximum time for a request's head to arrive. */
export const headTimeoutMs = 60_000

const defaultOptions: FastPathOptions = {
  idleTimeoutMs: 75_000,
  headTimeoutMs,
  maxSendMs: maxBodyMs,
  lingerMs,
  writeTimeoutMs: 60_000,
  sweepIntervalMs: 1000,
}

export class FastPath implements FastPathContext {
  readonly options: FastPathOptions
  readonly keepAlive: string
  readonly handleRequest: (request: IncomingRequest) => void
  readonly fallbackToNode: (socket: Socket) => void
  readonly #server: Server
  readonly #connections = new Set<FastConnection>()
  readonly #sweepTimer: NodeJS.Timeout
  #date: string | null = null
  #pendingFlush: FastResponseWriter[] = []
  nowMs = performance.now()
  isClosing = false

  /** Takes the new connections of a server of node:http, and passes unsupported ones back to it. */
  constructor(
    server: Server,
    handleRequest: (request: IncomingRequest) => void,
    options: Partial<FastPathOptions> = {},
  ) {
    this.options = { ...defaultOptions, ...options }
    this.handleRequest = handleRequest
    this.#server = server
    this.keepAlive = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(this.options.idleTimeoutMs / 1000)}\r\n`
    const [nodeListener] = server.listeners('connection')
    if (!nodeListener) throw new Error('The server has no connection listener.')
    this.fallbackToNode = (socket) => Reflect.apply(nodeListener, server, [socket])
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => this.#connections.add(new FastConnection(socket, this)))
    server.on('close', () => clearInterval(this.#sweepTimer))
    // One timer for all connections: thousands of idle ones cost next to nothing.
    this.#sweepTimer = setInterval(() => this.#sweep(), this.options.sweepIntervalMs)
    this.#sweepTimer.unref()
  }

  /** The number of connections on the fast path. */
  get size(): number {
    return this.#connections.size
  }

  get date(): string {
    return (this.#date ??= `date: ${new Date().toUTCString()}\r\n`)
  }

  /** Closes idle connections now, and the others after their response. */
  closeIdle(): void {
    this.isClosing = true
    for (const connection of this.#connections) connection.closeIfIdle()
  }

  rejectHead(socket: Socket, code: string): void {
    const error = Object.assign(new Error('Incomplete request head.'), { code })
    this.#server.emit('clientError', error, socket)
  }

  removeConnection(connection: FastConnection): void {
    this.#connections.delete(connection)
  }

  flushSoon(response: FastResponseWriter): void {
    if (this.#pendingFlush.push(response) === 1) setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    const responses = this.#pendingFlush
    this.#pendingFlush = []
    for (const response of responses) response.flush()
  }

  #sweep(): void {
    this.nowMs = performance.now()
    this.#date = null
    for (const connection of this.#connections) connection.sweep()
  }
}
