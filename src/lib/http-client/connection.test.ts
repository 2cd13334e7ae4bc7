import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { promisify } from 'node:util'
import { parseCidrs, type AddressResolver } from '../address-guard.ts'
import { cert, key } from '../certificate.fixture.ts'
import {
  send,
  listen,
  onRequest,
  createTestClient,
  startRawServer,
  okResponse,
} from './http-client.fixture.ts'
import { scriptedDelay, staysFalse } from '../../../test/support/wait.ts'

/** Resolves every name to these addresses. */
function resolvingTo(...addresses: string[]): AddressResolver {
  return (_hostname, _options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    process.nextTick(callback, null, found)
  }
}

interface TlsServerRecord {
  port: number
  names: (string | false | null)[]
  protocols: (string | false | null)[]
  resumed: boolean[]
  requests: number
}

async function startTlsServer(t: TestContext, options: TlsOptions = {}): Promise<TlsServerRecord> {
  const record: TlsServerRecord = { port: 0, names: [], protocols: [], resumed: [], requests: 0 }
  const server = createTlsServer(
    { key, cert, ALPNProtocols: ['h2', 'http/1.1'], ...options },
    (socket: TLSSocket) => {
      record.names.push(socket.servername)
      record.protocols.push(socket.alpnProtocol)
      record.resumed.push(socket.isSessionReused())
      onRequest(socket, ({ head }) => {
        record.requests += 1
        socket.write(
          okResponse(
            head.includes('/close') ? 'bye' : 'ok',
            head.includes('/close') ? 'Connection: close\r\n' : '',
          ),
        )
      })
    },
  )
  server.on('tlsClientError', () => {})
  record.port = await listen(t, server)
  return record
}

const resolve = resolvingTo('127.0.0.1')

describe('connections of the HTTP client', () => {
  test('TLS – sends the server name, negotiates HTTP/1.1 and reuses connections', async (t) => {
    const record = await startTlsServer(t)
    const client = createTestClient(t, { resolve, authorities: cert })
    for (let i = 0; i < 3; i += 1) {
      const { body, failure } = await send(client, `https://models.test:${record.port}/`).response
      assert.deepEqual([body.toString(), failure], ['ok', null])
    }
    assert.deepEqual([record.names, record.protocols], [['models.test'], ['http/1.1']])
    await send(client, `https://127.0.0.1:${record.port}/`).response
    assert.equal(record.names[1], false)
  })

  test('TLS – resumes its session on the next connection', async (t) => {
    const record = await startTlsServer(t)
    const client = createTestClient(t, { resolve, authorities: cert })
    for (let i = 0; i < 3; i += 1) {
      await send(client, `https://models.test:${record.port}/close`).response
    }
    assert.deepEqual(record.resumed, [false, true, true])
  })

  test('TLS – a certificate of another name or unknown authority fails before any byte is sent', async (t) => {
    const record = await startTlsServer(t)
    const withAuthority = createTestClient(t, { resolve, authorities: cert })
    const withoutAuthority = createTestClient(t, { resolve })
    for (const [client, host] of [
      [withAuthority, 'other.test'],
      [withAuthority, 'models.test.evil.test'],
      [withoutAuthority, 'models.test'],
      [withoutAuthority, '127.0.0.1'],
    ] as const) {
      const { failure } = await send(client, `https://${host}:${record.port}/`).response
      assert.deepEqual([failure?.kind, failure?.sent, failure?.hasResponse], ['tls', false, false], host)
    }
    assert.equal(record.requests, 0)
  })

  test('TLS – a certificate of another name is rejected on later connections, too', async (t) => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const record = await startTlsServer(t, { maxVersion })
      const client = createTestClient(t, { resolve, authorities: cert })
      for (let i = 0; i < 3; i += 1) {
        const { failure } = await send(client, `https://other.test:${record.port}/`).response
        assert.equal(failure?.kind, 'tls', maxVersion)
      }
      assert.equal(record.requests, 0)
      await send(client, `https://models.test:${record.port}/close`).response
      await send(client, `https://models.test:${record.port}/close`).response
      assert.equal(record.resumed.at(-1), true, maxVersion)
    }
  })

  test('TLS – an exchange paused from the start completes the handshake', async (t) => {
    const record = await startTlsServer(t)
    const client = createTestClient(t, { resolve, authorities: cert })
    const { exchange, response, received } = send(client, `https://models.test:${record.port}/`)
    exchange.pause()
    while (record.requests === 0) await new Promise(setImmediate)
    assert.deepEqual(received.calls, [])
    exchange.resume()
    assert.equal((await response).body.toString(), 'ok')
  })

  test('TLS – NODE_EXTRA_CA_CERTS adds an authority', async (t) => {
    const record = await startTlsServer(t)
    const script = `
    import { HttpClient, defaultClientBounds, encodeHeaders, parseOrigin } from ${JSON.stringify(new URL('./http-client.ts', import.meta.url).href)}
    import { parseCidrs } from ${JSON.stringify(new URL('../address-guard.ts', import.meta.url).href)}
    const client = new HttpClient({ ...defaultClientBounds, allow: parseCidrs('127.0.0.0/8') })
    const origin = parseOrigin('https://127.0.0.1:${record.port}')
    client.send(
      { origin, method: 'GET', path: '/', headers: encodeHeaders([]), body: [], connectTimeoutMs: 5000 },
      { onHead: (status) => console.log(status), onData() {}, onEnd() {}, onFail: console.log },
    )`
    const certFile = join(mkdtempSync(join(tmpdir(), 'sluice-tls-')), 'cert.pem')
    t.after(() => rmSync(dirname(certFile), { recursive: true }))
    writeFileSync(certFile, cert)
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: certFile },
    })
    // The process also exits: an idle connection does not keep it alive.
    assert.equal(stdout, '200\n')
  })

  test('TLS – a server without TLS is a TLS failure', async (t) => {
    const ports = [
      await startRawServer(t, (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')),
      await startRawServer(t, (socket) => socket.destroy()),
    ]
    for (const url of ports) {
      const { failure } = await send(createTestClient(t), url.replace('http:', 'https:')).response
      assert.deepEqual([failure?.kind, failure?.sent], ['tls', false])
    }
  })

  test('TLS – backpressure, large bodies and destroy work', async (t) => {
    const total = 8 * 1024 * 1024
    const server = createTlsServer({ key, cert }, (socket) =>
      onRequest(socket, ({ body }) => {
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`)
        socket.write(body)
        socket.write('\r\n0\r\n\r\n')
      }),
    )
    const url = `https://models.test:${await listen(t, server)}/`
    const client = createTestClient(t, { resolve, authorities: cert })
    const body = [Buffer.alloc(total, 'abcdefg')]
    const first = send(client, url, { body })
    await first.head
    first.exchange.pause()
    await staysFalse(() => first.received.bytes === total, 50, 'although the exchange is paused')
    first.exchange.resume()
    assert.ok(body[0]?.equals((await first.response).body))
    const second = send(client, url, { body })
    await second.head
    second.exchange.destroy()
    while (client.stats.open > 0) await new Promise(setImmediate)
    assert.deepEqual([client.stats.opened, client.stats.reused], [1, 1])
  })

  test('connect timeout – applies to every phase of connecting', async (t) => {
    const silentServer = await startRawServer(t, () => {})
    const client = createTestClient(t)
    const unresolvable = createTestClient(t, { resolve: () => {} })
    for (const sent of [
      send(client, silentServer.replace('http:', 'https:'), { connectTimeoutMs: 60 }),
      send(unresolvable, 'http://models.test/', { connectTimeoutMs: 60 }),
    ]) {
      const from = performance.now()
      const { failure } = await sent.response
      assert.deepEqual([failure?.kind, failure?.sent, failure?.hasResponse], ['timeout', false, false])
      assert.ok(performance.now() - from < 20_000)
    }
  })

  test('connect timeout – does not apply to the response', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, () => void scriptedDelay(150).then(() => socket.write(okResponse('ok')))),
    )
    const { failure } = await send(createTestClient(t), url, { connectTimeoutMs: 100 }).response
    assert.equal(failure, null)
  })

  test('failures – distinguish a closed port from an unknown name', async (t) => {
    const closed = createServer()
    const port = await listen(t, closed)
    await new Promise((done) => closed.close(done))
    const client = createTestClient(t)
    assert.equal((await send(client, `http://127.0.0.1:${port}/`).response).failure?.kind, 'refused')
    assert.equal((await send(client, 'http://nobody.invalid/').response).failure?.kind, 'dns')
  })

  test('address guard – no notation of a forbidden address is connected to', async (t) => {
    let connections = 0
    const url = await startRawServer(t, () => (connections += 1))
    const { port } = new URL(url)
    const client = createTestClient(t, { allow: [] })
    for (const host of [
      '127.0.0.1',
      '0x7f.1',
      '2130706433',
      '0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::]',
      'localhost',
      '169.254.169.254',
      '[64:ff9b::7f00:1]',
    ]) {
      for (const scheme of ['http', 'https']) {
        const { failure } = await send(client, `${scheme}://${host}:${port}/`).response
        assert.deepEqual([failure?.kind, failure?.sent], ['forbidden_address', false], host)
      }
    }
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '0.0.0.0', '::']) {
      const named = createTestClient(t, { allow: [], resolve: resolvingTo(address) })
      const { failure } = await send(named, `http://models.test:${port}/`).response
      assert.equal(failure?.kind, 'forbidden_address', address)
    }
    assert.equal(connections, 0)
  })

  test('address guard – checks a name at each connection, against DNS rebinding', async (t) => {
    const url = await startRawServer(t, (socket) =>
      onRequest(socket, () => socket.write(okResponse('ok', 'Connection: close\r\n'))),
    )
    const addresses = ['127.0.0.1', '127.0.0.2']
    const rebinding: AddressResolver = (hostname, options, callback) =>
      resolvingTo(addresses.shift() ?? '')(hostname, options, callback)
    const client = createTestClient(t, { allow: parseCidrs('127.0.0.1'), resolve: rebinding })
    const named = url.replace('127.0.0.1', 'models.test')
    assert.equal((await send(client, named).response).status, 200)
    assert.equal((await send(client, named).response).failure?.kind, 'forbidden_address')
  })

  test('unsolicited bytes – before the request is written, it is sent on another connection', async (t) => {
    const sockets: Socket[] = []
    const url = await startRawServer(t, (socket) => {
      sockets.push(socket)
      onRequest(socket, () => socket.write(okResponse('ok')))
    })
    const client = createTestClient(t)
    await send(client, url).response
    // From a callback of `setImmediate`, the next turn reads before requests are written.
    await new Promise(setImmediate)
    sockets[0]?.write(okResponse('another response'))
    const { body, failure } = await send(client, url).response
    assert.deepEqual([body.toString(), failure, client.stats.retried], ['ok', null, 1])
  })

  test('DNS – a name with several addresses connects to an allowed one that responds', async (t) => {
    const url = await startRawServer(t, (socket) => onRequest(socket, () => socket.write(okResponse('ok'))))
    const resolveMany = resolvingTo('10.255.255.1', '127.0.0.9', '::1', '127.0.0.1')
    const client = createTestClient(t, { resolve: resolveMany })
    const { body, failure } = await send(client, url.replace('127.0.0.1', 'models.test')).response
    assert.deepEqual([body.toString(), failure], ['ok', null])
  })
})
