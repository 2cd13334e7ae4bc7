import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminApiKey, openOffice, type Reply } from './admin-server.fixture.ts'

/** Status, code and param of a refusal whose body has all four members. */
function refusalIn({ status, body }: Reply): [number, unknown, unknown] {
  const { error } = body as { error: Record<string, unknown> }
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
  assert.equal(typeof error['message'], 'string')
  return [status, error['code'], error['param']]
}

test('without ADMIN_API_KEY the whole API does not exist', async (t) => {
  for (const key of ['', undefined]) {
    const office = await openOffice(t, { environment: { ADMIN_API_KEY: key ?? '' } })
    for (const authorization of ['', 'Bearer ', 'Bearer undefined', `Bearer ${adminApiKey}`]) {
      const reply = await office.call('GET', '/accounts', undefined, { authorization })
      assert.deepEqual(refusalIn(reply), [404, 'not_found', null])
    }
  }
})

test('a key with spaces in it is a key', async (t) => {
  const office = await openOffice(t, { environment: { ADMIN_API_KEY: 'three plain words' } })
  const statusFor = async (key: string) =>
    (await office.call('GET', '/tiers', undefined, { authorization: `Bearer ${key}` })).status
  assert.deepEqual(
    await Promise.all(['three plain words', 'three plain', 'three'].map(statusFor)),
    [200, 401, 401],
  )
})

test('only the right key is let in, on every path and before anything else is looked at', async (t) => {
  const office = await openOffice(t)
  const wrong = ['', 'Bearer', 'Bearer x', adminApiKey, `Basic ${adminApiKey}`, `Bearer ${adminApiKey}x`]
  for (const authorization of wrong) {
    for (const [method, path] of [
      ['GET', '/tiers'],
      ['POST', '/models'],
      ['GET', '/nothing'],
      ['PUT', '/tiers'],
    ] as const) {
      const reply = await office.call(method, path, method === 'GET' ? undefined : '{', { authorization })
      assert.deepEqual(refusalIn(reply), [401, 'invalid_api_key', null], `${authorization} ${method} ${path}`)
    }
  }
  assert.equal((await office.call('GET', '/tiers')).status, 200)
  assert.equal(
    (await office.call('GET', '/tiers', undefined, { authorization: `bearer ${adminApiKey}` })).status,
    200,
  )
})

test('over the control socket no key is asked for, also when none is set', async (t) => {
  const office = await openOffice(t, { authenticate: false, environment: { ADMIN_API_KEY: '' } })
  const reply = await office.call('GET', '/tiers', undefined, { authorization: '' })
  assert.equal(reply.status, 200)
})

test('every answer has a request id of its own and is not to be stored', async (t) => {
  const office = await openOffice(t)
  const replies = await Promise.all([
    office.call('GET', '/tiers'),
    office.call('GET', '/nothing'),
    office.call('POST', '/tiers', '{'),
    office.call('GET', '/tiers', undefined, { authorization: '' }),
    office.call('POST', '/tiers', 'x'.repeat(2_000_000)),
  ])
  const ids = replies.map((reply) => reply.headers.get('x-request-id') ?? '')
  for (const id of ids) assert.match(id, /^req_[0-9a-z]{26}$/)
  assert.equal(new Set(ids).size, replies.length)
  for (const reply of replies) assert.equal(reply.headers.get('cache-control'), 'no-store')
})

test('what is not there is 404, what is there by another method is 405 and says which', async (t) => {
  const office = await openOffice(t)
  assert.deepEqual(refusalIn(await office.call('GET', '/nothing')), [404, 'not_found', null])
  assert.deepEqual(refusalIn(await office.call('GET', '/upstreams/one/two/three')), [404, 'not_found', null])
  const put = await office.call('PUT', '/upstreams/one', {})
  assert.deepEqual(refusalIn(put), [405, 'method_not_allowed', null])
  assert.equal(put.headers.get('allow'), 'GET, PATCH, DELETE')
  assert.equal((await office.call('DELETE', '/ledger/verify')).status, 405)
  assert.equal((await office.call('PUT', '/models/with/a/slash', {})).status, 405)
})

test('a body that is no JSON object of this call is refused, naming what is wrong', async (t) => {
  const office = await openOffice(t)
  const post = async (body: unknown, headers?: Record<string, string>) =>
    refusalIn(await office.call('POST', '/tiers', body, headers))
  assert.deepEqual(await post('{"name":'), [400, 'invalid_json', null])
  assert.deepEqual(await post(''), [400, 'invalid_json', null])
  assert.deepEqual(await post('{"name":"x"}', { 'content-type': 'text/plain' }), [
    415,
    'unsupported_media_type',
    null,
  ])
  assert.deepEqual(await post('x'.repeat(2_000_000)), [413, 'request_too_large', null])
  const untyped = await fetch(`${office.url}/tiers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminApiKey}` },
    body: Buffer.from('{"name":"x"}'),
  })
  assert.equal(untyped.status, 415)
  assert.deepEqual(await post([]), [400, 'invalid_request', null])
  assert.deepEqual(await post(null), [400, 'invalid_request', null])
  assert.deepEqual(await post({}), [400, 'invalid_request', 'name'])
  assert.deepEqual(await post({ name: 'x', rpm: '5' }), [400, 'invalid_request', 'rpm'])
  assert.deepEqual(await post({ name: 'x', rpm: 1.5 }), [400, 'invalid_request', 'rpm'])
  assert.deepEqual(await post({ name: 'x', price_factor: 'much' }), [400, 'invalid_request', 'price_factor'])
})

test('unknown fields are refused and all named, in bodies, inside them, and in questions', async (t) => {
  const office = await openOffice(t)
  const body = { name: 'one', provider: 'openai', credential: '', kolour: 1, timeouts: { conect_ms: 1 } }
  const reply = await office.call('POST', '/upstreams', body)
  assert.equal(reply.status, 400)
  const { error } = reply.body as { error: { message: string } }
  assert.match(error.message, /timeouts\.conect_ms/)
  assert.match(error.message, /kolour/)
  for (const path of [
    '/requests?acount=x',
    '/usage?grop=day',
    '/accounts?emal=x',
    '/tiers?x=1',
    '/audit?x=1',
  ]) {
    assert.equal((await office.call('GET', path)).status, 400, path)
  }
  const routes = [{ upstream: 'one', model: 'x', wieght: 1 }]
  const model = await office.call('POST', '/models', {
    id: 'm',
    context_tokens: 1,
    prices: { free: true },
    routes,
  })
  assert.deepEqual(refusalIn(model), [400, 'invalid_request', 'routes[0].wieght'])
})

test('questions are checked: pages, times, groups', async (t) => {
  const office = await openOffice(t)
  const wrong = {
    '/requests?limit=0': 'limit',
    '/requests?limit=1001': 'limit',
    '/requests?limit=many': 'limit',
    '/requests?cursor=zzz': 'cursor',
    '/requests?from=yesterday': 'from',
    '/requests?to=2026-11-21': 'to',
    '/requests?outcome=fine': 'outcome',
    '/requests?model=a&model=b': 'model',
    '/usage?group=minute': 'group',
    '/usage?timezone=Moon': 'timezone',
    '/usage?cursor=x': 'cursor',
    '/accounts?cursor=x': 'cursor',
    '/audit?cursor=x': 'cursor',
  }
  for (const [path, param] of Object.entries(wrong)) {
    assert.deepEqual(refusalIn(await office.call('GET', path)), [400, 'invalid_request', param], path)
  }
  for (const path of ['/requests?from=2026-11-21T08:00:00Z&to=2026-11-21T16:00:00%2B08:00', '/usage']) {
    assert.deepEqual((await office.call('GET', path)).body, { data: [], next: null })
  }
})

test('a body sent in chunks is read like any other, and bounded like any other', async (t) => {
  const office = await openOffice(t)
  const send = (parts: readonly string[]): Promise<Response> =>
    fetch(`${office.url}/tiers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminApiKey}`, 'content-type': 'application/json' },
      body: ReadableStream.from(parts.map((part) => Buffer.from(part))),
      duplex: 'half',
    })
  assert.equal((await send(['{"name":', '"chunked"}'])).status, 201)
  assert.equal((await send(Array.from({ length: 20 }, () => ' '.repeat(100_000)))).status, 413)
})
