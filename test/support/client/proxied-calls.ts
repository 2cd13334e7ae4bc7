/** Calls through a proxy that is hostile, then honest. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { startConnectProxy, startSocksProxy } from '../../../src/lib/http-client/proxy.fixture.ts'
import { Prng } from '../../../sim/prng.ts'
import type { SeedRange } from '../runner/seeds.ts'
import { chatRequest, type Account } from '../server/account.ts'
import type { RegisteredUpstream, TestServer } from '../server/test-server.ts'
import { connectModes, HostileProxy, socksModes, type ProxyMode } from '../upstream/hostile-proxy.ts'
import { respondWith } from '../upstream/scripted-responses.ts'
import { readError } from './responses.ts'

const login = 'ann:proxy-canary-7f3a'
const credential = 'sk-upstream-canary-91bc'
const encodedLogin = Buffer.from(login).toString('base64')
const secrets = ['proxy-canary-7f3a', encodedLogin, credential]
const connectMs = 400
/** Far more than the timeout, for a machine that is slow. */
const maxCallMs = 20_000

export const proxyKinds = { http: connectModes(`${login} ${encodedLogin}`), socks5: socksModes } as const
export type ProxyKind = keyof typeof proxyKinds

export class ProxiedCalls {
  readonly #server: TestServer
  readonly #kind: ProxyKind
  readonly #proxy = new HostileProxy()
  readonly #upstream: RegisteredUpstream
  readonly #account: Account

  private constructor(
    server: TestServer,
    kind: ProxyKind,
    { upstream, account }: { upstream: RegisteredUpstream; account: Account },
  ) {
    this.#server = server
    this.#kind = kind
    this.#upstream = upstream
    this.#account = account
  }

  /** Registers an upstream behind the hostile proxy. */
  static async start(server: TestServer, kind: ProxyKind): Promise<ProxiedCalls> {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model(kind, { upstreams: [upstream] })
    const calls = new ProxiedCalls(server, kind, {
      upstream,
      account: await server.account({ balance: '¥100' }),
    })
    await calls.#proxy.listen()
    await server.admin('PATCH', `/upstreams/${upstream.id}`, {
      proxy: `${kind}://${login}@127.0.0.1:${calls.#proxy.port}`,
      credential,
      timeouts: { connect_ms: connectMs },
    })
    return calls
  }

  close(): void {
    this.#proxy.close()
  }

  /** No call passes the proxy in this mode; the next one does, through an honest proxy at the same address. */
  async run(t: TestContext, mode: ProxyMode): Promise<void> {
    const received = this.#proxy.received.length
    const requests = this.#upstream.requests.length
    for (const stream of [false, true]) await this.#callInVain(mode, stream)
    await this.#testInVain(mode)
    if (mode.isOpening !== true) {
      const text = this.#proxy.received.slice(received)
      assert.ok(!text.includes('POST ') && !text.includes(credential), 'the proxy received the request')
    }
    assert.equal(this.#upstream.requests.length, requests)
    await this.#callHonestly(t)
  }

  /** The same with handshakes that are damaged at any byte, by seed. */
  async runDamaged(t: TestContext, { from, count }: SeedRange): Promise<void> {
    for (let seed = from; seed < from + count; seed += 1) {
      try {
        await this.#callInVain(damagedMode(this.#kind, seed), seed % 2 === 0)
      } catch (cause) {
        throw new Error(`seed ${seed}`, { cause })
      }
    }
    await this.#callHonestly(t)
  }

  /** Neither the admin API nor the log shows the login or the credential. */
  async assertSecretsHidden(): Promise<void> {
    const id = encodeURIComponent(this.#upstream.id)
    for (const path of [
      `/upstreams/${id}`,
      '/upstreams',
      '/upstreams/health',
      '/requests',
      '/audit',
      '/settings',
    ])
      assertNoSecret(JSON.stringify(await this.#server.admin('GET', path)), path)
    assertNoSecret(this.#server.log.join('\n'), 'the log')
    assertNoSecret(await (await fetch(`${this.#server.url}/metrics`)).text(), '/metrics')
  }

  async #callInVain(mode: ProxyMode, stream: boolean): Promise<void> {
    const { connections } = this.#proxy
    this.#proxy.mode = mode
    const startedMs = performance.now()
    const response = await this.#account.post(chatRequest(this.#kind, { stream }))
    assertNoSecret(await response.clone().text(), 'the response')
    assert.equal(response.status, 503)
    assert.equal((await readError(response)).code, 'upstream_unavailable')
    assert.ok(performance.now() - startedMs < maxCallMs)
    assert.ok(this.#proxy.connections > connections, 'the proxy was not called')
  }

  /** The operator's test of the upstream names the failure, without the login. */
  async #testInVain(mode: ProxyMode): Promise<void> {
    this.#proxy.mode = mode
    const id = encodeURIComponent(this.#upstream.id)
    const result = await this.#server.admin<{ ok: boolean; message: string }>(
      'POST',
      `/upstreams/${id}/test`,
      {
        model: this.#kind,
      },
    )
    assert.equal(result.ok, false)
    assertNoSecret(JSON.stringify(result), 'the test of the upstream')
  }

  async #callHonestly(t: TestContext): Promise<void> {
    const toPort = Number(new URL(this.#upstream.url).port)
    const start = this.#kind === 'http' ? startConnectProxy : startSocksProxy
    const honest = await start(t, { toPort, login })
    this.#proxy.honestPort = honest.port
    this.#proxy.mode = null
    const response = await this.#account.post(chatRequest(this.#kind))
    assert.equal(response.status, 200, await response.clone().text())
    assert.match(await response.text(), /Hello!/)
    assert.deepEqual(honest.logins, [login])
  }
}

/** The replies of a mode, damaged at up to three bytes; then the connection closes. */
function damagedMode(kind: ProxyKind, seed: number): ProxyMode {
  const prng = new Prng(seed)
  const modes = proxyKinds[kind].filter(({ end }) => end !== 'flood')
  const replies = prng.pick(modes).replies.map((reply) => {
    let bytes = Buffer.from(typeof reply === 'string' ? Buffer.from(reply, 'latin1') : reply)
    for (let count = prng.below(4); count > 0; count -= 1) {
      const at = prng.below(bytes.length + 1)
      const byte = prng.bool(0.6) ? prng.pick([...Buffer.from('\r\n\0\x01\x05 12')]) : prng.below(256)
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + prng.below(3))])
    }
    return bytes
  })
  return { name: `damaged handshake ${seed}`, replies, end: 'close', isOpening: true }
}

function assertNoSecret(text: string, where: string): void {
  for (const secret of secrets) assert.ok(!text.includes(secret), `${where} shows ${secret}`)
}
