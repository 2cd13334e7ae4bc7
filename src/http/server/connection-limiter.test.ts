import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, connect as connectTls } from 'node:tls'
import { describe, test, type TestContext } from 'node:test'
import { cert, key } from '../../lib/certificate.fixture.ts'
import {
  AddressCounter,
  connectionBounds,
  limitConnections,
  type ConnectionLimiterOptions,
} from './connection-limiter.ts'

describe('AddressCounter', () => {
  test('addresses – have a bound each, an IPv6 /64 one together', () => {
    const counter = new AddressCounter(2)
    const first = counter.open('203.0.113.7')
    assert.ok(first)
    assert.ok(counter.open('::ffff:203.0.113.7'))
    assert.equal(counter.open('203.0.113.7'), null)
    assert.ok(counter.open('203.0.113.8'))
    assert.ok(counter.open('2001:db8::1'))
    assert.ok(counter.open('2001:db8::2'))
    assert.equal(counter.open('2001:db8::3'), null)
    assert.ok(counter.open('2001:db8:0:1::3'))
    first()
    assert.ok(counter.open('203.0.113.7'))
    assert.equal(counter.open('203.0.113.7'), null)
  })

  test('closed connections – leave nothing behind', () => {
    const counter = new AddressCounter(10)
    const closes = ['203.0.113.7', '203.0.113.7', '2001:db8::1'].map((address) => counter.open(address))
    assert.equal(counter.size, 2)
    for (const close of closes) close?.()
    assert.equal(counter.size, 0)
  })
})

describe('connectionBounds', () => {
  test('all workers together – leave half of the descriptors to upstreams', () => {
    const one = connectionBounds(1, null)
    assert.ok(one.max >= 100)
    assert.equal(one.maxPerAddress, Math.ceil(one.max / 4))
    assert.equal(connectionBounds(4, null).max, Math.floor(one.max / 4))
    assert.equal(connectionBounds(1, 7).maxPerAddress, 7)
  })
})

async function listen(t: TestContext, server: Server, options: Partial<ConnectionLimiterOptions>) {
  const rejected: string[] = []
  limitConnections(server, {
    max: 100,
    maxPerAddress: 2,
    isExempt: () => false,
    onRejected: (address) => rejected.push(address),
    ...options,
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, rejected }
}

function greeter(): Server {
  return createServer((socket) => void socket.on('error', () => undefined).write('hello'))
}

/** Opens a connection; resolves to false if the server closes it before it says anything. */
function isAccepted(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.on('error', () => undefined)
  socket.once('data', () => resolve(true))
  socket.once('close', () => resolve(false))
  return promise
}

function closed(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const check = (): void => {
    server.getConnections((_, count) => (count === 0 ? resolve() : void setImmediate(check)))
  }
  check()
  return promise
}

describe('limitConnections', () => {
  test('one address – is rejected beyond its bound and accepted again after a close', async (t) => {
    const server = greeter()
    const { port, rejected } = await listen(t, server, {})
    const [first, second] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    assert.deepEqual(await Promise.all([isAccepted(first), isAccepted(second)]), [true, true])
    assert.equal(await isAccepted(connect(port, '127.0.0.1')), false)
    assert.deepEqual(rejected, ['127.0.0.1'])
    first.destroy()
    second.destroy()
    await closed(server)
    assert.equal(await isAccepted(connect(port, '127.0.0.1')), true)
  })

  test('exempt addresses – only have the bound of all connections', async (t) => {
    const { port, rejected } = await listen(t, greeter(), { max: 4, isExempt: (a) => a === '127.0.0.1' })
    const sockets = Array.from({ length: 4 }, () => connect(port, '127.0.0.1'))
    assert.deepEqual(await Promise.all(sockets.map(isAccepted)), [true, true, true, true])
    assert.equal(await isAccepted(connect(port, '127.0.0.1')), false)
    assert.deepEqual(rejected, ['127.0.0.1'])
  })

  test('TLS – a connection is counted until it closes, also without a handshake', async (t) => {
    const server = createTlsServer({ key, cert }, (socket) =>
      socket.on('error', () => undefined).write('hello'),
    )
    server.on('tlsClientError', () => undefined)
    const { port, rejected } = await listen(t, server, {})
    const silent = connect(port, '127.0.0.1')
    const secure = connectTls({ port, host: '127.0.0.1', ca: cert })
    assert.equal(await isAccepted(secure), true)
    assert.equal(await isAccepted(connectTls({ port, host: '127.0.0.1', ca: cert })), false)
    silent.destroy()
    secure.destroy()
    await closed(server)
    assert.equal(await isAccepted(connectTls({ port, host: '127.0.0.1', ca: cert })), true)
    assert.equal(rejected.length, 1)
  })
})
