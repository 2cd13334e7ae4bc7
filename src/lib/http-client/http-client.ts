/**
 * The HTTP/1.1 client of the hot path, with only what relaying to an upstream needs: no redirects, no decompression
 * (see content-encoding.ts), no cookies; a proxy only if the origin names one; one object per exchange and as few
 * copies as possible. Certificates are verified, addresses are checked at each connection, and responses are parsed strictly.
 */
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { forbiddenReason, createGuardedLookup, type AddressResolver, type Cidr } from '../address-guard.ts'
import { Connection, type ConnectionContext } from './connection.ts'
import { HttpExchange, type ResponseHandler, type Exchange } from './exchange.ts'
import { ConnectionPool, type ConnectionPoolBounds } from './connection-pool.ts'
import { validatePath, type OutgoingRequest } from './request.ts'

export type { ResponseHandler, Exchange } from './exchange.ts'
export type { ConnectionFailure, FailureKind } from './failure.ts'
export type { ResponseHeaders } from './response-head.ts'
export {
  encodeHeaders,
  parseOrigin,
  type EncodedHeaders,
  type Origin,
  type OutgoingRequest,
} from './request.ts'

export interface HttpClientOptions extends ConnectionPoolBounds {
  /** Private networks that may be called. */
  readonly allow: readonly Cidr[]
  /** For the response head including interim responses, and again for the trailers. */
  readonly maxHeadBytes: number
  /**
   * If a reused connection turns out to be closed within this time, it was stale and the request is sent again. If it
   * closes later, the server may have processed the request, so the exchange fails.
   */
  readonly staleWindowMs?: number
  /** Replaces the system's resolver; its addresses are checked as well. */
  readonly resolve?: AddressResolver
  /** Certificate authorities (PEM) to trust instead of the built-in ones and NODE_EXTRA_CA_CERTS. */
  readonly authorities?: string
}

export const defaultClientBounds = {
  maxIdlePerOrigin: 256,
  idleMs: 30_000,
  maxHeadBytes: 65_536,
  staleWindowMs: 2000,
} as const

export class HttpClient {
  readonly #pool: ConnectionPool<Connection>
  readonly #context: ConnectionContext
  readonly #options: HttpClientOptions
  #open = 0
  #opened = 0
  #reused = 0
  #retried = 0

  constructor(options: HttpClientOptions) {
    this.#options = options
    const pool = new ConnectionPool<Connection>(options)
    this.#pool = pool
    this.#context = {
      lookup: createGuardedLookup(options.allow, options.resolve),
      secureContext: createSecureContext({ ca: options.authorities }),
      maxHeadBytes: options.maxHeadBytes,
      sessions: new Map(),
      onIdle: (connection, keepAliveMs) => pool.release(connection, keepAliveMs),
      onClose: (connection) => {
        this.#open -= 1
        pool.remove(connection)
      },
    }
  }

  /** Connections now (`open`, of which `idle`) and totals since the start: `opened`, `reused`, and `retried` after a stale one. */
  get stats(): { open: number; idle: number; opened: number; reused: number; retried: number } {
    return {
      open: this.#open,
      idle: this.#pool.idleCount,
      opened: this.#opened,
      reused: this.#reused,
      retried: this.#retried,
    }
  }

  /** @throws TypeError if the path contains characters that are not allowed in a request line */
  send(request: OutgoingRequest, handler: ResponseHandler): Exchange {
    validatePath(request)
    const exchange = new HttpExchange(request, handler, this.#retry)
    const connection = this.#pool.acquire(request.origin.key)
    if (connection === null) this.#openConnection(exchange)
    else {
      this.#reused += 1
      exchange.reuse(connection, this.#options.staleWindowMs ?? defaultClientBounds.staleWindowMs)
    }
    return exchange
  }

  /** Closes idle connections and stops pooling; exchanges in progress finish. */
  close(): void {
    this.#pool.close()
  }

  readonly #retry = (exchange: HttpExchange): void => {
    this.#retried += 1
    this.#openConnection(exchange)
  }

  #openConnection(exchange: HttpExchange): void {
    const { origin } = exchange.request
    for (const host of origin.proxy ? [origin.proxy.host, origin.host] : [origin.host]) {
      const reason = isIP(host) === 0 ? null : forbiddenReason(host, this.#options.allow)
      if (reason === null) continue
      process.nextTick(() => exchange.fail('forbidden_address', `${host} is ${reason}`))
      return
    }
    this.#open += 1
    this.#opened += 1
    exchange.open(new Connection(origin, this.#context, exchange))
  }
}
