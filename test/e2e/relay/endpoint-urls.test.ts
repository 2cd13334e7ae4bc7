// @backend sqlite – no storage is involved
/** How clients join the base URL and the endpoint's path, and what they learn if the base URL is wrong. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
await server.model('m', { upstreams: [await server.upstream(respondWith('Hello!'))] })
const account = await server.account({ balance: '¥1' })

function send(method: 'GET' | 'POST', path: string): Promise<Response> {
  return fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify(chatRequest('m')) } : {}),
  })
}

describe('Base URL', () => {
  test('Slashes too many – are ignored below /v1', async () => {
    for (const path of [
      '//v1/chat/completions',
      '/v1//chat/completions',
      '/v1/chat/completions/',
      '/v1/v1/chat/completions',
    ]) {
      assert.equal((await send('POST', path)).status, 200, path)
    }
    assert.equal((await send('GET', '//v1/models/')).status, 200)
  })

  test('Slashes too many – open no path that a proxy may block', async () => {
    for (const path of ['//metrics', '/metrics/', '//readyz', '//api/admin/accounts', '/v1//metrics']) {
      assert.equal((await send('GET', path)).status, 404, path)
    }
  })

  test('Path of another API below /api – returns 404 with the base URL, even with a valid key', async () => {
    for (const [method, path] of [
      ['POST', '/api/v1/chat/completions'],
      ['GET', '/api/tags'],
      ['GET', '/api/user/self'],
    ] as const) {
      const response = await send(method, path)
      assert.equal(response.status, 404, path)
      assert.match((await readError(response)).message, /base URL .* \/v1/)
    }
  })

  test('Gemini’s format – returns 404 and names the formats that work', async () => {
    const response = await send('POST', '/v1/models/m:generateContent')
    assert.equal(response.status, 404)
    assert.match((await readError(response)).message, /\/v1\/chat\/completions .*\/v1\/messages/)
    assert.equal((await send('POST', '/v1/models/m')).status, 405)
  })
})
