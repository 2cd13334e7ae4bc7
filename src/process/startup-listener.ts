/**
 * Serves the port while a node waits for its database: it reports that it is alive, and responds with 503 to all other
 * requests, so that clients neither take the relay for broken nor get a 401.
 */
import { createServer } from 'node:http'
import type { Config } from '../config.ts'
import { apiError } from '../errors.ts'
import { listen } from '../lib/graceful-close.ts'
import { createListener } from './tls-listener.ts'

const socketBufferBytes = 16_384
/** Supervisors restart a process whose `/healthz` has responded before and no longer does, typically after a minute. */
const slowStartMs = 20_000

export interface StartupListener {
  close(): Promise<void>
}

/** Opens the port; every request except `/healthz` gets 503 with `Retry-After`. */
export async function openStartupListener(config: Config): Promise<StartupListener> {
  const { host, port } = config
  const error = apiError('service_unavailable')
  const body = JSON.stringify(error.toBody())
  const server = createServer((request, response) => {
    request.resume()
    if (request.url === '/healthz') {
      response
        .writeHead(200, { 'content-type': 'application/json', connection: 'close' })
        .end('{"status":"ok"}')
      return
    }
    const headers = { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' }
    response.writeHead(error.status, headers).end(body)
  })
  // A failed reload of the certificate is reported once the relay serves.
  const { listener } = createListener(server, { config, highWaterMark: socketBufferBytes }, () => undefined)
  await listen(listener, { host, port })
  return {
    async close() {
      const closed = new Promise((done) => listener.close(done))
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * For a node that has responded while it waited: the port stays closed during the rest of its start, so that a load
 * balancer uses other nodes, unless that takes so long that a supervisor would restart the process, as a large migration
 * may. Returns the result of `start`, which does without the port if that cannot be opened (`onListenError`).
 */
export async function listenIfSlow<Result>(
  config: Config,
  start: Promise<Result>,
  onListenError: (error: unknown) => void,
  afterMs: number = slowStartMs,
): Promise<Result> {
  let listener: Promise<StartupListener | void> | undefined
  const timer = setTimeout(() => {
    listener = openStartupListener(config).catch(onListenError)
  }, afterMs)
  try {
    return await start
  } finally {
    clearTimeout(timer)
    await (await listener)?.close()
  }
}
