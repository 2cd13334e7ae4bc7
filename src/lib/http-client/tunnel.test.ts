import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { AddressResolver } from '../address-guard.ts'
import { cert, key } from '../certificate.fixture.ts'
import {
  send,
  listen,
  onRequest,
  createTestClient,
  startRawServer,
  okResponse,
} from './http-client.fixture.ts'
import { parseOrigin } from './http-client.ts'
import { startConnectProxy, startSocksProxy } from './proxy.fixture.ts'
import { parseProxy } from './proxy.ts'

/** Starts an HTTP or HTTPS upstream. */
async function startUpstream(t: TestContext, tls: boolean): Promise<number> {
  const respond = (socket: Parameters<typeof onRequest>[0]): void =>
    onRequest(socket, ({ body }) => socket.write(okResponse(`you said ${body.toString()}`)))
  if (!tls) return Number(new URL(await startRawServer(t, respond)).port)
  return listen(
    t,
    createTlsServer({ key, cert }, respond).on('tlsClientError', () => {}),
  )
}

const resolve: AddressResolver = (_hostname, _options, callback) => {
  process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }])
}
const body = [Buffer.from('hello')]

describe('proxy tunnel', () => {
  for (const tls of [false, true]) {
    const scheme = tls ? 'https' : 'http'
    for (const kind of ['http', 'https', 'socks5', 'socks5h'] as const) {
      test(`${scheme} – works through a ${kind} proxy with login, on a reused connection`, async (t) => {
        const toPort = await startUpstream(t, tls)
        const options = { toPort, login: 'ann:se cret', tls: kind === 'https' }
        const proxyServer = await (kind.startsWith('socks') ? startSocksProxy : startConnectProxy)(t, options)
        const client = createTestClient(t, { resolve, authorities: cert })
        const host = kind === 'https' ? 'models.test' : '127.0.0.1'
        const proxy = parseProxy(`${kind}://ann:se%20cret@${host}:${proxyServer.port}`)
        const url = `${scheme}://models.test:${toPort}/`
        for (let nth = 0; nth < 3; nth += 1) {
          const response = await send(client, url, { origin: parseOrigin(url, proxy), body }).response
          assert.deepEqual(
            [response.status, response.body.toString(), response.failure],
            [200, 'you said hello', null],
          )
        }
        // With socks5 the name is resolved here, and the proxy gets only the address.
        assert.deepEqual(proxyServer.targets, [
          `${kind === 'socks5' ? '127.0.0.1' : 'models.test'}:${toPort}`,
        ])
        assert.deepEqual(proxyServer.logins, ['ann:se cret'])
        assert.deepEqual([client.stats.opened, client.stats.reused], [1, 2])
      })
    }
  }

  test('rejection – is a proxy failure, and the request does not bypass the proxy', async (t) => {
    const toPort = await startUpstream(t, false)
    const url = `http://models.test:${toPort}/`
    const client = createTestClient(t, { resolve })
    const cases = [
      [
        await startConnectProxy(t, { toPort, login: 'a:b' }),
        'http://x:y@',
        /rejected the user name or password/,
      ],
      [await startConnectProxy(t, { toPort, rejectWith: 403 }), 'http://', /status 403/],
      [await startConnectProxy(t, { toPort, rejectWith: 2000 }), 'http://', /does not speak HTTP/],
      [
        await startSocksProxy(t, { toPort, login: 'a:b' }),
        'socks5h://x:y@',
        /rejected the user name or password/,
      ],
      [
        await startSocksProxy(t, { toPort, login: 'a:b' }),
        'socks5h://',
        /none of the supported login methods/,
      ],
      [await startSocksProxy(t, { toPort, rejectWith: 2 }), 'socks5h://', /not allowed by its rules/],
      [{ port: toPort }, 'socks5://', /closed|SOCKS/],
    ] as const
    for (const [{ port }, scheme, message] of cases) {
      const origin = parseOrigin(url, parseProxy(`${scheme}127.0.0.1:${port}`))
      const { failure } = await send(client, url, { origin, body, connectTimeoutMs: 1000 }).response
      assert.ok(failure, 'the request succeeded')
      assert.ok(failure.kind === 'proxy' || failure.kind === 'timeout', failure.kind)
      if (failure.kind === 'proxy') assert.match(failure.message, message)
      assert.deepEqual([failure.sent, failure.hasResponse], [false, false])
      assert.doesNotMatch(failure.message, /x:y/)
    }
  })

  test('silent or premature proxy – fails in time', async (t) => {
    const silent = await startRawServer(t, () => {})
    const eager = await startRawServer(t, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
    })
    const endless = await startRawServer(t, (socket) => void socket.write('x'.repeat(40_000)))
    const client = createTestClient(t)
    const failureKind = async (address: string): Promise<string | undefined> => {
      const url = 'http://models.test/'
      const origin = parseOrigin(url, parseProxy(address))
      return (await send(client, url, { origin, body, connectTimeoutMs: 300 }).response).failure?.kind
    }
    assert.equal(await failureKind(silent), 'timeout')
    assert.equal(await failureKind(eager), 'proxy')
    assert.equal(await failureKind(endless), 'proxy')
  })

  test('address guard – neither a forbidden proxy nor a forbidden upstream is called', async (t) => {
    const proxyServer = await startConnectProxy(t, { toPort: await startUpstream(t, false) })
    const failureKind = async (
      url: string,
      proxy: string,
      from: AddressResolver,
    ): Promise<string | undefined> => {
      const client = createTestClient(t, { resolve: from })
      const origin = parseOrigin(url, parseProxy(proxy))
      return (await send(client, url, { origin, body }).response).failure?.kind
    }
    const toPrivate: AddressResolver = (_hostname, _options, callback) => {
      process.nextTick(callback, null, [{ address: '10.0.0.1', family: 4 }])
    }
    assert.equal(await failureKind('http://models.test/', 'http://10.1.2.3:80', resolve), 'forbidden_address')
    assert.equal(
      await failureKind('http://models.test/', 'http://inside.test:80', toPrivate),
      'forbidden_address',
    )
    const proxyUrl = `http://127.0.0.1:${proxyServer.port}`
    assert.equal(await failureKind('http://10.0.0.1/', proxyUrl, resolve), 'forbidden_address')
    const socks = await startSocksProxy(t, { toPort: 9 })
    const locally = `socks5://127.0.0.1:${socks.port}`
    assert.equal(await failureKind('http://inside.test/', locally, toPrivate), 'forbidden_address')
    assert.deepEqual([proxyServer.targets, socks.targets], [[], []])
  })

  test('parseProxy – names the problem of a URL and never its login', () => {
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
        () => parseProxy(text),
        (error: unknown) => error instanceof TypeError && !error.message.includes('secret'),
        text,
      )
    }
    const { kind, tls, host, port, login } = parseProxy('socks5h://[::1]')
    assert.deepEqual([kind, tls, host, port, login], ['socks5h', false, '::1', 1080, null])
    assert.equal(parseProxy('https://proxy.example').port, 443)
  })
})
