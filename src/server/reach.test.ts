import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net'
import { test, type TestContext } from 'node:test'
import { parseCidrs } from '../lib/address-guard.ts'
import { portProblem, reach, statusOf } from './connection-checks.ts'

const loopback = parseCidrs('127.0.0.0/8')

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

test('a place that listens is reached, and nothing is sent to it', async (t) => {
  let bytes = 0
  const server = createPlainServer((socket) => socket.on('data', (data) => (bytes += data.length)))
  const port = await portOf(t, server)
  const { ok, message } = await reach(`http://127.0.0.1:${port}/v1`, loopback, 2000)
  assert.deepEqual({ ok, message, bytes }, { ok: true, message: 'connected', bytes: 0 })
})

test('each way of not being reached has its words', async (t) => {
  const plain = createPlainServer((socket) => socket.end('no TLS here'))
  const port = await portOf(t, plain)
  const mute = await portOf(
    t,
    createPlainServer(() => undefined),
  )
  const closed = createPlainServer()
  const closedPort = await portOf(t, closed)
  await new Promise((resolve) => closed.close(resolve))
  const wordsOf = async (url: string, allow = loopback): Promise<string> => {
    const { ok, message } = await reach(url, allow, 300)
    assert.equal(ok, false, url)
    return message
  }
  assert.equal(await wordsOf(`http://127.0.0.1:${closedPort}`), 'no connection (ECONNREFUSED)')
  assert.match(await wordsOf('http://nowhere.invalid'), /^its name has no address/)
  assert.match(await wordsOf(`https://127.0.0.1:${port}`), /^no secure connection/)
  assert.equal(await wordsOf(`https://127.0.0.1:${mute}`), 'no answer in time')
  const forbidden = await wordsOf(`http://127.0.0.1:${port}`, [])
  assert.equal(forbidden, 'its address is not allowed: 127.0.0.1 is a loopback address')
  assert.match(await wordsOf(`http://localhost:${port}`, []), /^its address is not allowed/)
})

test('a port that another has is told from one that is free', async (t) => {
  const server = createPlainServer()
  const port = await portOf(t, server)
  assert.equal(await portProblem('127.0.0.1', port), 'EADDRINUSE')
  await new Promise((resolve) => server.close(resolve))
  assert.equal(await portProblem('127.0.0.1', port), null)
})

test('a status is told, or why there is none', async (t) => {
  const port = await portOf(
    t,
    createServer((_request, answer) => answer.writeHead(503).end()),
  )
  const mute = await portOf(
    t,
    createPlainServer(() => undefined),
  )
  assert.equal(await statusOf(`http://127.0.0.1:${port}/readyz`, 2000), 503)
  assert.equal(await statusOf(`http://127.0.0.1:${mute}/readyz`, 100), 'no answer in time')
})
