/**
 * WebSocket mode of the Responses API: the handshakes, which the router authenticates like any request, and all
 * connections of a worker. Why `ws`: docs/decisions/0047-websockets-with-ws.md.
 */
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer, type ServerOptions } from 'ws'
import type { Caller } from '../../accounts/directory.ts'
import { apiError } from '../../errors.ts'
import { BodyBudget, type BodyBounds } from '../body.ts'
import { endpointPath } from '../request-target.ts'
import type { Router } from '../router.ts'
import { lingerMs } from '../server/lingering-close.ts'
import { rejectMalformedRequest } from '../server/malformed-request.ts'
import { NodeRequest } from '../server/node-request.ts'
import {
  closeCodes,
  ResponsesConnection,
  type ConnectionContext,
  type ConnectionOptions,
} from './connection.ts'

const sweepIntervalMs = 1000
/** Per account and worker, so that one account cannot use up the connections of all. */
const maxPerAccount = 1000

export interface WebSocketsOptions extends BodyBounds, Pick<ConnectionOptions, 'slowClientMs'> {
  readonly maxAgeMs?: number
  readonly pingIntervalMs?: number
}

/** What connections need of the router. */
export type WebSocketRouter = Pick<Router, 'bodies' | 'handleRequest' | 'hasFunds'> &
  Pick<ConnectionContext, 'apiKeys'>

/** Whether a request is to become a WebSocket; all others that ask for an upgrade are ordinary requests. */
export function isWebSocketRequest({ method, url = '', headers }: IncomingMessage): boolean {
  const [path = ''] = url.split('?', 1)
  return (
    method === 'GET' &&
    endpointPath(path) === '/responses' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-key'] !== undefined
  )
}

/** The handshake: an ordinary request until the caller is known. */
class HandshakeRequest extends NodeRequest {
  readonly openWebSocket: (caller: Caller) => void

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, open: (caller: Caller) => void) {
    super(incoming, outgoing, () => true)
    this.openWebSocket = open
  }
}

export class WebSockets {
  readonly #router: WebSocketRouter
  readonly #context: ConnectionContext
  readonly #server: WebSocketServer
  readonly #connections = new Set<ResponsesConnection>()
  readonly #sweepTimer: NodeJS.Timeout
  #isClosing = false

  constructor(router: WebSocketRouter, options: WebSocketsOptions) {
    const { slowClientMs, maxAgeMs = 3_600_000, pingIntervalMs = 30_000 } = options
    this.#router = router
    this.#context = {
      options: { slowClientMs, maxAgeMs, pingIntervalMs },
      apiKeys: router.apiKeys,
      bodies: router.bodies,
      remembered: new BodyBudget(options),
      handleRequest: (request) => router.handleRequest(request),
      hasFunds: ({ caller }) => router.hasFunds(caller),
    }
    const serverOptions: ServerOptions & { closeTimeout: number } = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      // The connection answers pings: what it sends is bounded by what the client reads.
      autoPong: false,
      maxPayload: options.bodyLimitBytes,
      closeTimeout: lingerMs,
      // A client that offers protocols, such as browsers with a key in one, gets none of them.
      handleProtocols: () => false,
    }
    this.#server = new WebSocketServer(serverOptions)
    this.#server.on('wsClientError', rejectMalformedRequest)
    this.#sweepTimer = setInterval(() => this.#sweep(), sweepIntervalMs)
    this.#sweepTimer.unref()
  }

  /** Handles `upgrade` of node:http; never throws. */
  upgrade(incoming: IncomingMessage, duplex: Duplex, head: Buffer): void {
    const socket = duplex as Socket
    socket.on('error', () => socket.destroy())
    const outgoing = new ServerResponse(incoming)
    outgoing.shouldKeepAlive = false
    outgoing.assignSocket(socket)
    outgoing.on('finish', () => socket.destroySoon())
    const request = new HandshakeRequest(incoming, outgoing, (caller) => {
      if (this.#countOf(caller.accountId) >= maxPerAccount) {
        throw apiError('rate_limit_exceeded', { message: 'Too many open WebSockets. Close some of them.' })
      }
      outgoing.detachSocket(socket)
      const handshake = { peer: request.peer, header: request.header.bind(request) }
      this.#server.handleUpgrade(incoming, socket, head, (webSocket) => {
        const connection = new ResponsesConnection(webSocket, socket, { caller, handshake }, this.#context)
        this.#connections.add(connection)
        webSocket.on('close', () => this.#connections.delete(connection))
      })
    })
    void this.#router.handleRequest(request)
  }

  /** Closes each connection as soon as no response is running on it. */
  close(): void {
    this.#isClosing = true
    this.#sweep()
  }

  /** Stops the checks. */
  stop(): void {
    clearInterval(this.#sweepTimer)
  }

  #countOf(accountId: string): number {
    let count = 0
    for (const connection of this.#connections) if (connection.accountId === accountId) count += 1
    return count
  }

  #sweep(): void {
    const nowMs = performance.now()
    for (const connection of this.#connections) {
      if (this.#isClosing) connection.closeWhenIdle(closeCodes.goingAway, null)
      connection.sweep(nowMs)
    }
  }
}
