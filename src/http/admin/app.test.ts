import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { adminApiKey, startAdminServer, type TestResponse } from './admin-server.fixture.ts'

/** Returns status, code and param of an error whose body has all four members. */
function errorIn({ status, body }: TestResponse): [number, unknown, unknown] {
  const { error } = body as { error: Record<string, unknown> }
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
  assert.equal(typeof error['message'], 'string')
  return [status, error['code'], error['param']]
}

describe('admin API', () => {
  test('authentication – without ADMIN_API_KEY every endpoint responds with 404', async (t) => {
    for (const key of ['', undefined]) {
      const adminServer = await startAdminServer(t, { environment: { ADMIN_API_KEY: key ?? '' } })
      for (const authorization of ['', 'Bearer ', 'Bearer undefined', `Bearer ${adminApiKey}`]) {
        const response = await adminServer.call('GET', '/accounts', undefined, { authorization })
        assert.deepEqual(errorIn(response), [404, 'not_found', null])
      }
    }
  })

  test('authentication – accepts a key that contains spaces', async (t) => {
    const adminServer = await startAdminServer(t, { environment: { ADMIN_API_KEY: 'three plain words' } })
    const statusFor = async (key: string) =>
      (await adminServer.call('GET', '/tiers', undefined, { authorization: `Bearer ${key}` })).status
    assert.deepEqual(
      await Promise.all(['three plain words', 'three plain', 'three'].map(statusFor)),
      [200, 401, 401],
    )
  })

  test('authentication – rejects a wrong key on every path before any other check', async (t) => {
    const adminServer = await startAdminServer(t)
    const wrong = ['', 'Bearer', 'Bearer x', adminApiKey, `Basic ${adminApiKey}`, `Bearer ${adminApiKey}x`]
    for (const authorization of wrong) {
      for (const [method, path] of [
        ['GET', '/tiers'],
        ['POST', '/models'],
        ['GET', '/nothing'],
        ['PUT', '/tiers'],
      ] as const) {
        const response = await adminServer.call(method, path, method === 'GET' ? undefined : '{', {
          authorization,
        })
        assert.deepEqual(
          errorIn(response),
          [401, 'invalid_api_key', null],
          `${authorization} ${method} ${path}`,
        )
      }
    }
    assert.equal((await adminServer.call('GET', '/tiers')).status, 200)
    assert.equal(
      (await adminServer.call('GET', '/tiers', undefined, { authorization: `bearer ${adminApiKey}` })).status,
      200,
    )
  })

  test('authentication – requires no key over the control socket, even if none is set', async (t) => {
    const adminServer = await startAdminServer(t, { authenticate: false, environment: { ADMIN_API_KEY: '' } })
    const response = await adminServer.call('GET', '/tiers', undefined, { authorization: '' })
    assert.equal(response.status, 200)
  })

  test('every response – has a unique x-request-id and cache-control: no-store', async (t) => {
    const adminServer = await startAdminServer(t)
    const responses = await Promise.all([
      adminServer.call('GET', '/tiers'),
      adminServer.call('GET', '/nothing'),
      adminServer.call('POST', '/tiers', '{'),
      adminServer.call('GET', '/tiers', undefined, { authorization: '' }),
      adminServer.call('POST', '/tiers', 'x'.repeat(2_000_000)),
    ])
    const ids = responses.map((response) => response.headers.get('x-request-id') ?? '')
    for (const id of ids) assert.match(id, /^req_[0-9a-z]{26}$/)
    assert.equal(new Set(ids).size, responses.length)
    for (const response of responses) assert.equal(response.headers.get('cache-control'), 'no-store')
  })

  test('unknown path – responds with 404; a wrong method with 405 and Allow', async (t) => {
    const adminServer = await startAdminServer(t)
    assert.deepEqual(errorIn(await adminServer.call('GET', '/nothing')), [404, 'not_found', null])
    assert.deepEqual(errorIn(await adminServer.call('GET', '/upstreams/one/two/three')), [
      404,
      'not_found',
      null,
    ])
    const put = await adminServer.call('PUT', '/upstreams/one', {})
    assert.deepEqual(errorIn(put), [405, 'method_not_allowed', null])
    assert.equal(put.headers.get('allow'), 'GET, PATCH, DELETE')
    assert.equal((await adminServer.call('DELETE', '/ledger/verify')).status, 405)
    assert.equal((await adminServer.call('PUT', '/models/with/a/slash', {})).status, 405)
  })

  test('invalid body – is rejected with the code and field of the error', async (t) => {
    const adminServer = await startAdminServer(t)
    const postTier = async (body: unknown, headers?: Record<string, string>) =>
      errorIn(await adminServer.call('POST', '/tiers', body, headers))
    assert.deepEqual(await postTier('{"name":'), [400, 'invalid_json', null])
    assert.deepEqual(await postTier(''), [400, 'invalid_json', null])
    assert.deepEqual(await postTier('{"name":"x"}', { 'content-type': 'text/plain' }), [
      415,
      'unsupported_media_type',
      null,
    ])
    assert.deepEqual(await postTier('x'.repeat(2_000_000)), [413, 'request_too_large', null])
    const untyped = await fetch(`${adminServer.url}/tiers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminApiKey}` },
      body: Buffer.from('{"name":"x"}'),
    })
    assert.equal(untyped.status, 415)
    assert.deepEqual(await postTier([]), [400, 'invalid_request', null])
    assert.deepEqual(await postTier(null), [400, 'invalid_request', null])
    assert.deepEqual(await postTier({}), [400, 'invalid_request', 'name'])
    assert.deepEqual(await postTier({ name: 'x', rpm: '5' }), [400, 'invalid_request', 'rpm'])
    assert.deepEqual(await postTier({ name: 'x', rpm: 1.5 }), [400, 'invalid_request', 'rpm'])
    assert.deepEqual(await postTier({ name: 'x', price_factor: 'much' }), [
      400,
      'invalid_request',
      'price_factor',
    ])
  })

  test('unknown fields – are rejected and all named, in bodies, nested objects and queries', async (t) => {
    const adminServer = await startAdminServer(t)
    const body = { name: 'one', provider: 'openai', credential: '', kolour: 1, timeouts: { conect_ms: 1 } }
    const response = await adminServer.call('POST', '/upstreams', body)
    assert.equal(response.status, 400)
    const { error } = response.body as { error: { message: string } }
    assert.match(error.message, /timeouts\.conect_ms/)
    assert.match(error.message, /kolour/)
    for (const path of [
      '/requests?acount=x',
      '/usage?grop=day',
      '/accounts?emal=x',
      '/tiers?x=1',
      '/audit?x=1',
    ]) {
      assert.equal((await adminServer.call('GET', path)).status, 400, path)
    }
    const routes = [{ upstream: 'one', model: 'x', wieght: 1 }]
    const model = await adminServer.call('POST', '/models', {
      id: 'm',
      context_tokens: 1,
      prices: { free: true },
      routes,
    })
    assert.deepEqual(errorIn(model), [400, 'invalid_request', 'routes[0].wieght'])
  })

  test('invalid query – is rejected with the name of the parameter', async (t) => {
    const adminServer = await startAdminServer(t)
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
      assert.deepEqual(errorIn(await adminServer.call('GET', path)), [400, 'invalid_request', param], path)
    }
    for (const path of ['/requests?from=2026-11-21T08:00:00Z&to=2026-11-21T16:00:00%2B08:00', '/usage']) {
      assert.deepEqual((await adminServer.call('GET', path)).body, { data: [], next: null })
    }
  })

  test('chunked body – is read and limited like any other', async (t) => {
    const adminServer = await startAdminServer(t)
    const send = (parts: readonly string[]): Promise<Response> =>
      fetch(`${adminServer.url}/tiers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminApiKey}`, 'content-type': 'application/json' },
        body: ReadableStream.from(parts.map((part) => Buffer.from(part))),
        duplex: 'half',
      })
    assert.equal((await send(['{"name":', '"chunked"}'])).status, 201)
    assert.equal((await send(Array.from({ length: 20 }, () => ' '.repeat(100_000)))).status, 413)
  })
})
