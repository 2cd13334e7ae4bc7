/** The server of node:http behind the fast path, with a time limit for everything that a client sends. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { maxBodyMs } from '../http/body.ts'
import { headTimeoutMs } from '../http/server/fast-path.ts'
import { rejectMalformedRequest } from '../http/server/malformed-request.ts'

/** How often node:http looks for requests that take too long. */
const checkIntervalMs = 10_000

export interface HttpServerOptions {
  /** An idle connection is closed after this time. */
  readonly idleTimeoutMs: number
  /** How much a socket buffers for a client that does not read. */
  readonly highWaterMark: number
  readonly bodyLimitBytes: number
  /** A client that reads nothing of a pending response for this long is disconnected. */
  readonly writeTimeoutMs: number
  /** How long it may take to send what remains of a response of which everything is written, in addition. */
  readonly maxSendMs?: (bytes: number) => number
  /** Which requests become an `upgrade`; absent: none. All others that ask for one are ordinary requests. */
  readonly isUpgrade?: (request: IncomingMessage) => boolean
  readonly headTimeoutMs?: number
  readonly checkIntervalMs?: number
}

/** Destroys the connection of a client that does not read the response. Node resets the time limit after each response. */
function limitWriteTime(
  response: ServerResponse,
  { writeTimeoutMs: timeoutMs, maxSendMs = maxBodyMs }: HttpServerOptions,
): void {
  const { socket } = response.req
  socket.setTimeout(timeoutMs)
  response.on('timeout', () => {
    // Without unsent bytes, it is the client that waits.
    if (socket.writableLength > 0) socket.destroy()
  })
  // What the client sends extends the timeout, but not this time limit.
  response.on('prefinish', () => {
    if (socket.writableLength === 0) return
    const timer = setTimeout(() => socket.destroy(), timeoutMs + maxSendMs(socket.writableLength))
    response.on('close', () => clearTimeout(timer))
  })
}

export function createHttpServer(options: HttpServerOptions, listener: RequestListener): Server {
  const headersTimeout = options.headTimeoutMs ?? headTimeoutMs
  const server = createServer(
    {
      keepAliveTimeout: options.idleTimeoutMs,
      headersTimeout,
      // For bodies that no handler reads; the others have a minimum speed (body.ts).
      requestTimeout: headersTimeout + Math.ceil(maxBodyMs(options.bodyLimitBytes)),
      connectionsCheckingInterval: options.checkIntervalMs ?? checkIntervalMs,
      noDelay: true,
      shouldUpgradeCallback: options.isUpgrade ?? (() => false),
      highWaterMark: options.highWaterMark,
    },
    (request, response) => {
      limitWriteTime(response, options)
      listener(request, response)
    },
  )
  server.on('clientError', rejectMalformedRequest)
  return server
}
