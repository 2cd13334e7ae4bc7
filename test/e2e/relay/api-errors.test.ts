// @backend both
/** Every error of the relay itself: its status, its body, and the headers that tell a client whether to retry. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import type { PostOptions } from '../../support/server/account.ts'
import { waitForNewestRecord, readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondEndlessly, respondWith } from '../../support/upstream/scripted-responses.ts'
import { executeSql } from '../../support/server/database-access.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { BODIES_LIMIT: '2MiB' } })
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream], max_output_tokens: 4096 })
const account = await server.account({ balance: '¥1' })

interface ExpectedError {
  status: number
  type: string
  code: string
  param?: string
}

async function assertError(response: Response, expected: ExpectedError): Promise<void> {
  const { type, code, param } = await readError(response)
  const actual = { status: response.status, type, code, param: param ?? undefined }
  assert.deepEqual(actual, { param: undefined, ...expected })
}

/** The request fails before any upstream is called. */
async function assertRejected(
  body: object | string,
  expected: ExpectedError,
  options?: PostOptions,
): Promise<void> {
  const before = upstream.requests.length
  await assertError(await account.post(body, options), expected)
  assert.equal(upstream.requests.length, before)
}

const invalid = { status: 400, type: 'invalid_request_error', code: 'invalid_request' }
const message = { role: 'user', content: 'Hi' }

const wrongFields: [fields: object, param: string][] = [
  [{ model: undefined }, 'model'],
  [{ model: '' }, 'model'],
  [{ model: 7 }, 'model'],
  [{ messages: undefined }, 'messages'],
  [{ messages: [] }, 'messages'],
  [{ messages: 'Hi' }, 'messages'],
  [{ messages: [message, 'Hi'] }, 'messages[1]'],
  [{ messages: [{ content: 'Hi' }] }, 'messages[0].role'],
  [{ temperature: 2.1 }, 'temperature'],
  [{ temperature: 'hot' }, 'temperature'],
  [{ top_p: -0.1 }, 'top_p'],
  [{ n: 0 }, 'n'],
  [{ n: 1.5 }, 'n'],
  [{ n: 18446744073686646784 }, 'n'],
  [{ max_tokens: 0 }, 'max_tokens'],
  [{ max_tokens: -5 }, 'max_tokens'],
  [{ max_completion_tokens: 1e300 }, 'max_completion_tokens'],
  [{ presence_penalty: 3 }, 'presence_penalty'],
  [{ frequency_penalty: -2.5 }, 'frequency_penalty'],
  [{ stream: 'yes' }, 'stream'],
  [{ stream_options: { include_usage: true } }, 'stream_options'],
  [{ stream: true, stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
]

describe('API errors', () => {
  test('Invalid request fields – return 400 with the field name before any upstream is called', async () => {
    for (const [fields, param] of wrongFields) {
      await assertRejected({ ...chatRequest('m'), ...fields }, { ...invalid, param })
    }
  })

  test('Request bodies – return 400 if not a JSON object and 415 for another content type', async () => {
    for (const body of ['', '{', '{"model":"m",}', '\u0000'])
      await assertRejected(body, { ...invalid, code: 'invalid_json' })
    for (const body of ['[]', '"m"', 'null']) await assertRejected(body, invalid)
    const form = { headers: { 'content-type': 'multipart/form-data; boundary=x' } }
    const type = 'invalid_request_error'
    await assertRejected(chatRequest('m'), { status: 415, type, code: 'unsupported_media_type' }, form)
  })

  test('Authentication – returns 401 without a valid API key, whatever else is wrong', async () => {
    const unauthorized = { status: 401, type: 'authentication_error', code: 'invalid_api_key' }
    const { secret } = account.key
    const wrong = [
      '',
      'Bearer',
      'Bearer x',
      `Basic ${secret}`,
      secret,
      `Bearer ${secret.slice(0, -1)}${secret.endsWith('x') ? 'y' : 'x'}`,
      `Bearer ${secret} x`,
    ]
    for (const authorization of wrong) {
      await assertRejected('{', unauthorized, { headers: { authorization } })
      for (const path of ['/v1/models', '/v1/balance', '/v1/requests/req_1', '/v1/dashboard/billing/usage']) {
        const response = await account.get(path, { authorization })
        assert.equal(response.headers.get('www-authenticate'), 'Bearer')
        await assertError(response, unauthorized)
      }
    }
  })

  test('Empty balance – returns 402 and tells the client not to retry', async () => {
    const poor = await server.account()
    for (const stream of [true, false]) {
      const response = await poor.post(chatRequest('m', { stream }))
      assert.equal(response.headers.get('x-should-retry'), 'false')
      await assertError(response, { status: 402, type: 'insufficient_quota', code: 'insufficient_quota' })
    }
  })

  test('Suspended account – returns 403', async () => {
    const suspended = await server.account({ balance: '¥1' })
    await suspended.change({ status: 'suspended' })
    await assertError(await suspended.post(chatRequest('m')), {
      status: 403,
      type: 'permission_error',
      code: 'account_suspended',
    })
  })

  test('Unknown models, unknown paths and wrong methods – return 404, 404 and 405', async () => {
    const type = 'invalid_request_error'
    const missing = { status: 404, type, code: 'model_not_found', param: 'model' }
    await assertRejected(chatRequest('no-such-model'), missing)
    await assertError(await account.get('/v1/models/no/such%20model'), missing)
    await assertError(await account.get('/v1/nothing'), { status: 404, type, code: 'not_found' })
    await assertError(await account.get('/v1/requests/req_1'), { status: 404, type, code: 'not_found' })
    const wrongMethod = await account.get('/v1/chat/completions')
    assert.equal(wrongMethod.headers.get('allow'), 'POST')
    await assertError(wrongMethod, { status: 405, type, code: 'method_not_allowed' })
  })

  test('Absolute request targets – are handled like relative ones', async () => {
    const { hostname, port } = new URL(server.relay.url)
    for (const path of ['http://relay.example/healthz', 'http://relay.example/api/admin/tiers']) {
      const call = request({ hostname, port, path }).end()
      const [response] = (await once(call, 'response')) as [IncomingMessage]
      response.resume()
      assert.equal(response.statusCode, path.endsWith('healthz') ? 200 : 401)
      if (response.statusCode === 401) assert.equal(response.headers['www-authenticate'], 'Bearer')
    }
  })

  test('Model without a price – is not listed and returns 404 before any upstream is called', async () => {
    const unpriced = {
      id: 'unpriced',
      context_tokens: 8192,
      routes: [{ upstream: upstream.name, model: 'm' }],
    }
    const response = await server.relay.adminResponse('POST', '/models', unpriced)
    await assertError(response, { ...invalid, param: 'prices' })
    await assertRejected(chatRequest('unpriced'), {
      status: 404,
      type: invalid.type,
      code: 'model_not_found',
      param: 'model',
    })
    await server.admin('POST', '/models', { ...unpriced, id: 'free', prices: { free: true } })
    const { data } = (await (await account.get('/v1/models')).json()) as { data: { id: string }[] }
    assert.deepEqual(data.map(({ id }) => id).toSorted(), ['free', 'm'])
    const nobody = await server.account()
    assert.equal((await nobody.post(chatRequest('free'))).status, 200)
  })

  test('Rate limits – every response reports them, and 429 says when to retry', async () => {
    const limited = await server.account({ balance: '¥1', key: { limits: { rpm: 2, tpm: 5000 } } })
    for (const remaining of ['1', '0']) {
      const { status, headers } = await limited.post(
        chatRequest('m', { max_tokens: 100, stream: remaining === '0' }),
      )
      assert.equal(status, 200)
      assert.equal(headers.get('x-ratelimit-limit-requests'), '2')
      assert.equal(headers.get('x-ratelimit-remaining-requests'), remaining)
      assert.match(headers.get('x-ratelimit-reset-requests') ?? '', /^(?:\d+ms|\d+s|\d+m\d+s)$/)
      assert.equal(headers.get('x-ratelimit-limit-tokens'), '5000')
      assert.ok(Number(headers.get('x-ratelimit-remaining-tokens')) < 5000)
      assert.match(headers.get('x-ratelimit-reset-tokens') ?? '', /^(?:\d+ms|\d+s|\d+m\d+s)$/)
    }
    const response = await limited.post(chatRequest('m'))
    assert.equal(response.headers.get('x-ratelimit-remaining-requests'), '0')
    const [seconds, ms] = ['retry-after', 'retry-after-ms'].map((name) => Number(response.headers.get(name)))
    assert.ok(seconds && ms && seconds >= 1 && seconds <= 61 && Math.ceil(ms / 1000) === seconds)
    assert.equal(response.headers.get('x-should-retry'), null)
    await assertError(response, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  })

  test('Request larger than its token limit – returns 429 and tells the client not to retry', async () => {
    const limited = await server.account({ balance: '¥1', key: { limits: { tpm: 100 } } })
    const response = await limited.post(chatRequest('m', { max_tokens: 101 }))
    assert.equal(response.headers.get('x-should-retry'), 'false')
    assert.equal(response.headers.get('retry-after'), null)
    await assertError(response, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  })

  test('Rejected request – has a record with model, status and no cost', async () => {
    const caller = await server.account({ balance: '¥1' })
    await caller.post(chatRequest('nobody-has-this', { stream: true }))
    const record = await waitUntil(async () => (await caller.requests())[0], 'the request record')
    const { outcome, http_status: status, model, stream, cost } = record
    assert.deepEqual(
      { outcome, status, model, stream, cost },
      { outcome: 'refused', status: 404, model: 'nobody-has-this', stream: true, cost: '0' },
    )
  })

  test('Concurrency limit – returns 429 until the running request ends', async () => {
    const limited = await server.account({ balance: '¥1', key: { limits: { concurrency: 1 } } })
    upstream.next(respondEndlessly())
    const disconnect = new AbortController()
    const first = await limited.post(chatRequest('m', { stream: true }), { signal: disconnect.signal })
    const second = await limited.post(chatRequest('m'))
    assert.ok(Number(second.headers.get('retry-after-ms')) > 0)
    await assertError(second, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
    disconnect.abort()
    await assert.rejects(first.text())
    assert.equal((await waitForNewestRecord(limited)).outcome, 'aborted')
    assert.equal((await limited.post(chatRequest('m'))).status, 200)
  })

  test('Model without an available upstream – returns 503 and says when to retry', async () => {
    await server.model('unserved', { upstreams: [] })
    const response = await account.post(chatRequest('unserved'))
    assert.ok(Number(response.headers.get('retry-after')) >= 1)
    await assertError(response, { status: 503, type: 'server_error', code: 'upstream_unavailable' })
  })

  test('Request bodies above the memory limit – return 503', async () => {
    const filler = { ...chatRequest('m'), filler: 'x'.repeat(3 * 1024 * 1024) }
    const response = await account.post(filler)
    assert.ok(Number(response.headers.get('retry-after')) >= 1)
    await assertError(response, { status: 503, type: 'server_error', code: 'service_unavailable' })
    assert.equal((await account.post(chatRequest('m'))).status, 200)
  })

  test('Internal error – returns 500 with only the request id, and the log has the cause', async () => {
    await executeSql(server.relay, 'ALTER TABLE requests RENAME TO mislaid')
    const response = await account.get('/v1/requests/req_1')
    await executeSql(server.relay, 'ALTER TABLE mislaid RENAME TO requests')
    const id = response.headers.get('x-request-id') ?? ''
    const text = await response.clone().text()
    assert.ok(!text.includes('requests'), text)
    await assertError(response, { status: 500, type: 'server_error', code: 'server_error' })
    const line = await waitUntil(
      async () => server.log.find((each) => each.includes(id)),
      'the error in the log',
    )
    assert.match(line, /no such table|does not exist/)
  })
})
