/** Who may call, from where, and what a key may do: honoured at the next call, whatever changes. */

import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import type { Account } from './support/server/account.ts'
import { refusalIn } from './support/client/responses.ts'
import { openHouse, shareHouse } from './support/server/test-server.ts'
import { pausingAfter } from './support/upstream/fault-injection.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const page = 'https://app.example'
const house = await shareHouse({
  env: { TRUST_PROXY: '127.0.0.1,10.0.0.0/8', CORS_ORIGINS: page, WORKERS: '2' },
})
const upstream = await house.upstream(saying('Hello!', { input: 10, output: 5 }))
for (const id of ['m', 'vendor/large', 'other']) await house.model(id, { upstreams: [upstream] })

async function expect(account: Account, status: number, code?: string, headers?: Record<string, string>) {
  // Both workers have to know: each call has a connection of its own.
  for (let call = 0; call < 4; call++) {
    const reply = await account.post(question('m'), { headers: { connection: 'close', ...headers } })
    assert.equal(reply.status, status)
    if (code !== undefined) assert.equal((await refusalIn(reply)).code, code)
    else await reply.text()
  }
}

test('a key that is disabled is refused from the next call on, and serves again when enabled', async () => {
  const account = await house.account({ balance: '¥1' })
  await expect(account, 200)
  await house.admin('PATCH', `/keys/${account.key.id}`, { status: 'disabled' })
  await expect(account, 401, 'invalid_api_key')
  await house.admin('PATCH', `/keys/${account.key.id}`, { status: 'active' })
  await expect(account, 200)
})

test('a key that is deleted is refused from the next call on; what it has running ends and is paid for', async () => {
  const account = await house.account({ balance: '¥1' })
  const word = Promise.withResolvers<void>()
  upstream.next(pausingAfter(2, word.promise, saying('Hello!', { input: 10, output: 5 })))
  const running = await account.post(question('m', { stream: true }))
  await house.admin('DELETE', `/keys/${account.key.id}`)
  await expect(account, 401, 'invalid_api_key')
  word.resolve()
  assert.match(await running.text(), /\[DONE\]/)
  assert.equal(await account.balance(), '0.99997')
})

test('an account may hold several keys, and losing one does not touch the others', async () => {
  const account = await house.account({ balance: '¥1' })
  const first = account.key
  await account.newKey()
  await house.admin('DELETE', `/keys/${first.id}`)
  await expect(account, 200)
})

test('a key is refused once it has expired, without anybody doing anything', async () => {
  const expiresAt = Date.now() + 400
  const account = await house.account({
    balance: '¥1',
    key: { expires_at: new Date(expiresAt).toISOString() },
  })
  await expect(account, 200)
  while (Date.now() <= expiresAt)
    await new Promise((resolve) => setTimeout(resolve, expiresAt + 1 - Date.now()))
  await expect(account, 401, 'invalid_api_key')
})

test('a key for some models calls and sees only these', async () => {
  const account = await house.account({ balance: '¥1', key: { models: ['m', 'vendor/large'] } })
  await expect(account, 200)
  const reply = await account.post(question('other'))
  const { code, param, type } = await refusalIn(reply)
  assert.deepEqual([reply.status, type, code, param], [403, 'permission_error', 'model_not_allowed', 'model'])
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

test('a key for some addresses is refused from others; only a trusted proxy may say who calls', async () => {
  const account = await house.account({ balance: '¥1', key: { ips: ['203.0.113.0/24', '2001:db8::/32'] } })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  for (const allowed of [
    '203.0.113.9',
    '198.51.100.1, 203.0.113.9',
    '203.0.113.9, 10.1.2.3',
    '2001:db8::7',
  ]) {
    await expect(account, 200, undefined, from(allowed))
  }
  await expect(account, 403, 'address_not_allowed')
  for (const wrong of ['198.51.100.1', '203.0.113.9, 198.51.100.1', 'unknown', '203.0.113.9, unknown']) {
    await expect(account, 403, 'address_not_allowed', from(wrong))
  }
})

/** What a caller is answered whose headers come in several lines of one name; fetch would join them. */
async function statusWith(account: Account, headers: Record<string, string | string[]>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const known = { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' }
  const sent = httpRequest(
    `${house.url}/v1/chat/completions`,
    { method: 'POST', headers: { ...known, ...headers } },
    (reply) => {
      reply.resume()
      resolve(reply.statusCode ?? 0)
    },
  )
  sent.on('error', reject)
  sent.end(JSON.stringify(question('m')))
  return promise
}

test('headers in several lines are one list: what a proxy adds counts, and of two keys neither does', async () => {
  const account = await house.account({ balance: '¥1', key: { ips: ['203.0.113.0/24'] } })
  const spoofed = { 'x-forwarded-for': ['203.0.113.9', '198.51.100.1'] }
  assert.equal(await statusWith(account, spoofed), 403)
  const added = { 'x-forwarded-for': ['198.51.100.1', '203.0.113.9'] }
  assert.equal(await statusWith(account, added), 200)
  const other = await house.account({ balance: '¥1' })
  assert.equal(await statusWith(other, { 'idempotency-key': ['a1', 'a2'] }), 400)
  assert.equal(await statusWith(other, { 'idempotency-key': ['a1', 'a1'] }), 200)
})

test('without trusted proxies nobody may say who calls, and no web page may call', async (t) => {
  const plain = await openHouse(t)
  await plain.model('m', { upstreams: [await plain.upstream(saying('Hello!'))] })
  const account = await plain.account({ balance: '¥1', key: { ips: ['203.0.113.0/24'] } })
  await expect(account, 403, 'address_not_allowed', { 'x-forwarded-for': '203.0.113.9' })
  await account.newKey({ ips: ['127.0.0.1'] })
  await expect(account, 200, undefined, { 'x-forwarded-for': '203.0.113.9' })
  const reply = await account.get('/v1/models', { origin: page })
  assert.ok(![...reply.headers.keys()].some((name) => name.startsWith('access-control-')))
  assert.equal((await fetch(`${plain.url}/v1/models`, { method: 'OPTIONS' })).status, 405)
  await plain.nothingHeld()
})

/** What a browser sends before a page's first call; fetch does not let us name the origin of a preflight. */
async function preflight(origin: string): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  }
  const asked = httpRequest(`${house.url}/v1/chat/completions`, { method: 'OPTIONS', headers }, (reply) => {
    reply.resume()
    resolve({ status: reply.statusCode, ...reply.headers })
  })
  asked.on('error', reject).end()
  return promise
}

test('a page that the operator names may call from a browser, and read what tells it to wait; others may not', async () => {
  const account = await house.account({ balance: '¥1' })
  const { status, ...allowed } = await preflight(page)
  assert.equal(status, 204)
  assert.equal(allowed['access-control-allow-origin'], page)
  assert.match(String(allowed['access-control-allow-headers']), /authorization/)
  assert.match(String(allowed['access-control-allow-methods']), /POST/)
  for (const body of [question('m'), question('no-such-model'), question('m', { stream: true })]) {
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
      assert.ok(readable.includes(name), `a page cannot read ${name}`)
    }
  }
  assert.equal((await preflight('https://evil.example'))['access-control-allow-origin'], undefined)
  const evil = await account.get('/v1/models', { origin: 'https://evil.example' })
  assert.equal(evil.headers.get('access-control-allow-origin'), null)
})
