/**
 * The HTTP/1.1 client of the hot path: what relaying to an upstream needs, and nothing else. No redirects, no
 * decompression (content-coding.ts), no cookies; a proxy only where the origin names one; one object per exchange, nothing copied that need not be.
 * Certificates are verified, addresses are guarded at each connection, and answers are read strictly.
 */
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { forbiddenReason, guardedLookup, type AddressResolver, type Cidr } from '../address-guard.ts'
import { Connection, type Surroundings } from './connection.ts'
import { RunningExchange, type AnswerHandler, type Exchange } from './exchange.ts'
import { Pool } from './connection-pool.ts'
import { checkPath, type OutgoingRequest } from './request.ts'

export type { AnswerHandler, Exchange } from './exchange.ts'
export type { ConnectionFailure, FailureKind } from './failure.ts'
export type { AnswerHeaders } from './response-head.ts'
export { headerLines, originOf, type HeaderLines, type Origin, type OutgoingRequest } from './request.ts'

export interface HttpClientOptions {
  /** Networks that may be called although they are not public. */
  readonly allow: readonly Cidr[]
  readonly maxIdlePerOrigin: number
  /** How long a connection may wait for its next request; less when the other side says so. */
  readonly idleMs: number
  /** For the head, interim heads included, and again for the trailers. */
  readonly maxHeadBytes: number
  /**
   * A kept connection that the other side had closed shows it within a round trip, and its request is sent again; when
   * it ends later than this, the request may have been worked on, and fails.
   */
  readonly staleWindowMs?: number
  /** Instead of the system's resolver; its answers are guarded all the same. */
  readonly resolve?: AddressResolver
  /** Certificate authorities (PEM) to trust instead of the built-in ones and NODE_EXTRA_CA_CERTS. */
  readonly authorities?: string
}

export const defaultBounds = {
  maxIdlePerOrigin: 256,
  idleMs: 30_000,
  maxHeadBytes: 65_536,
  staleWindowMs: 2000,
} as const

export class HttpClient {
  readonly #pool: Pool<Connection>
  readonly #around: Surroundings
  readonly #options: HttpClientOptions
  #open = 0
  #opened = 0
  #reused = 0
  #retried = 0

  constructor(options: HttpClientOptions) {
    this.#options = options
    const pool = new Pool<Connection>(options)
    this.#pool = pool
    this.#around = {
      lookup: guardedLookup(options.allow, options.resolve),
      secureContext: createSecureContext({ ca: options.authorities }),
      maxHeadBytes: options.maxHeadBytes,
      sessions: new Map(),
      onIdle: (connection, keepAliveMs) => pool.put(connection, keepAliveMs),
      onClose: (connection) => {
        this.#open -= 1
        pool.remove(connection)
      },
    }
  }

  /** Connections now (`open`, of which `idle`), and since the beginning: `opened`, taken again, retried as stale. */
  get stats(): { open: number; idle: number; opened: number; reused: number; retried: number } {
    return {
      open: this.#open,
      idle: this.#pool.idleCount,
      opened: this.#opened,
      reused: this.#reused,
      retried: this.#retried,
    }
  }

  /** @throws TypeError when the path has characters that a request line cannot carry */
  send(request: OutgoingRequest, handler: AnswerHandler): Exchange {
    checkPath(request)
    const exchange = new RunningExchange(request, handler, this.#retry)
    const connection = this.#pool.take(request.origin.key)
    if (connection === null) this.#openFor(exchange)
    else {
      this.#reused += 1
      exchange.reuse(connection, this.#options.staleWindowMs ?? defaultBounds.staleWindowMs)
    }
    return exchange
  }

  /** Closes what is idle and keeps nothing from now on; exchanges under way finish. */
  close(): void {
    this.#pool.close()
  }

  readonly #retry = (exchange: RunningExchange): void => {
    this.#retried += 1
    this.#openFor(exchange)
  }

  #openFor(exchange: RunningExchange): void {
    const { origin } = exchange.request
    for (const host of origin.proxy ? [origin.proxy.host, origin.host] : [origin.host]) {
      const reason = isIP(host) === 0 ? null : forbiddenReason(host, this.#options.allow)
      if (reason === null) continue
      process.nextTick(() => exchange.fail('forbidden_address', `${host} is ${reason}`))
      return
    }
    this.#open += 1
    this.#opened += 1
    exchange.open(new Connection(origin, this.#around, exchange))
  }
}
