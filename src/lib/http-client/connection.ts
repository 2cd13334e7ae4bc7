/**
 * One connection to an origin, and the exchange that it carries, if any. Plain sockets are read into one buffer that
 * all connections share (a read is over before the next begins), so reading allocates nothing.
 * A connection is left to its next request only when the last answer ended exactly where it had to.
 */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { failureKind, type FailureKind, type Stage } from './failure.ts'
import { AnswerParser, type AnswerSink } from './response-parser.ts'
import { writeRequest, type Origin, type OutgoingRequest } from './request.ts'
import type { Proxy } from './proxy.ts'
import { openTunnel } from './tunnel.ts'

/** A request under way, as its connection sees it. */
export interface Load {
  readonly request: OutgoingRequest
  readonly sink: AnswerSink
  readonly isPaused: boolean
  isSent: boolean
  isAnswered: boolean
  /** The whole answer is here; the connection is already free for another request. */
  complete(): void
  fail(kind: FailureKind, message: string): void
}

/** What connections share. */
export interface Surroundings {
  readonly lookup: LookupFunction
  readonly secureContext: SecureContext
  readonly maxHeadBytes: number
  /** The last TLS session of each origin, to resume. */
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
  // After this, Node gives an address up when the name has more; its default is near a bad line's round trip.
  autoSelectFamilyAttemptTimeout: 1000,
}

export class Connection {
  readonly originKey: string
  readonly #origin: Origin
  expiresAt = 0
  readonly #around: Surroundings
  /** While a tunnel is being made, the socket to the proxy. */
  #socket: Socket
  readonly #parser: AnswerParser
  #load: Load | null
  #stage: Stage = 'connecting'
  #connectTimer: NodeJS.Timeout | null

  /** Opens a connection for its first request. */
  constructor(origin: Origin, around: Surroundings, load: Load) {
    this.originKey = origin.key
    this.#origin = origin
    this.#around = around
    this.#load = load
    this.#parser = new AnswerParser(around.maxHeadBytes)
    this.#connectTimer = setTimeout(
      () => this.#fail('timeout', 'connecting took too long'),
      load.request.connectTimeoutMs,
    )
    if (origin.proxy) this.#socket = this.#openTunnel(origin.proxy)
    else this.#socket = origin.tls ? this.#openTls() : this.#openPlain()
    this.#watch(this.#socket)
  }

  #watch(socket: Socket): void {
    socket.on('end', () => {
      if (socket === this.#socket) this.#onEnd()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#fail(failureKind(error, this.#stage), error.message || (error.code ?? 'connection error'))
    })
    socket.on('close', () => {
      if (socket !== this.#socket) return
      this.#failClosed()
      this.#around.onClose(this)
    })
  }

  /** Whether it can still be given a request: the event of its end may be on its way. */
  get isUsable(): boolean {
    return !this.#socket.destroyed
  }

  /** Gives the connection its next request. */
  carry(load: Load): void {
    this.#load = load
    this.#socket.ref()
    this.#send(load)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes at once and tells nobody. */
  drop(): void {
    this.#load = null
    this.#parser.stop()
    this.#clearTimer()
    this.#socket.destroy()
  }

  #openPlain(): Socket {
    const { host, port } = this.#origin
    // On Windows a read owns its buffer from its beginning, so there each connection needs its own.
    const buffer = process.platform === 'win32' ? Buffer.allocUnsafeSlow(readBytes) : sharedBuffer
    const socket = connect({
      ...socketOptions,
      host,
      port,
      lookup: this.#around.lookup,
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

  /** Through a proxy; reading from it takes a buffer of its own each time, which calls by proxy can bear. */
  #openTunnel(proxy: Proxy): Socket {
    const { lookup, secureContext } = this.#around
    const tunnel = openTunnel({ proxy, target: this.#origin, lookup, secureContext }, () => {
      if (this.#origin.tls) {
        this.#socket = this.#openTls(tunnel)
        this.#stage = 'securing'
        this.#watch(this.#socket)
        return
      }
      tunnel.on('data', (bytes: Buffer) => this.#onBytes(bytes, bytes.length))
      this.#onOpen()
    })
    return tunnel
  }

  /** `inside`: over this socket instead of one of its own. */
  #openTls(inside?: Socket): TLSSocket {
    const { host, port, key } = this.#origin
    const { sessions, secureContext, lookup } = this.#around
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
    // Told only when the certificate was found right: a resumed session is not asked for its name again.
    socket.on('session', (session) => this.#remember(session))
    socket.on('data', (bytes: Buffer) => this.#onBytes(bytes, bytes.length))
    return socket
  }

  #remember(session: Buffer): void {
    const { sessions } = this.#around
    sessions.delete(this.originKey)
    sessions.set(this.originKey, session)
    const oldest = sessions.keys().next()
    if (sessions.size > maxSessions && oldest.done !== true) sessions.delete(oldest.value)
  }

  #onOpen(): void {
    this.#stage = 'open'
    this.#clearTimer()
    if (this.#load !== null) this.#send(this.#load)
  }

  #send(load: Load): void {
    load.isSent = true
    if (load.isPaused) this.#socket.pause()
    this.#parser.begin(load.request.method, load.sink)
    writeRequest(this.#socket, load.request)
  }

  #onBytes(bytes: Buffer, end: number): void {
    const load = this.#load
    // An answer that nobody asked for: whatever comes next cannot be trusted to belong to a request.
    if (load === null) return this.drop()
    load.isAnswered = true
    switch (this.#parser.feed(bytes, end)) {
      case 'complete':
        return this.#complete(load)
      case 'malformed':
        return this.#fail('malformed', `the answer is malformed: ${this.#parser.problem ?? ''}`)
      case 'more':
      case 'stopped':
    }
  }

  #onEnd(): void {
    if (this.#load !== null && this.#parser.finish()) this.#complete(this.#load)
    else this.#failClosed()
  }

  #complete(load: Load): void {
    this.#load = null
    this.#parser.stop()
    // An answer that came before its request was written leaves the rest of the request in the way.
    if (this.#parser.isReusable && this.#socket.writableLength === 0) {
      if (load.isPaused) this.#socket.resume()
      this.#socket.unref()
      this.#around.onIdle(this, this.#parser.keepAliveMs)
    } else this.drop()
    load.complete()
  }

  #failClosed(): void {
    if (this.#stage === 'securing') this.#fail('tls', 'the connection was closed during the TLS handshake')
    else this.#fail('reset', 'the connection was closed before the answer was complete')
  }

  #fail(kind: FailureKind, message: string): void {
    const load = this.#load
    this.drop()
    load?.fail(kind, message)
  }

  #clearTimer(): void {
    if (this.#connectTimer !== null) clearTimeout(this.#connectTimer)
    this.#connectTimer = null
  }
}
