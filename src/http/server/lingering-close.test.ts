import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { apiError } from '../../errors.ts'
import { cert, key } from '../../lib/certificate.fixture.ts'
import { echo, startFastPath, startNodeServer, withErrorResponses, RawClient } from './fast-path.fixture.ts'
import { lingerAndClose, lingerBytes } from './lingering-close.ts'
import { upload } from './upload-client.fixture.ts'

const MB = 1_000_000
/** Over plain TCP and over TLS. */
const [attempts, tlsAttempts] = [10, 4]
/** What is read at once before a pause takes effect. */
const maxReadBytes = 256 * 1024

const rejectAll = withErrorResponses(async () => {
  throw apiError('not_found')
})
const starts = { 'fast path': startFastPath, 'node:http': startNodeServer }

async function listenWithTls(t: TestContext, server: Server): Promise<number> {
  const listener = createTlsServer({ cert, key }, (socket) => void server.emit('connection', socket))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => listener.close())
  return (listener.address() as AddressInfo).port
}

describe('lingering close', () => {
  for (const [path, start] of Object.entries(starts)) {
    for (const isTls of [false, true]) {
      test(`upload that is rejected early${isTls ? ' over TLS' : ''}, ${path} – every client reads why`, async (t) => {
        for (const [handle, bytes, status] of [
          [rejectAll, 12 * MB, '404'],
          [echo(), 40 * MB, '413'],
        ] as const) {
          const { port, server } = await start(t, handle)
          const origin = isTls
            ? `https://127.0.0.1:${await listenWithTls(t, server)}`
            : `http://127.0.0.1:${port}`
          const count = isTls ? tlsAttempts : attempts
          const seen = await upload({
            url: `${origin}/v1/chat/completions`,
            bytes,
            attempts: count,
            ca: cert,
          })
          assert.deepEqual(
            seen,
            Array.from({ length: count }, () => status),
          )
        }
      })
    }

    test(`caller that closes, ${path} – ends the wait`, async (t) => {
      const { port, server } = await start(t, rejectAll, { lingerMs: 600_000 })
      const connected = once(server, 'connection') as Promise<[Socket]>
      const client = new RawClient(t, port)
      await client.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf')
      const [socket] = await connected
      await client.waitForResponses(1)
      client.socket.end()
      if (!socket.destroyed) await once(socket, 'close')
    })

    test(`rest of the request, ${path} – ends the wait`, async (t) => {
      const { port, server } = await start(t, rejectAll, { lingerMs: 600_000 })
      const connected = once(server, 'connection') as Promise<[Socket]>
      const client = new RawClient(t, port)
      client.socket.allowHalfOpen = true
      await client.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf')
      assert.equal((await client.waitForResponses(1))[0]?.status, 404)
      const [socket] = await connected
      await client.write('rest')
      if (!socket.destroyed) await once(socket, 'close')
    })
  }

  test('shutdown, fast path – a lingering connection counts as open, and is closed soon', async (t) => {
    const options = { lingerMs: 600_000, sweepIntervalMs: 10 }
    const { port, server, fastPath } = await startFastPath(t, rejectAll, options)
    const connected = once(server, 'connection') as Promise<[Socket]>
    const client = new RawClient(t, port)
    client.socket.allowHalfOpen = true
    await client.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf')
    await client.waitForResponses(1)
    const [socket] = await connected
    assert.equal(fastPath?.size, 1)
    const { promise, resolve } = Promise.withResolvers<number>()
    server.getConnections((_, count) => resolve(count))
    assert.equal(await promise, 1)
    fastPath.closeIdle()
    if (!socket.destroyed) await once(socket, 'close')
    assert.equal(fastPath.size, 0)
  })

  const boundedStarts = {
    'fast path': (t: TestContext) => startFastPath(t, rejectAll, { lingerMs: 1000, sweepIntervalMs: 10 }),
    'node:http in a shutdown': async (t: TestContext) => {
      const server = createServer((incoming, outgoing) => {
        outgoing.writeHead(404, { connection: 'close' }).end()
        lingerAndClose(incoming, () => true)
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.after(() => server.close())
      return { server, port: (server.address() as AddressInfo).port }
    },
  }
  for (const [path, start] of Object.entries(boundedStarts)) {
    test(`caller that never stops sending, ${path} – 1 MiB is read, then it is closed`, async (t) => {
      const { port, server } = await start(t)
      const connected = once(server, 'connection') as Promise<[Socket]>
      const client = new RawClient(t, port)
      client.socket.allowHalfOpen = true
      void client.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99000000\r\n\r\n')
      void client.write(Buffer.alloc(40 * MB))
      const [socket] = await connected
      await client.waitUntil(() => client.received.startsWith('HTTP/1.1 404 '))
      if (!socket.destroyed) await once(socket, 'close')
      assert.ok(socket.bytesRead <= lingerBytes + maxReadBytes, String(socket.bytesRead))
      await client.waitForClose()
    })
  }
})
