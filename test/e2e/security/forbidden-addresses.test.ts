/**
 * Whoever may name an upstream must not reach our own network with it: forty ways to write, hide or redirect to a
 * forbidden address, each tried where it is saved, by the test button, and by a request. A canary on loopback stands for
 * every forbidden address; 127.0.0.2 is the one that is allowed.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { test, type TestContext } from 'node:test'

import { question } from '../../support/server/account.ts'
import { freePort } from '../../support/upstream/unreachable-addresses.ts'
import { openHouse, type House } from '../../support/server/test-server.ts'
import { openNameServer } from '../../support/upstream/name-server.ts'

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
  // Allowed when it is looked at first, and then no more.
  'rebinding.test': (nth: number) => [nth === 0 ? '127.0.0.2' : '127.0.0.1'],
  'mixed.test': () => ['127.0.0.1', '127.0.0.2', '::1'],
}
const named = [...Object.keys(names), 'LoopBack.TEST', 'loopback.test.']

/** Answers every request by sending it on to somewhere else. */
const redirects = { 302: 'Found', 307: 'Temporary Redirect', 308: 'Permanent Redirect' }

interface Trick {
  readonly what: string
  readonly fields: { readonly base_url: string; readonly proxy?: string }
  /** It leads to what is allowed, at least for a time. */
  readonly mayAnswer?: boolean
}

function tricksAt(port: number, redirecting: Readonly<Record<string, number>>): Trick[] {
  const at = (host: string): Trick['fields'] => ({ base_url: `http://${host}:${port}/v1` })
  const allowed = at('127.0.0.2').base_url
  return [
    ...literals.map((host) => ({ what: host, fields: at(host) })),
    ...named.map((host) => ({ what: host, fields: at(host), mayAnswer: /^(?:rebinding|mixed)/.test(host) })),
    ...Object.entries(redirecting).map(([status, from]) => ({
      what: `a redirect with ${status}`,
      fields: { base_url: `http://127.0.0.2:${from}/v1` },
    })),
    { what: 'a proxy', fields: { base_url: allowed, proxy: `http://127.0.0.1:${port}` } },
    { what: 'a proxy by its name', fields: { base_url: allowed, proxy: `socks5h://both.test:${port}` } },
    {
      what: 'a name behind a proxy',
      fields: { ...at('loopback.test'), proxy: `socks5://127.0.0.2:${port}` },
    },
  ]
}

/** Listens on one address until the end of the test, and answers every request with these words. */
async function listener(
  t: TestContext,
  [address, port]: [string, number],
  words: string,
): Promise<{ connections: number }> {
  const seen = { connections: 0 }
  const server: Server = createServer((socket) => {
    seen.connections += 1
    socket.on('error', () => {})
    socket.once('data', () => socket.end(words))
  })
  server.listen(port, address)
  await once(server, 'listening')
  t.after(() => server.close())
  return seen
}

const answer = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const whole = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`

async function place(t: TestContext): Promise<{ tricks: Trick[]; canaries: { connections: number }[] }> {
  const port = await freePort()
  const canaries = [await listener(t, ['127.0.0.1', port], whole), await listener(t, ['::1', port], whole)]
  await listener(t, ['127.0.0.2', port], whole)
  const redirecting: Record<string, number> = {}
  for (const [status, reason] of Object.entries(redirects)) {
    redirecting[status] = await freePort()
    const head = `HTTP/1.1 ${status} ${reason}\r\nLocation: http://127.0.0.1:${port}/v1/chat/completions\r\n`
    await listener(
      t,
      ['127.0.0.2', redirecting[status]],
      `${head}Content-Length: 0\r\nConnection: close\r\n\r\n`,
    )
  }
  return { tricks: tricksAt(port, redirecting), canaries }
}

async function openWithNames(t: TestContext): Promise<House> {
  const fixture = new URL('own-names.fixture.ts', import.meta.url).href
  const env = {
    NODE_OPTIONS: `--import ${fixture}`,
    NAME_SERVER: await openNameServer(t, names),
    UPSTREAM_ALLOW: '0.0.0.0/0,::/0',
  }
  return openHouse(t, { env })
}

test('forty ways to a forbidden address, at three doors each, and nobody is called', async (t) => {
  const { tricks, canaries } = await place(t)
  assert.ok(tricks.length >= 40)
  const house = await openWithNames(t)
  const bob = await house.account({ balance: '1' })
  const saved: { trick: Trick; id: string; model: string }[] = []
  for (const [nth, trick] of tricks.entries()) {
    // Saved while it was allowed, as an operator may have who has narrowed the list since.
    const { id } = await house.admin<{ id: string }>('POST', '/upstreams', {
      name: `trick-${nth}`,
      provider: 'openai-compatible',
      credential: 'sk-x',
      ...trick.fields,
    })
    const model = `model-${nth}`
    await house.model(model, { upstreams: [{ name: `trick-${nth}` }] })
    saved.push({ trick, id, model })
  }
  await house.restart({ UPSTREAM_ALLOW: '127.0.0.2/32' })
  const before = canaries.map(({ connections }) => connections)

  for (const { trick, id, model } of saved) {
    const reply = await bob.post(question(model))
    if (!trick.mayAnswer) assert.equal(reply.status, 503, trick.what)
    await reply.text()
    const again = await bob.post(question(model))
    if (trick.what !== 'mixed.test') assert.equal(again.status, 503, trick.what)
    await again.text()
    const trial = await house.admin<{ ok: boolean }>('POST', `/upstreams/${id}/test`, { model })
    assert.equal(trial.ok, trick.what === 'mixed.test', trick.what)
    const models = await house.admin<{ ok: boolean }>('POST', `/upstreams/${id}/fetch-models`)
    assert.equal(models.ok, false, trick.what)
  }
  for (const host of literals) {
    const fields = {
      name: 'new',
      provider: 'openai-compatible',
      credential: 'sk-x',
      base_url: `http://${host}/v1`,
    }
    const refused = await house.relay.adminReply('POST', '/upstreams', fields)
    assert.equal(refused.status, 400, host)
    assert.equal(((await refused.json()) as { error: { param: string } }).error.param, 'base_url', host)
  }
  assert.deepEqual(
    canaries.map(({ connections }) => connections),
    before,
    'the canary was called',
  )
  assert.equal(await bob.held(), '0')
})
