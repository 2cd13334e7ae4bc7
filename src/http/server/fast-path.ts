/**
 * The fast lane: connections are read and written here, without node:http, as long as they bring nothing but regular
 * chat requests. Everything else, and every doubt, is node:http's, which takes the connection over as it is.
 * Why: docs/decisions/0010-a-fast-lane-beside-node-http.md.
 */
import type { Server, Socket } from 'node:net'
import type { Arrival } from '../incoming-request.ts'
import { lingerMs, stallMs } from '../body.ts'
import { FastConnection, type Lane, type LaneTerms } from '../fast-connection.ts'
import type { FastExchange } from '../fast-exchange.ts'

const usualTerms: LaneTerms = {
  idleMs: 75_000,
  headMs: 60_000,
  stallMs,
  lingerMs,
  slowMs: 60_000,
  sweepMs: 1000,
}

export class FastLane implements Lane {
  readonly terms: LaneTerms
  readonly keepAlive: string
  readonly receive: (arrival: Arrival) => void
  readonly handOver: (socket: Socket) => void
  readonly #server: Server
  readonly #connections = new Set<FastConnection>()
  readonly #sweeping: NodeJS.Timeout
  #date: string | null = null
  #toFlush: FastExchange[] = []
  nowMs = performance.now()
  isClosing = false

  /** Takes the new connections of a server of node:http, which gets back what is not for the lane. */
  constructor(server: Server, receive: (arrival: Arrival) => void, terms: Partial<LaneTerms> = {}) {
    this.terms = { ...usualTerms, ...terms }
    this.receive = receive
    this.#server = server
    this.keepAlive = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(this.terms.idleMs / 1000)}\r\n`
    const [takeOver] = server.listeners('connection')
    if (!takeOver) throw new Error('The server takes no connections.')
    this.handOver = (socket) => Reflect.apply(takeOver, server, [socket])
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => this.#connections.add(new FastConnection(socket, this)))
    server.on('close', () => clearInterval(this.#sweeping))
    // One timer for all connections: thousands of idle ones cost next to nothing.
    this.#sweeping = setInterval(() => this.#sweep(), this.terms.sweepMs)
    this.#sweeping.unref()
  }

  /** The connections that are not node:http's. */
  get size(): number {
    return this.#connections.size
  }

  get date(): string {
    return (this.#date ??= `date: ${new Date().toUTCString()}\r\n`)
  }

  /** Closes the connections that wait for a request, and the others after their answer. */
  closeIdle(): void {
    this.isClosing = true
    for (const connection of this.#connections) connection.closeIfIdle()
  }

  refuse(socket: Socket, code: string): void {
    const error = Object.assign(new Error('The head of a request did not come.'), { code })
    this.#server.emit('clientError', error, socket)
  }

  leave(connection: FastConnection): void {
    this.#connections.delete(connection)
  }

  flushSoon(exchange: FastExchange): void {
    if (this.#toFlush.push(exchange) === 1) process.nextTick(this.#flush)
  }

  readonly #flush = (): void => {
    const exchanges = this.#toFlush
    this.#toFlush = []
    for (const exchange of exchanges) exchange.flush()
  }

  #sweep(): void {
    this.nowMs = performance.now()
    this.#date = null
    for (const connection of this.#connections) connection.sweep()
  }
}
