/** What a worker listens with: the port or TLS in front of it, bounded connections, the fast path and node:http. */
import type { Config } from '../../config.ts'
import type { Router } from '../../http/router.ts'
import { connectionBounds, limitConnections } from '../../http/server/connection-limiter.ts'
import { FastPath } from '../../http/server/fast-path.ts'
import { isWebSocketRequest, WebSockets } from '../../http/websocket/web-sockets.ts'
import { addressNetwork } from '../../lib/address-network.ts'
import { closeGracefully, listen } from '../../lib/graceful-close.ts'
import type { Log } from '../../lib/log.ts'
import { createHttpServer } from '../http-server.ts'
import { createListener } from '../tls-listener.ts'

/** Longer than reverse proxies keep an idle connection open, so that they close it first. */
const idleTimeoutMs = 75_000
/** How much a socket buffers for a client that does not read. The stream writer buffers the rest; then the upstream waits. */
const socketBufferBytes = 16_384
const rejectionLogIntervalMs = 60_000

export interface WorkerListener {
  readonly reloadCertificate: () => void
  open(): Promise<void>
  /** Stops listening; resolves when all connections are closed. `isIdle`: no request is running. */
  drain(isIdle: () => boolean): Promise<void>
}

export function createWorkerListener(router: Router, config: Config, log: Log): WorkerListener {
  const { bodyLimitBytes, host, port, workers, slowClientMs: writeTimeoutMs } = config
  const server = createHttpServer(
    {
      idleTimeoutMs,
      highWaterMark: socketBufferBytes,
      bodyLimitBytes,
      writeTimeoutMs,
      isUpgrade: isWebSocketRequest,
    },
    (incoming, outgoing) => void router.handle(incoming, outgoing),
  )
  const webSockets = new WebSockets(router, config)
  server.on('upgrade', (incoming, socket, head) => webSockets.upgrade(incoming, socket, head))
  const fastPath = new FastPath(server, (request) => void router.handleRequest(request), {
    idleTimeoutMs,
    writeTimeoutMs,
  })
  const { listener, reloadCertificate } = createListener(
    server,
    { config, highWaterMark: socketBufferBytes },
    (error) => log.error({ err: error }, 'TLS certificate reload failed'),
  )
  limitConnections(listener, {
    ...connectionBounds(workers, config.connectionsPerAddress),
    isExempt: (address) => router.apiKeys.isLocalOrProxy(address),
    onRejected: createRejectionLog(log),
  })
  const closeIdle = (): void => {
    server.closeIdleConnections()
    fastPath.closeIdle()
  }
  return {
    reloadCertificate,
    open: () => listen(listener, { host, port, reusePort: workers > 1, backlog: 4096 }),
    drain(isIdle) {
      const closed = closeGracefully(listener)
      const idle = setInterval(() => {
        if (isIdle()) closeIdle()
      }, 50)
      closeIdle()
      webSockets.close()
      return closed.finally(() => {
        clearInterval(idle)
        webSockets.stop()
      })
    },
  }
}

/** At most one line a minute, so that nobody can fill the log. */
function createRejectionLog(log: Log): (address: string) => void {
  let nextLineMs = 0
  let rejected = 0
  return (address) => {
    rejected += 1
    const nowMs = performance.now()
    if (nowMs < nextLineMs) return
    log.warn({ network: addressNetwork(address), rejected }, 'too many open connections: rejected new ones')
    nextLineMs = nowMs + rejectionLogIntervalMs
    rejected = 0
  }
}
