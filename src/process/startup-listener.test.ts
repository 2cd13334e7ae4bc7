import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { readConfig } from '../config.ts'
import { fetchStatus, findPortProblem } from './connection-checks.ts'
import { listenIfSlow } from './startup-listener.ts'

const host = '127.0.0.1'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('listenIfSlow', () => {
  test('slow start – responds to probes until it is done, and 503 to anything else', async () => {
    const port = await freePort()
    const start = Promise.withResolvers<string>()
    const result = listenIfSlow(
      readConfig({ HOST: host, PORT: String(port) }),
      start.promise,
      assert.ifError,
      0,
    )
    while ((await fetchStatus(`http://${host}:${port}/healthz`, 60_000)) !== 200);
    assert.equal(await fetchStatus(`http://${host}:${port}/readyz`, 60_000), 503)
    start.resolve('open')
    assert.equal(await result, 'open')
    assert.equal(await findPortProblem(host, port), null)
  })

  test('start within the time – never opens the port, also if it fails', async () => {
    const port = await freePort()
    const config = readConfig({ HOST: host, PORT: String(port) })
    assert.equal(await listenIfSlow(config, Promise.resolve('open'), assert.ifError, 60_000), 'open')
    const failed = listenIfSlow(config, Promise.reject(new Error('no')), assert.ifError, 60_000)
    await assert.rejects(failed, /^Error: no$/)
    assert.equal(await findPortProblem(host, port), null)
  })
  test('port in use – is reported, and the start continues', async (t) => {
    const other = createServer().listen(0, host)
    t.after(() => other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const start = Promise.withResolvers<string>()
    const reported = Promise.withResolvers<unknown>()
    const config = readConfig({ HOST: host, PORT: String(port) })
    const result = listenIfSlow(config, start.promise, reported.resolve, 0)
    assert.match(String(await reported.promise), /EADDRINUSE/)
    start.resolve('open')
    assert.equal(await result, 'open')
  })
})
