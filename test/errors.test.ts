/** Every no that the relay says by itself: its status, its body, and what its headers tell a client to do. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import type { Asking } from './support/server/account.ts'
import { eventually, newestRecord, refusalIn } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { endless, saying } from './support/upstream/scripted-responses.ts'
import { tamperWith } from './support/server/database-access.ts'

const house = await shareHouse({ env: { BODIES_LIMIT: '2MiB' } })
const upstream = await house.upstream(saying('Hello!'))
await house.model('m', { upstreams: [upstream], max_output_tokens: 4096 })
const account = await house.account({ balance: '¥1' })

interface No {
  status: number
  type: string
  code: string
  param?: string
}

async function refused(reply: Response, expected: No): Promise<void> {
  const { type, code, param } = await refusalIn(reply)
  const told = { status: reply.status, type, code, param: param ?? undefined }
  assert.deepEqual(told, { param: undefined, ...expected })
}

/** Refused before any upstream is asked. */
async function refusedAtOnce(body: object | string, expected: No, options?: Asking): Promise<void> {
  const before = upstream.requests.length
  await refused(await account.post(body, options), expected)
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

test('a field that is wrong is a 400 that names it, before any upstream is asked', async () => {
  for (const [fields, param] of wrongFields) {
    await refusedAtOnce({ ...question('m'), ...fields }, { ...invalid, param })
  }
})

test('a body that is no JSON object is a 400, a body of another type a 415', async () => {
  for (const body of ['', '{', '{"model":"m",}', '\u0000'])
    await refusedAtOnce(body, { ...invalid, code: 'invalid_json' })
  for (const body of ['[]', '"m"', 'null']) await refusedAtOnce(body, invalid)
  const form = { headers: { 'content-type': 'multipart/form-data; boundary=x' } }
  const type = 'invalid_request_error'
  await refusedAtOnce(question('m'), { status: 415, type, code: 'unsupported_media_type' }, form)
})

test('without a key of ours it is a 401, whatever else is wrong', async () => {
  const no = { status: 401, type: 'authentication_error', code: 'invalid_api_key' }
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
    await refusedAtOnce('{', no, { headers: { authorization } })
    for (const path of ['/v1/models', '/v1/balance', '/v1/requests/req_1', '/v1/dashboard/billing/usage']) {
      const reply = await account.get(path, { authorization })
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
      await refused(reply, no)
    }
  }
})

test('an empty balance is a 402 that says not to try again', async () => {
  const poor = await house.account()
  for (const stream of [true, false]) {
    const reply = await poor.post(question('m', { stream }))
    assert.equal(reply.headers.get('x-should-retry'), 'false')
    await refused(reply, { status: 402, type: 'insufficient_quota', code: 'insufficient_quota' })
  }
})

test('a suspended account is a 403', async () => {
  const suspended = await house.account({ balance: '¥1' })
  await suspended.change({ status: 'suspended' })
  await refused(await suspended.post(question('m')), {
    status: 403,
    type: 'permission_error',
    code: 'account_suspended',
  })
})

test('a model or an address that does not exist is a 404, and a method that is not meant a 405', async () => {
  const type = 'invalid_request_error'
  const missing = { status: 404, type, code: 'model_not_found', param: 'model' }
  await refusedAtOnce(question('no-such-model'), missing)
  await refused(await account.get('/v1/models/no/such%20model'), missing)
  await refused(await account.get('/v1/nothing'), { status: 404, type, code: 'not_found' })
  await refused(await account.get('/v1/requests/req_1'), { status: 404, type, code: 'not_found' })
  const wrongMethod = await account.get('/v1/chat/completions')
  assert.equal(wrongMethod.headers.get('allow'), 'POST')
  await refused(wrongMethod, { status: 405, type, code: 'method_not_allowed' })
})

test('a target that is a whole address, as some proxies send it, is the same place', async () => {
  const { hostname, port } = new URL(house.relay.url)
  for (const path of ['http://relay.example/healthz', 'http://relay.example/api/admin/tiers']) {
    const call = request({ hostname, port, path }).end()
    const [reply] = (await once(call, 'response')) as [IncomingMessage]
    reply.resume()
    assert.equal(reply.statusCode, path.endsWith('healthz') ? 200 : 401)
    if (reply.statusCode === 401) assert.equal(reply.headers['www-authenticate'], 'Bearer')
  }
})

test('a model without a price is not listed, and not served before an upstream is asked', async () => {
  const priceless = {
    id: 'priceless',
    context_tokens: 8192,
    routes: [{ upstream: upstream.name, model: 'm' }],
  }
  const reply = await house.relay.adminReply('POST', '/models', priceless)
  await refused(reply, { ...invalid, param: 'prices' })
  await refusedAtOnce(question('priceless'), {
    status: 404,
    type: invalid.type,
    code: 'model_not_found',
    param: 'model',
  })
  await house.admin('POST', '/models', { ...priceless, id: 'free', prices: { free: true } })
  const { data } = (await (await account.get('/v1/models')).json()) as { data: { id: string }[] }
  assert.deepEqual(data.map(({ id }) => id).toSorted(), ['free', 'm'])
  const nobody = await house.account()
  assert.equal((await nobody.post(question('free'))).status, 200)
})

test('rates are told with every answer; beyond them it is a 429 that says when to come again', async () => {
  const limited = await house.account({ balance: '¥1', key: { limits: { rpm: 2, tpm: 5000 } } })
  for (const left of ['1', '0']) {
    const { status, headers } = await limited.post(question('m', { max_tokens: 100, stream: left === '0' }))
    assert.equal(status, 200)
    assert.equal(headers.get('x-ratelimit-limit-requests'), '2')
    assert.equal(headers.get('x-ratelimit-remaining-requests'), left)
    assert.match(headers.get('x-ratelimit-reset-requests') ?? '', /^(?:\d+ms|\d+s|\d+m\d+s)$/)
    assert.equal(headers.get('x-ratelimit-limit-tokens'), '5000')
    assert.ok(Number(headers.get('x-ratelimit-remaining-tokens')) < 5000)
    assert.match(headers.get('x-ratelimit-reset-tokens') ?? '', /^(?:\d+ms|\d+s|\d+m\d+s)$/)
  }
  const reply = await limited.post(question('m'))
  assert.equal(reply.headers.get('x-ratelimit-remaining-requests'), '0')
  const [seconds, ms] = ['retry-after', 'retry-after-ms'].map((name) => Number(reply.headers.get(name)))
  assert.ok(seconds && ms && seconds >= 1 && seconds <= 61 && Math.ceil(ms / 1000) === seconds)
  assert.equal(reply.headers.get('x-should-retry'), null)
  await refused(reply, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
})

test('a request that is larger than its limit is a 429 that says not to try again', async () => {
  const limited = await house.account({ balance: '¥1', key: { limits: { tpm: 100 } } })
  const reply = await limited.post(question('m', { max_tokens: 101 }))
  assert.equal(reply.headers.get('x-should-retry'), 'false')
  assert.equal(reply.headers.get('retry-after'), null)
  await refused(reply, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
})

test('a refused request has its row: what was asked, which status, no cost', async () => {
  const asking = await house.account({ balance: '¥1' })
  await asking.post(question('nobody-has-this', { stream: true }))
  const record = await eventually('a row', async () => (await asking.requests())[0])
  const { outcome, http_status: status, model, stream, cost } = record
  assert.deepEqual(
    { outcome, status, model, stream, cost },
    { outcome: 'refused', status: 404, model: 'nobody-has-this', stream: true, cost: '0' },
  )
})

test('a slot that is taken is a 429 until the call that has it ends', async () => {
  const limited = await house.account({ balance: '¥1', key: { limits: { concurrency: 1 } } })
  upstream.next(endless())
  const leaving = new AbortController()
  const first = await limited.post(question('m', { stream: true }), { signal: leaving.signal })
  const second = await limited.post(question('m'))
  assert.ok(Number(second.headers.get('retry-after-ms')) > 0)
  await refused(second, { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  leaving.abort()
  await assert.rejects(first.text())
  assert.equal((await newestRecord(limited)).outcome, 'aborted')
  assert.equal((await limited.post(question('m'))).status, 200)
})

test('a model that nobody serves at the moment is a 503 that says when to come again', async () => {
  await house.model('unserved', { upstreams: [] })
  const reply = await account.post(question('unserved'))
  assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  await refused(reply, { status: 503, type: 'server_error', code: 'upstream_unavailable' })
})

test('more bodies than the relay may hold at once are a 503, not an end of memory', async () => {
  const filler = { ...question('m'), filler: 'x'.repeat(3 * 1024 * 1024) }
  const reply = await account.post(filler)
  assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  await refused(reply, { status: 503, type: 'server_error', code: 'service_unavailable' })
  assert.equal((await account.post(question('m'))).status, 200)
})

test('a mistake of ours is a 500 that tells nothing but the request id, which the log has with the cause', async () => {
  await tamperWith(house.relay, 'ALTER TABLE requests RENAME TO mislaid')
  const reply = await account.get('/v1/requests/req_1')
  await tamperWith(house.relay, 'ALTER TABLE mislaid RENAME TO requests')
  const id = reply.headers.get('x-request-id') ?? ''
  const text = await reply.clone().text()
  assert.ok(!text.includes('requests'), text)
  await refused(reply, { status: 500, type: 'server_error', code: 'server_error' })
  const line = await eventually('a line in the log', async () => house.log.find((each) => each.includes(id)))
  assert.match(line, /no such table|does not exist/)
})
