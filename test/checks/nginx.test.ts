/** The nginx examples in front of a server that records its requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { get as getOverTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, test, type TestContext } from 'node:test'

import { WebSocket, WebSocketServer } from 'ws'

import { startFastPath } from '../../src/http/server/fast-path.fixture.ts'
import { cert } from '../../src/lib/certificate.fixture.ts'
import { startNginx, nginxSkipReason } from '../support/deploy/nginx.ts'

/** A server whose response has two parts; `sendRest` sends the second. */
async function startStreamingServer(
  t: TestContext,
): Promise<{ url: string; sendRest: () => void; seen: string[] }> {
  const { promise, resolve: sendRest } = Promise.withResolvers<void>()
  const seen: string[] = []
  const server = createServer((request, response) => {
    const { host, 'x-forwarded-for': from } = request.headers
    seen.push([request.url, host, from].join(' '))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: one\n\n')
    void promise.then(() => response.end('data: two\n\n'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sendRest, seen }
}

describe('nginx examples', () => {
  test(
    'nginx – forwards streams unbuffered and hides operations and the admin API key',
    { skip: nginxSkipReason },
    async (t) => {
      for (const name of ['compose', 'sluice'] as const) {
        const { url, sendRest, seen } = await startStreamingServer(t)
        const { port } = await startNginx(t, name, [url])
        const isTls = name === 'sluice'
        const call = (path: string, headers: Record<string, string> = {}) =>
          new Promise<IncomingMessage>((resolve, reject) => {
            const options = { host: '127.0.0.1', port, path, headers, agent: false, ca: cert }
            const outgoing = isTls ? getOverTls(options, resolve) : get(options, resolve)
            outgoing.on('error', reject)
          })
        // The caller cannot choose the address that the relay sees.
        const stream = await call('/v1/chat/completions', { 'x-forwarded-for': '192.0.2.1' })
        const [first] = (await once(stream, 'data')) as [Buffer]
        assert.equal(String(first), 'data: one\n\n')
        sendRest()
        stream.resume()
        await once(stream, 'end')
        assert.equal(seen.at(-1), `/v1/chat/completions 127.0.0.1:${port} 127.0.0.1`)
        const status = async (
          path: string,
          headers?: Record<string, string>,
        ): Promise<number | undefined> => {
          const response = await call(path, headers)
          response.resume()
          return response.statusCode
        }
        assert.equal(await status('/metrics'), 404)
        assert.equal(await status('/v1/metrics'), 404)
        assert.equal(await status('/readyz'), 404)
        assert.equal(await status('/api/admin/accounts', { cookie: 'session=1' }), 200)
        assert.equal(await status('/api/admin/accounts', { authorization: 'Bearer key' }), 404)
      }
    },
  )

  test('nginx – passes WebSockets on, and no other upgrade', { skip: nginxSkipReason }, async (t) => {
    const upgrades: (string | undefined)[] = []
    const server = createServer((incoming, response) => {
      upgrades.push(incoming.headers.upgrade)
      response.end()
    })
    const webSockets = new WebSocketServer({ server })
    webSockets.on('connection', (webSocket) => webSocket.send('Hello'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      for (const client of webSockets.clients) client.terminate()
      server.close()
    })
    for (const name of ['compose', 'sluice'] as const) {
      const { port } = await startNginx(t, name, [
        `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ])
      const protocol = name === 'sluice' ? 's' : ''
      const client = new WebSocket(`ws${protocol}://127.0.0.1:${port}/v1/responses`, { ca: cert })
      const [data] = (await once(client, 'message')) as [Buffer]
      assert.equal(data.toString(), 'Hello')
      client.terminate()
      const headers = { connection: 'Upgrade', upgrade: 'h2c' }
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
      const options = { host: '127.0.0.1', port, headers, agent: false, ca: cert }
      const outgoing = name === 'sluice' ? getOverTls(options, resolve) : get(options, resolve)
      outgoing.on('error', reject)
      ;(await promise).resume()
    }
    assert.deepEqual(upgrades, [undefined, undefined])
  })

  test(
    'nginx – passes on that a stream was cut, after its error event',
    { skip: nginxSkipReason },
    async (t) => {
      const { port } = await startFastPath(t, (incoming) => {
        const response = incoming.respond([])
        response.start(200, ['content-type', 'text/event-stream'])
        response.write(Buffer.from('data: {"error":{}}\n\n'))
        response.abort()
      })
      const nginx = await startNginx(t, 'compose', [`http://127.0.0.1:${port}`])
      const response = await fetch(`http://127.0.0.1:${nginx.port}/v1/chat/completions`, {
        method: 'POST',
        body: '{}',
      })
      assert.ok(response.body)
      let text = ''
      const read = async (body: ReadableStream<Uint8Array>): Promise<void> => {
        for await (const part of body) text += Buffer.from(part).toString()
      }
      await assert.rejects(read(response.body), { message: 'terminated' })
      assert.equal(text, 'data: {"error":{}}\n\n')
    },
  )
})
