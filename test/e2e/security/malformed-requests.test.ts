// @backend both
/** Requests that no client sends by accident: each is the client's error, never one of the relay. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'

import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })
const account = await server.account({ balance: '¥1' })
const { adminKey } = server.relay

interface RawResponse {
  readonly status: number
  readonly requestId: string | undefined
  readonly body: { readonly error: { readonly code: string; readonly message: string } }
}

/** Sends the path and the headers as they are; `fetch` would normalize them. */
async function get(path: string, headers: Record<string, string> = {}): Promise<RawResponse> {
  const sent = request({ host: '127.0.0.1', port: server.relay.port, path, headers }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { statusCode = 0 } = response
  const body = JSON.parse(await text(response)) as RawResponse['body']
  return { status: statusCode, requestId: response.headers['x-request-id'] as string | undefined, body }
}

async function assertRejected(path: string, headers: Record<string, string>, message: RegExp): Promise<void> {
  const { status, requestId, body } = await get(path, headers)
  assert.deepEqual([status, body.error.code], [400, 'invalid_request'], path)
  assert.match(body.error.message, message, path)
  assert.match(requestId ?? '', /^req_/, path)
}

const asAdmin = { authorization: `Bearer ${adminKey}` }
const asCaller = { authorization: `Bearer ${account.key.secret}` }

describe('U+0000', () => {
  for (const [name, headers, paths] of [
    [
      'public API',
      asCaller,
      [
        '/v1/requests/%00',
        '/v1/models/m%00',
        '/v1/models?after_id=%00',
        '/v1/dashboard/billing/usage?start_date=%00',
        '/status?lang=%00',
        '/openapi.json?%00',
      ],
    ],
    ['console API', {}, ['/api/console/requests?model=%00', '/api/console/keys/%00', '/api/console/%00']],
    ['admin API', asAdmin, ['/api/admin/accounts/%00', '/api/admin/requests?model=a%00b', '/api/admin/%00']],
  ] as const) {
    test(`path and query of the ${name} – 400`, async () => {
      for (const path of paths) await assertRejected(path, headers, /U\+0000/)
    })
  }

  test('cursor of the admin API – 400', async () => {
    const cursor = Buffer.from('name key_1 a\0').toString('base64url')
    await assertRejected(`/api/admin/keys?sort=name&cursor=${cursor}`, asAdmin, /cursor/)
  })

  test('JSON text of the public, console and admin API – 400', async () => {
    const send = (path: string, body: object, headers = {}): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
        body: JSON.stringify(body),
      })
    for (const response of await Promise.all([
      send('/v1/chat/completions', { model: 'm\0', messages: [{ role: 'user', content: 'Hi' }] }, asCaller),
      send('/v1/messages', { model: 'm', max_tokens: 1, 'model\0': 'x', messages: [] }, asCaller),
      send('/api/console/sign-in', { email: 'a\0@example.com', password: 'x' }),
      send('/api/admin/accounts', { email: 'a@example.com', name: '\0' }, asAdmin),
    ])) {
      assert.equal(response.status, 400, response.url)
      assert.match(await response.text(), /invalid_request/, response.url)
    }
  })
})

describe('request line and Host', () => {
  test('odd Host headers – 400 with a request id', async () => {
    for (const host of ['a b', 'x/y', 'x@y', 'x?y', '[', 'x:y', 'x:99999999', '%'])
      for (const path of ['/api/admin/tiers', '/openapi.json', '/status.json'])
        await assertRejected(path, { host, ...asAdmin }, /Malformed HTTP request/)
  })

  test('backslashes in the path – 400 with a request id', async () => {
    for (const path of ['/api\\admin/tiers', '/api/admin\\..\\console', '/api/console/\\x'])
      await assertRejected(path, asAdmin, /Malformed HTTP request/)
  })
})
