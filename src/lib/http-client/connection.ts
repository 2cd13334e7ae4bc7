/**
 * One connection to an origin and the exchange that it carries, if any. Plain sockets are read into one buffer that
 * all connections share (a read ends before the next one begins), so reading allocates nothing.
 * A connection is reused only if the last response ended exactly where its framing said.
 */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { classifyFailure, type FailureKind, type ConnectionStage } from './failure.ts'
import { ResponseParser, type ResponseSink } from './response-parser.ts'
import { writeRequest, type Origin, type OutgoingRequest } from './request.ts'
import type { Proxy } from './proxy.ts'
import { openTunnel } from './tunnel.ts'

/** An exchange in progress, as its connection sees it. */
export interface PendingExchange {
  readonly request: OutgoingRequest
  readonly sink: ResponseSink
  readonly isPaused: boolean
  isSent: boolean
  /** The request is being written to a connected socket. */
  onWrite(): void
  hasResponse: boolean
  /** The response is complete; the connection is already free for another request. */
  complete(): void
  fail(kind: FailureKind, message: string): void
}

/** State that all connections of a client share. */
export interface ConnectionContext {
  readonly lookup: LookupFunction
  readonly secureContext: SecureContext
  readonly maxHeadBytes: number
  /** The last TLS session of each origin, for resumption. */
  readonly sessions: Map<string, Buffer>
  onIdle(connection: Connection, keepAliveMs: number): void
  onClose(connection: Connection): void
}

const maxSessions = 256

const readBytes = 32_768
const sharedBuffer = Buffer.allocUnsafeSlow(readBytes)

const socketOptions = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 30_000,
  autoSelectFamily: true,
  // After this time Node tries the next address of the name; its default is close to the round trip of a slow line.
  autoSelectFamilyAttemptTimeout: 1000,
}

/**
 * Requests of this turn of the event loop. They are written at its end, in one burst, which wakes the receiver once:
 * docs/decisions/0055-requests-in-bursts.md.
 */
let unwritten: [Connection, PendingExchange][] = []

function writeAll(): void {
  const requests = unwritten
  unwritten = []
  for (const [connection, exchange] of requests) connection.write(exchange)
}

export class Connection {
  readonly originKey: string
  readonly #origin: Origin
  expiresAt = 0
  readonly #context: ConnectionContext
  /** While a tunnel is being opened, the socket to the proxy. */
  #socket: Socket
  readonly #parser: ResponseParser
  #exchange: PendingExchange | null
  #stage: ConnectionStage = 'connecting'
  #connectTimer: NodeJS.Timeout | null

  /** Opens a connection for its first request. */
  constructor(origin: Origin, context: ConnectionContext, exchange: PendingExchange) {
    this.originKey = origin.key
    this.#origin = origin
    this.#context = context
    this.#exchange = exchange
    this.#parser = new ResponseParser(context.maxHeadBytes)
    this.#connectTimer = setTimeout(
      () => this.#fail('timeout', 'the connection timed out'),
      exchange.request.connectTimeoutMs,
    )
    if (origin.proxy) this.#socket = this.#openTunnel(origin.proxy)
    else this.#socket = origin.tls ? this.#openTls() : this.#openPlain()
    this.#addListeners(this.#socket)
  }

  #addListeners(socket: Socket): void {
    socket.on('end', () => {
      if (socket === this.#socket) this.#onEnd()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#fail(classifyFailure(error, this.#stage), error.message || (error.code ?? 'connection error'))
    })
    socket.on('close', () => {
      if (socket !== this.#socket) return
      this.#failClosed()
      this.#context.onClose(this)
    })
  }

  /** Whether it can carry another request; a destroyed socket may not have emitted its `close` event yet. */
  get isUsable(): boolean {
    return !this.#socket.destroyed
  }

  /** Sends the next request over this connection. */
  start(exchange: PendingExchange): void {
    this.#exchange = exchange
    this.#socket.ref()
    this.#send(exchange)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes immediately, without notifying the exchange. */
  destroy(): void {
    this.#exchange = null
    this.#parser.stop()
    this.#clearTimer()
    this.#socket.destroy()
  }

  #openPlain(): Socket {
    const { host, port } = this.#origin
    // On Windows a pending read owns its buffer, so each connection needs its own.
    const buffer = process.platform === 'win32' ? Buffer.allocUnsafeSlow(readBytes) : sharedBuffer
    const socket = connect({
      ...socketOptions,
      host,
      port,
      lookup: this.#context.lookup,
      onread: {
        buffer,
        callback: (bytesRead) => {
          this.#onBytes(buffer, bytesRead)
          return true
        },
      },
    })
    socket.on('connect', () => this.#onOpen())
    return socket
  }

  /** Connects through a proxy. Each read allocates a buffer, which is acceptable for proxied requests. */
  #openTunnel(proxy: Proxy): Socket {
    const { lookup, secureContext } = this.#context
    const tunnel = openTunnel({ proxy, target: this.#origin, lookup, secureContext }, () => {
      if (this.#origin.tls) {
        this.#socket = this.#openTls(tunnel)
        this.#stage = 'securing'
        this.#addListeners(this.#socket)
        return
      }
      tunnel.on('data', (bytes: Buffer) => this.#onBytes(bytes, bytes.length))
      this.#onOpen()
    })
    return tunnel
  }

  /** `inside`: the tunnel to use instead of a new socket. */
  #openTls(inside?: Socket): TLSSocket {
    const { host, port, key } = this.#origin
    const { sessions, secureContext, lookup } = this.#context
    const socket = connectTls({
      ...(inside ? { socket: inside } : { ...socketOptions, host, port, lookup }),
      secureContext,
      servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
      ALPNProtocols: ['http/1.1'],
      session: sessions.get(key),
    })
    socket.on('connect', () => {
      this.#stage = 'securing'
    })
    socket.on('secureConnect', () => this.#onOpen())
    // Emitted only after the certificate was verified; a resumed session skips the check of the name.
    socket.on('session', (session) => this.#cacheSession(session))
    socket.on('data', (bytes: Buffer) => this.#onBytes(bytes, bytes.length))
    return socket
  }

  #cacheSession(session: Buffer): void {
    const { sessions } = this.#context
    sessions.delete(this.originKey)
    sessions.set(this.originKey, session)
    const oldest = sessions.keys().next()
    if (sessions.size > maxSessions && oldest.done !== true) sessions.delete(oldest.value)
  }

  #onOpen(): void {
    this.#stage = 'open'
    this.#clearTimer()
    if (this.#exchange !== null) this.#send(this.#exchange)
  }

  #send(exchange: PendingExchange): void {
    if (exchange.isPaused) this.#socket.pause()
    this.#parser.begin(exchange.request.method, exchange.sink)
    if (unwritten.push([this, exchange]) === 1) setImmediate(writeAll)
  }

  /** Writes the request, unless it has ended in the meantime. */
  write(exchange: PendingExchange): void {
    if (this.#exchange !== exchange) return
    exchange.isSent = true
    exchange.onWrite()
    writeRequest(this.#socket, exchange.request)
  }

  #onBytes(bytes: Buffer, end: number): void {
    const exchange = this.#exchange
    // Unsolicited bytes: nothing that follows can be attributed to a request.
    if (exchange === null) return this.destroy()
    if (!exchange.isSent) return this.#fail('reset', 'the server sent bytes before the request')
    exchange.hasResponse = true
    switch (this.#parser.feed(bytes, end)) {
      case 'complete':
        return this.#complete(exchange)
      case 'malformed':
        return this.#fail('malformed', `the response is malformed: ${this.#parser.problem ?? ''}`)
      case 'more':
      case 'stopped':
    }
  }

  #onEnd(): void {
    if (this.#exchange !== null && this.#parser.finish()) this.#complete(this.#exchange)
    else this.#failClosed()
  }

  #complete(exchange: PendingExchange): void {
    this.#exchange = null
    this.#parser.stop()
    // If the response arrived before the request was fully written, the rest of the request still occupies the socket.
    if (this.#parser.isReusable && this.#socket.writableLength === 0) {
      if (exchange.isPaused) this.#socket.resume()
      this.#socket.unref()
      this.#context.onIdle(this, this.#parser.keepAliveMs)
    } else this.destroy()
    exchange.complete()
  }

  #failClosed(): void {
    if (this.#stage === 'securing') this.#fail('tls', 'the connection was closed during the TLS handshake')
    else this.#fail('reset', 'the connection was closed before the response was complete')
  }

  #fail(kind: FailureKind, message: string): void {
    const exchange = this.#exchange
    this.destroy()
    exchange?.fail(kind, message)
  }

  #clearTimer(): void {
    if (this.#connectTimer !== null) clearTimeout(this.#connectTimer)
    this.#connectTimer = null
  }
}
