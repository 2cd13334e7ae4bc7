import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { promisify } from 'node:util'
import { parseCidrs, type AddressResolver } from './address-guard.ts'
import { cert, key } from './certificate.fixture.ts'
import {
  ask,
  listening,
  onRequest,
  openClient,
  rawServer,
  saying,
} from './http-client/http-client.fixture.ts'

/** Every name is at these addresses. */
function resolvingTo(...addresses: string[]): AddressResolver {
  return (_hostname, _options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    process.nextTick(callback, null, found)
  }
}

interface TlsSeen {
  port: number
  names: (string | false | null)[]
  protocols: (string | false | null)[]
  resumed: boolean[]
  requests: number
}

async function tlsServer(t: TestContext, options: TlsOptions = {}): Promise<TlsSeen> {
  const seen: TlsSeen = { port: 0, names: [], protocols: [], resumed: [], requests: 0 }
  const server = createTlsServer(
    { key, cert, ALPNProtocols: ['h2', 'http/1.1'], ...options },
    (socket: TLSSocket) => {
      seen.names.push(socket.servername)
      seen.protocols.push(socket.alpnProtocol)
      seen.resumed.push(socket.isSessionReused())
      onRequest(socket, ({ head }) => {
        seen.requests += 1
        socket.write(
          saying(
            head.includes('/close') ? 'bye' : 'ok',
            head.includes('/close') ? 'Connection: close\r\n' : '',
          ),
        )
      })
    },
  )
  server.on('tlsClientError', () => {})
  seen.port = await listening(t, server)
  return seen
}

const resolve = resolvingTo('127.0.0.1')

test('TLS asks for the name, speaks HTTP/1.1 and keeps its connections', async (t) => {
  const seen = await tlsServer(t)
  const client = openClient(t, { resolve, authorities: cert })
  for (let i = 0; i < 3; i += 1) {
    const { body, failure } = await ask(client, `https://models.test:${seen.port}/`).answer
    assert.deepEqual([body.toString(), failure], ['ok', null])
  }
  assert.deepEqual([seen.names, seen.protocols], [['models.test'], ['http/1.1']])
  await ask(client, `https://127.0.0.1:${seen.port}/`).answer
  assert.equal(seen.names[1], false)
})

test('TLS resumes its session on the next connection', async (t) => {
  const seen = await tlsServer(t)
  const client = openClient(t, { resolve, authorities: cert })
  for (let i = 0; i < 3; i += 1) {
    await ask(client, `https://models.test:${seen.port}/close`).answer
  }
  assert.deepEqual(seen.resumed, [false, true, true])
})

test('a certificate that is for another name, or from nobody known, ends it before a byte is sent', async (t) => {
  const seen = await tlsServer(t)
  const knowing = openClient(t, { resolve, authorities: cert })
  const trusting = openClient(t, { resolve })
  for (const [client, host] of [
    [knowing, 'other.test'],
    [knowing, 'models.test.evil.test'],
    [trusting, 'models.test'],
    [trusting, '127.0.0.1'],
  ] as const) {
    const { failure } = await ask(client, `https://${host}:${seen.port}/`).answer
    assert.deepEqual([failure?.kind, failure?.sent, failure?.answered], ['tls', false, false], host)
  }
  assert.equal(seen.requests, 0)
})

test('a certificate for another name is not accepted on the second try either', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const seen = await tlsServer(t, { maxVersion })
    const client = openClient(t, { resolve, authorities: cert })
    for (let i = 0; i < 3; i += 1) {
      const { failure } = await ask(client, `https://other.test:${seen.port}/`).answer
      assert.equal(failure?.kind, 'tls', maxVersion)
    }
    assert.equal(seen.requests, 0)
    await ask(client, `https://models.test:${seen.port}/close`).answer
    await ask(client, `https://models.test:${seen.port}/close`).answer
    assert.equal(seen.resumed.at(-1), true, maxVersion)
  }
})

test('an exchange paused from its beginning gets through the TLS handshake', async (t) => {
  const seen = await tlsServer(t)
  const client = openClient(t, { resolve, authorities: cert })
  const { exchange, answer, soFar } = ask(client, `https://models.test:${seen.port}/`)
  exchange.pause()
  while (seen.requests === 0) await new Promise(setImmediate)
  assert.deepEqual(soFar.calls, [])
  exchange.resume()
  assert.equal((await answer).body.toString(), 'ok')
})

test('NODE_EXTRA_CA_CERTS adds an authority', async (t) => {
  const seen = await tlsServer(t)
  const script = `
    import { HttpClient, defaultBounds, headerLines, originOf } from ${JSON.stringify(new URL('http-client.ts', import.meta.url).href)}
    import { parseCidrs } from ${JSON.stringify(new URL('address-guard.ts', import.meta.url).href)}
    const client = new HttpClient({ ...defaultBounds, allow: parseCidrs('127.0.0.0/8') })
    const origin = originOf('https://127.0.0.1:${seen.port}')
    client.send(
      { origin, method: 'GET', path: '/', headers: headerLines([]), body: [], connectTimeoutMs: 5000 },
      { onHead: (status) => console.log(status), onData() {}, onEnd() {}, onFail: console.log },
    )`
  const certFile = join(mkdtempSync(join(tmpdir(), 'sluice-tls-')), 'cert.pem')
  t.after(() => rmSync(dirname(certFile), { recursive: true }))
  writeFileSync(certFile, cert)
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certFile },
  })
  // It ends by itself, too: an idle connection keeps no process alive.
  assert.equal(stdout, '200\n')
})

test('a server that does not speak TLS is a failure of TLS', async (t) => {
  const ports = [
    await rawServer(t, (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')),
    await rawServer(t, (socket) => socket.destroy()),
  ]
  for (const url of ports) {
    const { failure } = await ask(openClient(t), url.replace('http:', 'https:')).answer
    assert.deepEqual([failure?.kind, failure?.sent], ['tls', false])
  }
})

test('back-pressure, large bodies and destroy work over TLS as well', async (t) => {
  const total = 8 * 1024 * 1024
  const server = createTlsServer({ key, cert }, (socket) =>
    onRequest(socket, ({ body }) => {
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`)
      socket.write(body)
      socket.write('\r\n0\r\n\r\n')
    }),
  )
  const url = `https://models.test:${await listening(t, server)}/`
  const client = openClient(t, { resolve, authorities: cert })
  const body = [Buffer.alloc(total, 'abcdefg')]
  const first = ask(client, url, { body })
  await first.head
  first.exchange.pause()
  await new Promise((done) => setTimeout(done, 50))
  assert.ok(first.soFar.bytes < total)
  first.exchange.resume()
  assert.ok(body[0]?.equals((await first.answer).body))
  const second = ask(client, url, { body })
  await second.head
  second.exchange.destroy()
  while (client.stats.open > 0) await new Promise(setImmediate)
  assert.deepEqual([client.stats.opened, client.stats.reused], [1, 1])
})

test('connecting ends when its time is over, at whatever it waits', async (t) => {
  const mute = await rawServer(t, () => {})
  const client = openClient(t)
  const lost = openClient(t, { resolve: () => {} })
  for (const asked of [
    ask(client, mute.replace('http:', 'https:'), { connectTimeoutMs: 60 }),
    ask(lost, 'http://models.test/', { connectTimeoutMs: 60 }),
  ]) {
    const from = performance.now()
    const { failure } = await asked.answer
    assert.deepEqual([failure?.kind, failure?.sent, failure?.answered], ['timeout', false, false])
    assert.ok(performance.now() - from < 20_000)
  }
})

test('a connected request may take longer than connecting', async (t) => {
  const url = await rawServer(t, (socket) =>
    onRequest(socket, () => setTimeout(() => socket.write(saying('ok')), 150)),
  )
  const { failure } = await ask(openClient(t), url, { connectTimeoutMs: 100 }).answer
  assert.equal(failure, null)
})

test('a closed port and an unknown name are told apart', async (t) => {
  const closed = createServer()
  const port = await listening(t, closed)
  await new Promise((done) => closed.close(done))
  const client = openClient(t)
  assert.equal((await ask(client, `http://127.0.0.1:${port}/`).answer).failure?.kind, 'refused')
  assert.equal((await ask(client, 'http://nobody.invalid/').answer).failure?.kind, 'dns')
})

test('no disguise of a forbidden address is connected to', async (t) => {
  let connections = 0
  const url = await rawServer(t, () => (connections += 1))
  const { port } = new URL(url)
  const client = openClient(t, { allow: [] })
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
      const { failure } = await ask(client, `${scheme}://${host}:${port}/`).answer
      assert.deepEqual([failure?.kind, failure?.sent], ['forbidden_address', false], host)
    }
  }
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '0.0.0.0', '::']) {
    const named = openClient(t, { allow: [], resolve: resolvingTo(address) })
    const { failure } = await ask(named, `http://models.test:${port}/`).answer
    assert.equal(failure?.kind, 'forbidden_address', address)
  }
  assert.equal(connections, 0)
})

test('a name that changes its address is judged anew at each connection', async (t) => {
  const url = await rawServer(t, (socket) =>
    onRequest(socket, () => socket.write(saying('ok', 'Connection: close\r\n'))),
  )
  const answers = ['127.0.0.1', '127.0.0.2']
  const rebinding: AddressResolver = (hostname, options, callback) =>
    resolvingTo(answers.shift() ?? '')(hostname, options, callback)
  const client = openClient(t, { allow: parseCidrs('127.0.0.1'), resolve: rebinding })
  const named = url.replace('127.0.0.1', 'models.test')
  assert.equal((await ask(client, named).answer).status, 200)
  assert.equal((await ask(client, named).answer).failure?.kind, 'forbidden_address')
})

test('a name with several addresses leads to one that answers, and only to allowed ones', async (t) => {
  const url = await rawServer(t, (socket) => onRequest(socket, () => socket.write(saying('ok'))))
  const resolveMany = resolvingTo('10.255.255.1', '127.0.0.9', '::1', '127.0.0.1')
  const client = openClient(t, { resolve: resolveMany })
  const { body, failure } = await ask(client, url.replace('127.0.0.1', 'models.test')).answer
  assert.deepEqual([body.toString(), failure], ['ok', null])
})
