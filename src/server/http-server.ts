/** The server of node:http behind the fast path, with a time limit for everything that a client sends. */
import { createServer, type RequestListener, type Server } from 'node:http'
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
  readonly headTimeoutMs?: number
  readonly checkIntervalMs?: number
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
      highWaterMark: options.highWaterMark,
    },
    listener,
  )
  server.on('clientError', rejectMalformedRequest)
  return server
}
