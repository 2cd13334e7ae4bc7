// @backend both
/** API keys, allowed addresses and CORS: every change applies to the next request. */

import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import type { Account } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { startTestServer, sharedTestServer } from '../../support/server/test-server.ts'
import { pauseAfter } from '../../support/upstream/fault-injection.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const page = 'https://app.example'
const server = await sharedTestServer({
  env: { TRUST_PROXY: '127.0.0.1,10.0.0.0/8', CORS_ORIGINS: page, WORKERS: '2' },
})
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 5 }))
for (const id of ['m', 'vendor/large', 'other']) await server.model(id, { upstreams: [upstream] })

async function assertStatus(
  account: Account,
  status: number,
  code?: string,
  headers?: Record<string, string>,
) {
  // A new connection for each request, so that both workers are tested.
  for (let call = 0; call < 4; call++) {
    const response = await account.post(chatRequest('m'), { headers: { connection: 'close', ...headers } })
    assert.equal(response.status, status)
    if (code !== undefined) assert.equal((await readError(response)).code, code)
    else await response.text()
  }
}

/** Lets the key expire within a second; later on a machine that takes longer for the change. Returns the time. */
async function expireSoon({ key }: Account): Promise<number> {
  for (let inMs = 500; ; inMs *= 4) {
    const expiresAt = Date.now() + inMs
    const body = { expires_at: new Date(expiresAt).toISOString() }
    const response = await server.relay.adminResponse('PATCH', `/keys/${key.id}`, body)
    // A time that has passed when the change arrives is invalid.
    if (response.ok || inMs > 60_000) {
      assert.equal(response.status, 200, await response.text())
      return expiresAt
    }
  }
}

async function waitUntilTime(time: number): Promise<void> {
  await waitUntil(() => Date.now() > time, 'the time')
}

/** The status of a request with repeated header lines, which fetch would join. */
async function requestStatus(account: Account, headers: Record<string, string | string[]>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const baseHeaders = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
  const request = httpRequest(
    `${server.url}/v1/chat/completions`,
    { method: 'POST', headers: { ...baseHeaders, ...headers } },
    (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    },
  )
  request.on('error', reject)
  request.end(JSON.stringify(chatRequest('m')))
  return promise
}

const requestedHeaders = 'authorization,content-type,user-agent,x-stainless-helper,x-title'

/** Sends a CORS preflight; fetch cannot set its origin. */
async function preflight(origin: string): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': requestedHeaders,
  }
  const request = httpRequest(
    `${server.url}/v1/chat/completions`,
    { method: 'OPTIONS', headers },
    (response) => {
      response.resume()
      resolve({ status: response.statusCode, ...response.headers })
    },
  )
  request.on('error', reject).end()
  return promise
}

describe('API keys', () => {
  test('Disabled key – is rejected from the next request and works again when enabled', async () => {
    const account = await server.account({ balance: '¥1' })
    await assertStatus(account, 200)
    await server.admin('PATCH', `/keys/${account.key.id}`, { status: 'disabled' })
    await assertStatus(account, 401, 'invalid_api_key')
    await server.admin('PATCH', `/keys/${account.key.id}`, { status: 'active' })
    await assertStatus(account, 200)
  })

  test('Deleted key – is rejected from the next request; its running request is billed', async () => {
    const account = await server.account({ balance: '¥1' })
    const resume = Promise.withResolvers<void>()
    upstream.next(pauseAfter(2, resume.promise, respondWith('Hello!', { input: 10, output: 5 })))
    const running = await account.post(chatRequest('m', { stream: true }))
    await server.admin('DELETE', `/keys/${account.key.id}`)
    await assertStatus(account, 401, 'invalid_api_key')
    resume.resolve()
    assert.match(await running.text(), /\[DONE\]/)
    assert.equal(await account.balance(), '0.99997')
  })

  test('Several keys of an account – deleting one does not affect the others', async () => {
    const account = await server.account({ balance: '¥1' })
    const first = account.key
    await account.newKey()
    await server.admin('DELETE', `/keys/${first.id}`)
    await assertStatus(account, 200)
  })

  test('Expired key – is rejected from its expiry time', async () => {
    const hourMs = 3_600_000
    const inAnHour = new Date(Date.now() + hourMs).toISOString()
    const account = await server.account({ balance: '¥1', key: { expires_at: inAnHour } })
    await assertStatus(account, 200)
    const expiresAt = await expireSoon(account)
    await waitUntilTime(expiresAt)
    await assertStatus(account, 401, 'invalid_api_key')
  })

  test('Key restricted to models – calls and lists only these', async () => {
    const account = await server.account({ balance: '¥1', key: { models: ['m', 'vendor/large'] } })
    await assertStatus(account, 200)
    const response = await account.post(chatRequest('other'))
    const { code, param, type } = await readError(response)
    assert.deepEqual(
      [response.status, type, code, param],
      [403, 'permission_error', 'model_not_allowed', 'model'],
    )
    const { data } = (await (await account.get('/v1/models')).json()) as { data: Record<string, unknown>[] }
    assert.deepEqual(new Set(data.map(({ id }) => id)), new Set(['m', 'vendor/large']))
    for (const { object, created, owned_by: owner } of data) {
      assert.deepEqual([object, typeof created, typeof owner], ['model', 'number', 'string'])
    }
    for (const path of ['/v1/models/vendor/large', '/models/vendor%2Flarge']) {
      assert.equal(((await (await account.get(path)).json()) as { id: string }).id, 'vendor/large')
    }
    assert.equal((await account.get('/v1/models/other')).status, 403)
  })
})

describe('Client addresses', () => {
  test('Key restricted to addresses – only a trusted proxy may set the client address', async () => {
    const account = await server.account({ balance: '¥1', key: { ips: ['203.0.113.0/24', '2001:db8::/32'] } })
    const forwardedFor = (address: string) => ({ 'x-forwarded-for': address })
    for (const allowed of [
      '203.0.113.9',
      '198.51.100.1, 203.0.113.9',
      '203.0.113.9, 10.1.2.3',
      '2001:db8::7',
    ]) {
      await assertStatus(account, 200, undefined, forwardedFor(allowed))
    }
    await assertStatus(account, 403, 'address_not_allowed')
    for (const wrong of ['198.51.100.1', '203.0.113.9, 198.51.100.1', 'unknown', '203.0.113.9, unknown']) {
      await assertStatus(account, 403, 'address_not_allowed', forwardedFor(wrong))
    }
  })

  test('Repeated headers – are joined: forwarded addresses count, two different keys are rejected', async () => {
    const account = await server.account({ balance: '¥1', key: { ips: ['203.0.113.0/24'] } })
    const spoofed = { 'x-forwarded-for': ['203.0.113.9', '198.51.100.1'] }
    assert.equal(await requestStatus(account, spoofed), 403)
    const appended = { 'x-forwarded-for': ['198.51.100.1', '203.0.113.9'] }
    assert.equal(await requestStatus(account, appended), 200)
    const other = await server.account({ balance: '¥1' })
    assert.equal(await requestStatus(other, { 'idempotency-key': ['a1', 'a2'] }), 400)
    assert.equal(await requestStatus(other, { 'idempotency-key': ['a1', 'a1'] }), 200)
  })

  test('Without trusted proxies and CORS origins – X-Forwarded-For and Origin have no effect', async (t) => {
    const plain = await startTestServer(t)
    await plain.model('m', { upstreams: [await plain.upstream(respondWith('Hello!'))] })
    const account = await plain.account({ balance: '¥1', key: { ips: ['203.0.113.0/24'] } })
    await assertStatus(account, 403, 'address_not_allowed', { 'x-forwarded-for': '203.0.113.9' })
    await account.newKey({ ips: ['127.0.0.1'] })
    await assertStatus(account, 200, undefined, { 'x-forwarded-for': '203.0.113.9' })
    const response = await account.get('/v1/models', { origin: page })
    assert.ok(![...response.headers.keys()].some((name) => name.startsWith('access-control-')))
    assert.equal((await fetch(`${plain.url}/v1/models`, { method: 'OPTIONS' })).status, 405)
    await plain.assertNoOpenHolds()
  })
})

describe('CORS', () => {
  test('Configured CORS origin – may call and read the retry headers; other origins may not', async () => {
    const account = await server.account({ balance: '¥1' })
    const { status, ...allowed } = await preflight(page)
    assert.equal(status, 204)
    assert.equal(allowed['access-control-allow-origin'], page)
    assert.equal(allowed['access-control-allow-headers'], requestedHeaders)
    assert.match(String(allowed['access-control-allow-methods']), /POST/)
    for (const body of [chatRequest('m'), chatRequest('no-such-model'), chatRequest('m', { stream: true })]) {
      const { headers } = await account.post(body, { headers: { origin: page } })
      assert.equal(headers.get('access-control-allow-origin'), page)
      assert.equal(headers.get('vary'), 'origin')
      const readable = headers.get('access-control-expose-headers') ?? ''
      for (const name of [
        'x-request-id',
        'retry-after-ms',
        'x-should-retry',
        'x-ratelimit-remaining-requests',
      ]) {
        assert.ok(readable.includes(name), `${name} is not exposed`)
      }
    }
    assert.equal((await preflight('https://evil.example'))['access-control-allow-origin'], undefined)
    const evil = await account.get('/v1/models', { origin: 'https://evil.example' })
    assert.equal(evil.headers.get('access-control-allow-origin'), null)
  })
})
