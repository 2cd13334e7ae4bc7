// @backend sqlite – no storage is involved
/** Every entrance for bodies: none waits for one without end, holds more than its bound, or parses what no one signed. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, describe, test, type TestContext } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'

import { signUpCustomer } from '../../support/console/console-session.ts'
import { ResponsesSocket } from '../../support/client/responses-websocket.ts'
import { responsesRequest } from '../../support/client/responses-api.ts'
import { settingsOf, startProvider } from '../../support/payments/providers.ts'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const KiB = 1024
const epay = await startProvider.epay()
const stripe = await startProvider.stripe()
const server = await sharedTestServer({
  env: {
    ...settingsOf([epay, stripe]),
    SIGN_UP: 'open',
    BODY_TIMEOUT: '300ms',
    BODY_LIMIT: '1MiB',
    BODIES_LIMIT: '16MiB',
    WRITES_PER_MINUTE: '40',
    OPEN_ORDERS: '2',
    ORDERS_PER_HOUR: '3',
  },
})
after(() => Promise.all([epay, stripe].map((provider) => provider[Symbol.asyncDispose]())))
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })
const account = await server.account({ balance: '¥10' })
const customer = await signUpCustomer(server, 'ann@example.com')

const asCaller = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
const asAdmin = { authorization: `Bearer ${server.relay.adminKey}`, 'content-type': 'application/json' }
const fromPage = { origin: server.url, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
const cookie = [...customer.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const signed = {
  'stripe-signature': `t=${Math.floor(Date.now() / 1000)},v1=00`,
  'content-type': 'application/json',
}

interface Entrance {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
}

const entrances: Readonly<Record<string, Entrance>> = {
  'an operation': { path: '/v1/chat/completions', headers: asCaller, maxBytes: 1024 * KiB },
  'the playground': {
    path: '/api/console/chat/completions',
    headers: { ...fromPage, cookie },
    maxBytes: 1024 * KiB,
  },
  'a page without a session': { path: '/api/console/sign-in', headers: fromPage, maxBytes: 16 * KiB },
  'a page with a session': {
    path: '/api/console/keys',
    headers: { ...fromPage, cookie },
    maxBytes: 1024 * KiB,
  },
  'the admin API': { path: '/api/admin/accounts', headers: asAdmin, maxBytes: 1024 * KiB },
  'an upload': { path: '/api/admin/invoices/inv_1/issue', headers: asAdmin, maxBytes: 7 * 1024 * KiB },
  'a webhook that is a form': { path: '/api/payments/epay/notice', headers: form, maxBytes: 64 * KiB },
  'a webhook in JSON': { path: '/api/payments/stripe/notice', headers: signed, maxBytes: 256 * KiB },
}

interface RawResponse {
  readonly socket: Socket
  /** The first response. */
  readonly status: Promise<number>
}

/** Sends a head with this framing; the caller writes the body. */
function send(t: TestContext, { path, headers }: Entrance, framing: string): RawResponse {
  const { host } = new URL(server.url)
  const socket = connect(server.relay.port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}${framing}\r\n\r\n`)
  const status = once(socket, 'data').then(([data]) => Number((data as Buffer).toString('latin1', 9, 12)))
  return { socket, status }
}

async function heldBytes(): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  return Number(/^sluice_request_body_bytes (\d+)$/m.exec(text)?.[1])
}

/** Sends single bytes until the status is there. */
async function trickle(t: TestContext, entrance: Entrance): Promise<number> {
  const { socket, status } = send(t, entrance, 'transfer-encoding: chunked')
  const timer = setInterval(() => socket.write('1\r\nx\r\n'), 20)
  return status.finally(() => clearInterval(timer))
}

async function chat(body: Buffer, encoding: string): Promise<Response> {
  const headers = { ...asCaller, 'content-encoding': encoding }
  return fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body: new Uint8Array(body) })
}

describe('Entrances for bodies', () => {
  for (const [name, entrance] of Object.entries(entrances)) {
    test(`${name} rejects half a body, a slow one, a large one and none`, async (t) => {
      const half = send(t, entrance, 'content-length: 1000')
      half.socket.write('{"a":')
      const large = send(t, entrance, `content-length: ${entrance.maxBytes + 64 * KiB}`)
      const none = send(t, entrance, 'content-length: 0')
      assert.deepEqual(await Promise.all([half.status, large.status, trickle(t, entrance)]), [400, 413, 400])
      assert.ok([400, 404].includes(await none.status), String(await none.status))
      await waitUntil(async () => (await heldBytes()) === 0)
    })
  }

  test('A WebSocket rejects half a frame and a large one of an account without money', async (t) => {
    const rich = await ResponsesSocket.open(server.url, account.key.secret)
    const poor = await ResponsesSocket.open(server.url, (await server.account()).key.secret)
    t.after(() => [rich, poor].map(({ webSocket }) => webSocket.terminate()))
    rich.webSocket.send('{"type":', { fin: false })
    poor.create(responsesRequest('m', { input: 'x'.repeat(100 * KiB) }))
    assert.equal((await rich.error()).status, 400)
    assert.equal((await poor.error()).error.code, 'insufficient_quota')
    assert.deepEqual(await Promise.all([rich.closed, poor.closed]), [1013, 1013])
    await waitUntil(async () => (await heldBytes()) === 0)
  })
})

describe('Content codings', () => {
  test('A compressed request is served like any other, at most to its bounds', async () => {
    const body = Buffer.from(JSON.stringify(chatRequest('m')))
    for (const [encoding, bytes] of [
      ['zstd', zstdCompressSync(body)],
      ['gzip', gzipSync(body)],
      ['identity', body],
    ] as const)
      assert.equal((await chat(bytes, encoding)).status, 200, encoding)
    assert.equal((await chat(gzipSync(Buffer.alloc(1024 * KiB + 1)), 'gzip')).status, 413)
    assert.equal((await chat(body, 'gzip')).status, 400)
    await waitUntil(async () => (await heldBytes()) === 0)
  })

  test('An unknown coding is 415 with the codings that are accepted, at every entrance', async () => {
    for (const { path, headers } of Object.values(entrances)) {
      const encoded = { ...headers, 'content-encoding': 'compress' }
      const response = await fetch(`${server.url}${path}`, { method: 'POST', headers: encoded, body: '{}' })
      assert.equal(response.status, 415, path)
      assert.equal(response.headers.get('accept-encoding'), 'zstd, gzip, deflate, br', path)
    }
  })
})

describe('Headers x-sluice-*', () => {
  test('An unknown one is 400 naming it where a call is billed, and ignored elsewhere', async () => {
    const headers = { ...asCaller, 'x-sluice-max-cost': '0.05' }
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/embeddings']) {
      const body = JSON.stringify(chatRequest('m'))
      const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body })
      assert.equal(response.status, 400, path)
      assert.match(await response.text(), /x-sluice-max-cost/, path)
    }
    for (const path of ['/v1/models', '/v1/balance'])
      assert.equal((await fetch(`${server.url}${path}`, { headers })).status, 200, path)
    const options = { headers: { 'x-sluice-run': 'a' } }
    await assert.rejects(ResponsesSocket.open(server.url, account.key.secret, options))
  })
})

describe('What the sessions of an account write', () => {
  test('Unpaid orders and orders of an hour are bounded, and those of the admin API are not', async () => {
    const ann = await signUpCustomer(server, 'orders@example.com')
    const order = async (): Promise<{ status: number; id: string }> => {
      const response = await ann.fetch('POST', '/api/console/billing/orders', {
        method: 'epay',
        amount: '10',
      })
      return { status: response.status, id: ((await response.json()) as { id?: string }).id ?? '' }
    }
    const all = await Promise.all([order(), order(), order(), order()])
    const statuses = all.map(({ status }) => status).toSorted((a, b) => a - b)
    assert.deepEqual(statuses, [200, 200, 429, 429])
    const cancel = ({ id }: { readonly id: string }) =>
      ann.fetch('POST', `/api/console/billing/orders/${id}/cancel`)
    for (const made of all.filter(({ status }) => status === 200))
      assert.equal((await cancel(made)).status, 200)
    assert.equal((await order()).status, 200)
    assert.equal((await order()).status, 429)
    const { account: own } = await ann.session()
    await server.admin('POST', `/accounts/${own?.id ?? ''}/orders`, { method: 'epay', amount: '10' })
  })

  test('Changes of a minute are bounded, and reads are not', async () => {
    const ann = await signUpCustomer(server, 'writes@example.com')
    const statuses: number[] = []
    for (let sent = 0; sent < 42; sent += 1)
      statuses.push((await ann.fetch('POST', '/api/console/keys', {})).status)
    assert.deepEqual([...new Set(statuses)], [400, 429])
    assert.equal((await ann.fetch('GET', '/api/console/keys')).status, 200)
  })
})

describe('Payment webhooks', () => {
  const sendWebhook = (method: string, body: string, headers: Readonly<Record<string, string>> = form) =>
    fetch(`${server.url}/api/payments/${method}/notice`, { method: 'POST', headers, body })

  test('A method that is not configured is 404 before its body has arrived', async (t) => {
    const entrance = { path: '/api/payments/anything/notice', headers: form, maxBytes: 0 }
    assert.equal(await send(t, entrance, 'content-length: 1000').status, 404)
  })

  test('One that is too large is counted, and the open orders of its method are checked', async () => {
    const order = await server.admin<{ id: string }>('POST', `/accounts/${account.id}/orders`, {
      method: 'epay',
      amount: '10',
    })
    epay.pay(order.id)
    assert.equal((await sendWebhook('epay', `sign=1${'&a=1'.repeat(100)}`)).status, 413)
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    assert.match(metrics, /webhooks_rejected_total\{method="epay",reason="size"\} [1-9]/)
    await waitUntil(async () => {
      const { state } = await server.admin<{ state: string }>('GET', `/orders/${order.id}`)
      return state === 'paid'
    })
  })

  test('One without a signature is 400, and after many the network gets 429', async () => {
    assert.equal((await sendWebhook('stripe', '{}', { 'content-type': 'application/json' })).status, 400)
    const statuses = new Set<number>()
    for (let sent = 0; sent < 70; sent += 1)
      statuses.add((await sendWebhook('epay', 'pid=1&type=wxpay')).status)
    assert.deepEqual([...statuses], [400, 429])
    assert.equal((await sendWebhook('epay', 'pid=1&sign=00')).status, 429)
  })
})
