/**
 * Before a node has found its database: the port is open, says that it lives, and sends everybody else away for a moment,
 * so that nobody takes a relay that waits for one that is broken, or for one that does not know them.
 */
import { createServer } from 'node:http'
import type { Config } from '../config.ts'
import { refuse } from '../errors.ts'
import { listenerOf } from './tls-listener.ts'

const waitingBytes = 16_384

export interface WaitingRoom {
  close(): Promise<void>
}

/** Opens the port; whoever comes is told to come again. */
export async function openWaitingRoom(config: Config): Promise<WaitingRoom> {
  const { host, port } = config
  const refusal = refuse('service_unavailable')
  const body = JSON.stringify(refusal.toBody())
  const server = createServer((request, response) => {
    request.resume()
    if (request.url === '/healthz') {
      response
        .writeHead(200, { 'content-type': 'application/json', connection: 'close' })
        .end('{"status":"ok"}')
      return
    }
    const headers = { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' }
    response.writeHead(refusal.status, headers).end(body)
  })
  // A certificate that cannot be used is told when there is more to say than to come again.
  const listener = listenerOf(server, { config, highWaterMark: waitingBytes }, () => undefined)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  listener.once('error', reject)
  listener.listen({ host, port }, resolve)
  await promise
  return {
    async close() {
      const closed = new Promise((done) => listener.close(done))
      server.closeAllConnections()
      await closed
    },
  }
}
