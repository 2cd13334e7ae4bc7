// @backend both (cluster in long runs)
/**
 * Protection against SSRF: an upstream's base URL must not reach our own network. Forty ways to write, hide or redirect
 * to a forbidden address are tried when saving, by the test call and by a request. A canary on loopback represents every
 * forbidden address; 127.0.0.2 is allowed.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { describe, test, type TestContext } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { startNameServer } from '../../support/upstream/name-server.ts'

const literals = `
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. 127.255.255.254
  0.0.0.0 0 0x0 [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:0.0.0.0] [::127.0.0.1]
  [64:ff9b::127.0.0.1] [2002:7f00:1::] １２７.０.０.１ ①②⑦.0.0.1 127。0。0。1 localhost LOCALHOST. a.localhost
`
  .trim()
  .split(/\s+/)

const names = {
  'loopback.test': () => ['127.0.0.1'],
  'six.test': () => ['::1'],
  'mapped.test': () => ['::ffff:127.0.0.1'],
  'zero.test': () => ['0.0.0.0'],
  'six-zero.test': () => ['::'],
  'nat64.test': () => ['64:ff9b::7f00:1'],
  'both.test': () => ['127.0.0.1', '::1'],
  // Allowed at the first lookup only (DNS rebinding).
  'rebinding.test': (nth: number) => [nth === 0 ? '127.0.0.2' : '127.0.0.1'],
  'mixed.test': () => ['127.0.0.1', '127.0.0.2', '::1'],
}
const named = [...Object.keys(names), 'LoopBack.TEST', 'loopback.test.']

/** Redirect statuses that the listeners use. */
const redirects = { 302: 'Found', 307: 'Temporary Redirect', 308: 'Permanent Redirect' }

interface Bypass {
  readonly description: string
  readonly fields: { readonly base_url: string; readonly proxy?: string }
  /** It resolves to the allowed address, at least for a time. */
  readonly maySucceed?: boolean
}

function bypassesTo(port: number, redirecting: Readonly<Record<string, number>>): Bypass[] {
  const at = (host: string): Bypass['fields'] => ({ base_url: `http://${host}:${port}/v1` })
  const allowed = at('127.0.0.2').base_url
  return [
    ...literals.map((host) => ({ description: host, fields: at(host) })),
    ...named.map((host) => ({
      description: host,
      fields: at(host),
      maySucceed: /^(?:rebinding|mixed)/.test(host),
    })),
    ...Object.entries(redirecting).map(([status, from]) => ({
      description: `a redirect with ${status}`,
      fields: { base_url: `http://127.0.0.2:${from}/v1` },
    })),
    { description: 'a proxy', fields: { base_url: allowed, proxy: `http://127.0.0.1:${port}` } },
    {
      description: 'a proxy by its name',
      fields: { base_url: allowed, proxy: `socks5h://both.test:${port}` },
    },
    {
      description: 'a name behind a proxy',
      fields: { ...at('loopback.test'), proxy: `socks5://127.0.0.2:${port}` },
    },
  ]
}

/** Listens on one address until the end of the test and responds to every request with these bytes. */
async function startListener(
  t: TestContext,
  [address, port]: [string, number],
  response: string,
): Promise<{ connections: number }> {
  const seen = { connections: 0 }
  const server: Server = createServer((socket) => {
    seen.connections += 1
    socket.on('error', () => {})
    socket.once('data', () => socket.end(response))
  })
  server.listen(port, address)
  await once(server, 'listening')
  t.after(() => server.close())
  return seen
}

const body = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const completion = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`

async function startListeners(
  t: TestContext,
): Promise<{ bypasses: Bypass[]; canaries: { connections: number }[] }> {
  const port = await freePort()
  const canaries = [
    await startListener(t, ['127.0.0.1', port], completion),
    await startListener(t, ['::1', port], completion),
  ]
  await startListener(t, ['127.0.0.2', port], completion)
  const redirecting: Record<string, number> = {}
  for (const [status, reason] of Object.entries(redirects)) {
    redirecting[status] = await freePort()
    const head = `HTTP/1.1 ${status} ${reason}\r\nLocation: http://127.0.0.1:${port}/v1/chat/completions\r\n`
    await startListener(
      t,
      ['127.0.0.2', redirecting[status]],
      `${head}Content-Length: 0\r\nConnection: close\r\n\r\n`,
    )
  }
  return { bypasses: bypassesTo(port, redirecting), canaries }
}

async function startWithNameServer(t: TestContext): Promise<TestServer> {
  const preload = new URL('../../support/server/preload/name-server.ts', import.meta.url).href
  const env = {
    NODE_OPTIONS: `--import ${preload}`,
    NAME_SERVER: await startNameServer(t, names),
    UPSTREAM_ALLOW: '0.0.0.0/0,::/0',
  }
  return startTestServer(t, { env })
}

describe('Forbidden upstream addresses', () => {
  test('Forty ways to a forbidden address – never reach it, by request, test call or model list', async (t) => {
    const { bypasses, canaries } = await startListeners(t)
    assert.ok(bypasses.length >= 40)
    const server = await startWithNameServer(t)
    const bob = await server.account({ balance: '1' })
    const saved: { bypass: Bypass; id: string; model: string }[] = []
    for (const [nth, bypass] of bypasses.entries()) {
      // Saved while the address was allowed; an operator may narrow the list later.
      const { id } = await server.admin<{ id: string }>('POST', '/upstreams', {
        name: `bypass-${nth}`,
        provider: 'openai-compatible',
        credential: 'sk-x',
        ...bypass.fields,
      })
      const model = `model-${nth}`
      await server.model(model, { upstreams: [{ name: `bypass-${nth}` }] })
      saved.push({ bypass, id, model })
    }
    await server.restart({ UPSTREAM_ALLOW: '127.0.0.2/32' })
    const before = canaries.map(({ connections }) => connections)

    for (const { bypass, id, model } of saved) {
      const response = await bob.post(chatRequest(model))
      if (!bypass.maySucceed) assert.equal(response.status, 503, bypass.description)
      await response.text()
      const again = await bob.post(chatRequest(model))
      if (bypass.description !== 'mixed.test') assert.equal(again.status, 503, bypass.description)
      await again.text()
      const result = await server.admin<{ ok: boolean }>('POST', `/upstreams/${id}/test`, { model })
      assert.equal(result.ok, bypass.description === 'mixed.test', bypass.description)
      const models = await server.admin<{ ok: boolean }>('POST', `/upstreams/${id}/fetch-models`)
      assert.equal(models.ok, false, bypass.description)
    }
    for (const host of literals) {
      const fields = {
        name: 'new',
        provider: 'openai-compatible',
        credential: 'sk-x',
        base_url: `http://${host}/v1`,
      }
      const rejected = await server.relay.adminResponse('POST', '/upstreams', fields)
      assert.equal(rejected.status, 400, host)
      assert.equal(((await rejected.json()) as { error: { param: string } }).error.param, 'base_url', host)
    }
    assert.deepEqual(
      canaries.map(({ connections }) => connections),
      before,
      'the canary was called',
    )
    assert.equal(await bob.held(), '0')
  })
})
