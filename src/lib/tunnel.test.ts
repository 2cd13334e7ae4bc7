import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { AddressResolver } from './address-guard.ts'
import { cert, key } from './certificate.fixture.ts'
import {
  ask,
  listening,
  onRequest,
  openClient,
  rawServer,
  saying,
} from './http-client/http-client.fixture.ts'
import { originOf } from './http-client/http-client.ts'
import { connectProxy, socksProxy } from './http-client/proxy.fixture.ts'
import { proxyOf } from './http-client/proxy.ts'

/** An upstream that answers in HTTP or, over TLS, in HTTPS. */
async function upstream(t: TestContext, tls: boolean): Promise<number> {
  const play = (socket: Parameters<typeof onRequest>[0]): void =>
    onRequest(socket, ({ body }) => socket.write(saying(`you said ${body.toString()}`)))
  if (!tls) return Number(new URL(await rawServer(t, play)).port)
  return listening(
    t,
    createTlsServer({ key, cert }, play).on('tlsClientError', () => {}),
  )
}

const resolve: AddressResolver = (_hostname, _options, callback) => {
  process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }])
}
const body = [Buffer.from('hello')]

for (const tls of [false, true]) {
  const scheme = tls ? 'https' : 'http'
  for (const kind of ['http', 'https', 'socks5', 'socks5h'] as const) {
    test(`${scheme} goes through a proxy of ${kind}, with its login, over a connection that is kept`, async (t) => {
      const toPort = await upstream(t, tls)
      const rules = { toPort, login: 'ann:se cret', tls: kind === 'https' }
      const played = await (kind.startsWith('socks') ? socksProxy : connectProxy)(t, rules)
      const client = openClient(t, { resolve, authorities: cert })
      const host = kind === 'https' ? 'models.test' : '127.0.0.1'
      const proxy = proxyOf(`${kind}://ann:se%20cret@${host}:${played.port}`)
      const url = `${scheme}://models.test:${toPort}/`
      for (let nth = 0; nth < 3; nth += 1) {
        const reply = await ask(client, url, { origin: originOf(url, proxy), body }).answer
        assert.deepEqual([reply.status, reply.body.toString(), reply.failure], [200, 'you said hello', null])
      }
      // With socks5 the name is resolved here, and only its address is told.
      assert.deepEqual(played.asked, [`${kind === 'socks5' ? '127.0.0.1' : 'models.test'}:${toPort}`])
      assert.deepEqual(played.logins, ['ann:se cret'])
      assert.deepEqual([client.stats.opened, client.stats.reused], [1, 2])
    })
  }
}

test('a proxy that says no is a failure of its own kind, and nothing goes around it', async (t) => {
  const toPort = await upstream(t, false)
  const url = `http://models.test:${toPort}/`
  const client = openClient(t, { resolve })
  const cases = [
    [await connectProxy(t, { toPort, login: 'a:b' }), 'http://x:y@', /another user name or password/],
    [await connectProxy(t, { toPort, refusal: 403 }), 'http://', /status 403/],
    [await socksProxy(t, { toPort, login: 'a:b' }), 'socks5h://x:y@', /another user name or password/],
    [await socksProxy(t, { toPort, login: 'a:b' }), 'socks5h://', /takes no login/],
    [await socksProxy(t, { toPort, refusal: 2 }), 'socks5h://', /not allowed by its rules/],
    [{ port: toPort }, 'socks5://', /closed|SOCKS/],
  ] as const
  for (const [{ port }, scheme, message] of cases) {
    const origin = originOf(url, proxyOf(`${scheme}127.0.0.1:${port}`))
    const { failure } = await ask(client, url, { origin, body, connectTimeoutMs: 1000 }).answer
    assert.ok(failure, 'it went through')
    assert.ok(failure.kind === 'proxy' || failure.kind === 'timeout', failure.kind)
    if (failure.kind === 'proxy') assert.match(failure.message, message)
    assert.deepEqual([failure.sent, failure.answered], [false, false])
    assert.doesNotMatch(failure.message, /x:y/)
  }
})

test('a proxy that falls silent, or talks too early, is given up in time', async (t) => {
  const silent = await rawServer(t, () => {})
  const eager = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
  })
  const endless = await rawServer(t, (socket) => void socket.write('x'.repeat(40_000)))
  const client = openClient(t)
  const kindOf = async (address: string): Promise<string | undefined> => {
    const url = 'http://models.test/'
    const origin = originOf(url, proxyOf(address))
    return (await ask(client, url, { origin, body, connectTimeoutMs: 300 }).answer).failure?.kind
  }
  assert.equal(await kindOf(silent), 'timeout')
  assert.equal(await kindOf(eager), 'proxy')
  assert.equal(await kindOf(endless), 'proxy')
})

test('a forbidden proxy, and a forbidden upstream behind an allowed one, are never called', async (t) => {
  const played = await connectProxy(t, { toPort: await upstream(t, false) })
  const kindOf = async (url: string, proxy: string, from: AddressResolver): Promise<string | undefined> => {
    const client = openClient(t, { resolve: from })
    const origin = originOf(url, proxyOf(proxy))
    return (await ask(client, url, { origin, body }).answer).failure?.kind
  }
  const toPrivate: AddressResolver = (_hostname, _options, callback) => {
    process.nextTick(callback, null, [{ address: '10.0.0.1', family: 4 }])
  }
  assert.equal(await kindOf('http://models.test/', 'http://10.1.2.3:80', resolve), 'forbidden_address')
  assert.equal(await kindOf('http://models.test/', 'http://inside.test:80', toPrivate), 'forbidden_address')
  const own = `http://127.0.0.1:${played.port}`
  assert.equal(await kindOf('http://10.0.0.1/', own, resolve), 'forbidden_address')
  const socks = await socksProxy(t, { toPort: 9 })
  const locally = `socks5://127.0.0.1:${socks.port}`
  assert.equal(await kindOf('http://inside.test/', locally, toPrivate), 'forbidden_address')
  assert.deepEqual([played.asked, socks.asked], [[], []])
})

test('an address of a proxy says what is wrong with it, never its login', () => {
  const wrong = [
    '',
    'proxy',
    'ftp://p:1',
    'http://a:secret@p:1/path',
    'socks5://p?x',
    `http://u:${'s'.repeat(300)}@p`,
  ]
  for (const text of wrong) {
    assert.throws(
      () => proxyOf(text),
      (error: unknown) => error instanceof TypeError && !error.message.includes('secret'),
      text,
    )
  }
  const { kind, tls, host, port, login } = proxyOf('socks5h://[::1]')
  assert.deepEqual([kind, tls, host, port, login], ['socks5h', false, '::1', 1080, null])
  assert.equal(proxyOf('https://proxy.example').port, 443)
})
