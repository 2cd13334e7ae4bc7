import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { parseCidrs } from '../lib/address-guard.ts'
import { findPortProblem, checkConnection, fetchStatus } from './connection-checks.ts'

const loopback = parseCidrs('127.0.0.0/8')

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

describe('connection checks', () => {
  test('listening address – is reached, and nothing is sent to it', async (t) => {
    let bytes = 0
    const server = createPlainServer((socket) => socket.on('data', (data) => (bytes += data.length)))
    const port = await portOf(t, server)
    const { ok, message } = await checkConnection(`http://127.0.0.1:${port}/v1`, loopback, 2000)
    assert.deepEqual({ ok, message, bytes }, { ok: true, message: 'connected', bytes: 0 })
  })

  test('unreachable address – the message says why', async (t) => {
    const plain = createPlainServer((socket) => socket.end('no TLS here'))
    const port = await portOf(t, plain)
    const mute = await portOf(
      t,
      createPlainServer(() => undefined),
    )
    const closed = createPlainServer()
    const closedPort = await portOf(t, closed)
    await new Promise((resolve) => closed.close(resolve))
    const messageOf = async (url: string, allow = loopback): Promise<string> => {
      const { ok, message } = await checkConnection(url, allow, 300)
      assert.equal(ok, false, url)
      return message
    }
    assert.equal(await messageOf(`http://127.0.0.1:${closedPort}`), 'connection refused (ECONNREFUSED)')
    assert.match(await messageOf('http://nowhere.invalid'), /^the host name was not found/)
    assert.match(await messageOf(`https://127.0.0.1:${port}`), /^TLS handshake failed/)
    assert.equal(await messageOf(`https://127.0.0.1:${mute}`), 'timed out')
    const forbidden = await messageOf(`http://127.0.0.1:${port}`, [])
    assert.equal(forbidden, 'the address is not allowed: 127.0.0.1 is a loopback address')
    assert.match(await messageOf(`http://localhost:${port}`, []), /^the address is not allowed/)
  })

  test('port – EADDRINUSE if it is in use, null if it is free', async (t) => {
    const server = createPlainServer()
    const port = await portOf(t, server)
    assert.equal(await findPortProblem('127.0.0.1', port), 'EADDRINUSE')
    await new Promise((resolve) => server.close(resolve))
    assert.equal(await findPortProblem('127.0.0.1', port), null)
  })

  test('status of a GET – is returned, or an error message', async (t) => {
    const port = await portOf(
      t,
      createServer((_request, response) => response.writeHead(503).end()),
    )
    const mute = await portOf(
      t,
      createPlainServer(() => undefined),
    )
    assert.equal(await fetchStatus(`http://127.0.0.1:${port}/readyz`, 2000), 503)
    assert.equal(await fetchStatus(`http://127.0.0.1:${mute}/readyz`, 100), 'timed out')
  })
})
