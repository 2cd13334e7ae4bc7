// @backend both
/** The admin API: authentication, accounts, keys, upstream tests, the audit log, and a call of every endpoint. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest, type Account } from '../../support/server/account.ts'
import {
  expectResponse,
  adminEndpoints,
  expectError,
  type JsonObject,
  type List,
} from '../../support/client/admin-api.ts'
import { connectionRefusedUrl } from '../../support/upstream/unreachable-addresses.ts'
import { sharedTestServer, startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'

/** 127.0.0.1 is where scripted upstreams listen. */
const allowed = '127.0.0.1/32,192.168.7.0/24'
const server = await sharedTestServer({ env: { WORKERS: '2', UPSTREAM_ALLOW: allowed } })

async function callWithKey(
  at: TestServer,
  call: readonly [string, string],
  authorization?: string,
): Promise<number> {
  const [method, path] = call
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
  const response = await fetch(`${at.url}${path}`, { method, headers })
  const { error } = (await response.json()) as { error: JsonObject }
  assert.equal(Object.keys(error).length, 4)
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/)
  return response.status
}

async function modelsStatus(account: Account): Promise<number> {
  return (await account.get('/v1/models')).status
}

describe('Admin API', () => {
  test('Every endpoint returns 401 without a key, with a wrong key and with a customer’s key', async () => {
    const alice = await server.account({ balance: '1' })
    const calls = await adminEndpoints(server)
    assert.ok(calls.length >= 30, `${calls.length} calls`)
    for (const call of calls) {
      for (const authorization of [undefined, 'Bearer wrong', `Bearer ${alice.key.secret}`]) {
        assert.equal(await callWithKey(server, call, authorization), 401, call.join(' '))
      }
    }
  })

  test('Without ADMIN_API_KEY, every endpoint returns 404 with any key', async (t) => {
    const keyless = await startTestServer(t, { env: { ADMIN_API_KEY: '' } })
    for (const call of await adminEndpoints(server)) {
      for (const authorization of [undefined, 'Bearer ', `Bearer ${server.relay.adminKey}`]) {
        assert.equal(await callWithKey(keyless, call, authorization), 404, call.join(' '))
      }
    }
    // A running relay would be asked to verify the ledger, with an admin key.
    await keyless.stop()
  })

  test('An account is created, found, changed field by field and suspended', async () => {
    const created = await expectResponse(server, 201, [
      'POST',
      '/accounts',
      { email: 'Ann@Example.com', timezone: 'Europe/Berlin' },
    ])
    const path = `/accounts/${String(created['id'])}`
    assert.partialDeepStrictEqual(created, {
      email: 'Ann@Example.com',
      tier: 'new',
      status: 'active',
      balance: '0',
      held: '0',
      available: '0',
      spent_today: '0',
      spent_month: '0',
      caps: { daily: null, monthly: null },
      limits: { rpm: null, tpm: null, rpd: null, concurrency: null },
      timezone: 'Europe/Berlin',
    })
    assert.deepEqual(await expectResponse(server, 200, ['GET', path]), created)
    const found = await expectResponse(server, 200, ['GET', '/accounts?email=ann@EXAMPLE.com'])
    assert.deepEqual(found, { data: [created], next: null })
    assert.deepEqual(await expectResponse(server, 200, ['GET', '/accounts?email=bob@example.com']), {
      data: [],
      next: null,
    })
    for (const q of ['nn@example', 'ANN@', String(created['id'])])
      assert.deepEqual(await expectResponse(server, 200, ['GET', `/accounts?q=${q}`]), found, q)
    assert.deepEqual(await expectResponse(server, 200, ['GET', '/accounts?q=100%25_']), {
      data: [],
      next: null,
    })
    const patch = {
      caps: { daily: '1.5', monthly: '20' },
      limits: { rpm: 5, tpm: 'unlimited' },
      price_factor: '0.8',
    }
    await expectResponse(server, 200, ['PATCH', path, patch])
    const changed = await expectResponse(server, 200, [
      'PATCH',
      path,
      { caps: { daily: null }, limits: { rpm: null }, tier: 'standard' },
    ])
    assert.partialDeepStrictEqual(changed, {
      tier: 'standard',
      caps: { daily: null, monthly: '20' },
      limits: { rpm: null, tpm: 'unlimited' },
      price_factor: '0.8',
    })
    await expectResponse(server, 200, ['PATCH', path, { status: 'suspended' }])
    const second = await expectResponse(server, 201, ['POST', '/accounts', { email: 'bob@example.com' }])
    const first = await expectResponse<List>(server, 200, ['GET', '/accounts?limit=1'])
    assert.deepEqual(first.data, [second])
    const rest = await expectResponse<List>(server, 200, ['GET', `/accounts?limit=1&cursor=${first.next}`])
    assert.deepEqual(
      rest.data.map((account) => account['id']),
      [created['id']],
    )
    const all = await expectResponse<List>(server, 200, ['GET', '/accounts?limit=1000'])
    assert.equal(all.next, null)
  })

  test('Invalid fields of accounts and credits are named, and unknown ids return 404', async () => {
    const alice = await server.account()
    const account = `/accounts/${alice.id}`
    const credit = { amount: '1', reason: 'a test', idempotency_key: 'x' }
    const wrong: [string, string, JsonObject, string][] = [
      ['POST', '/accounts', {}, 'email'],
      ['POST', '/accounts', { email: 'nobody' }, 'email'],
      ['POST', '/accounts', { email: 'a@example.com', balance: '1' }, 'balance'],
      ['POST', '/accounts', { email: 'a@example.com', tier: 'none' }, 'tier'],
      ['POST', '/accounts', { email: 'a@example.com', timezone: 'Moon/Sea' }, 'timezone'],
      ['PATCH', account, { status: 'gone' }, 'status'],
      ['PATCH', account, { caps: { daily: '-1' } }, 'caps.daily'],
      ['PATCH', account, { caps: { total: '1' } }, 'caps.total'],
      ['PATCH', account, { limits: { rpm: 'many' } }, 'limits.rpm'],
      ['POST', `${account}/credits`, { ...credit, amount: 1 }, 'amount'],
      ['POST', `${account}/credits`, { ...credit, amount: '0' }, 'amount'],
      ['POST', `${account}/credits`, { ...credit, amount: '0.0000000001' }, 'amount'],
      ['POST', `${account}/credits`, { ...credit, amount: '1e3' }, 'amount'],
      ['POST', `${account}/credits`, { ...credit, reason: ' ' }, 'reason'],
      ['POST', `${account}/credits`, { amount: '1', reason: 'x' }, 'idempotency_key'],
    ]
    for (const [method, path, body, param] of wrong) {
      assert.equal(
        await expectError(server, 400, [method, path, body]),
        param,
        `${method} ${JSON.stringify(body)}`,
      )
    }
    await expectError(server, 409, ['POST', '/accounts', { email: String((await alice.state()).email) }])
    await expectError(server, 404, ['GET', '/accounts/acc_none'])
    await expectError(server, 404, ['PATCH', '/accounts/acc_none', {}])
    await expectError(server, 404, ['GET', '/accounts/acc_none/entries'])
    await expectError(server, 404, ['POST', '/accounts/acc_none/credits', credit])
  })

  test('A disabled or deleted key is rejected by the next request on every worker', async () => {
    const alice = await server.account({ balance: '1' })
    const path = `/keys/${alice.key.id}`
    assert.equal(await modelsStatus(alice), 200)
    await expectResponse(server, 200, ['PATCH', path, { status: 'disabled' }])
    for (let turn = 0; turn < 5; turn++) assert.equal(await modelsStatus(alice), 401)
    await expectResponse(server, 200, ['PATCH', path, { status: 'active' }])
    assert.equal(await modelsStatus(alice), 200)
    await expectResponse(server, 200, ['DELETE', path])
    for (let turn = 0; turn < 5; turn++) assert.equal(await modelsStatus(alice), 401)
    await expectError(server, 404, ['GET', path])
  })

  test('A test of an upstream makes one real call and reports it without the credential', async () => {
    const upstream = await server.upstream(respondWith('OK'))
    const down = await server.upstream(
      respondWithError(401, { error: { message: 'sk-upstream is not valid' } }),
    )
    const unreachable = await server.upstreamAt(await connectionRefusedUrl())
    const testUpstream = (id: string) =>
      expectResponse(server, 200, ['POST', `/upstreams/${id}/test`, { model: 'any' }])
    assert.partialDeepStrictEqual(await testUpstream(upstream.id), { ok: true, status: 200 })
    const failure = await testUpstream(down.name)
    assert.partialDeepStrictEqual(failure, { ok: false, status: 401 })
    assert.doesNotMatch(String(failure['message']), /sk-upstream/)
    assert.partialDeepStrictEqual(await testUpstream(unreachable.id), { ok: false, status: null })
    await expectError(server, 404, ['POST', '/upstreams/none/test', { model: 'any' }])
  })

  test('The audit log records every change and its actor', async () => {
    const alice = await server.account({ balance: '1' })
    await expectResponse(server, 200, ['PATCH', `/keys/${alice.key.id}`, { name: 'renamed' }])
    const { data } = await expectResponse<List>(server, 200, ['GET', '/audit?limit=4'])
    const actions = data.map((record) => [record['actor'], record['action']])
    assert.deepEqual(actions, [
      ['admin-api', 'key.update'],
      ['admin-api', 'key.create'],
      ['admin-api', 'account.credit'],
      ['admin-api', 'account.create'],
    ])
  })

  test('The endpoints for upstreams, models, tiers, accounts, keys and reports work', async () => {
    const { entries } = await server.verify()
    const upstream = await server.upstream(respondWith('Hello!'))
    const alice = await server.account({ balance: '1' })
    const spare = await server.upstreamAt('https://models.example/v1')
    const [account, key] = [`/accounts/${alice.id}`, `/keys/${alice.key.id}`]
    const routes = [{ upstream: upstream.id, model: 'm' }]
    const model = {
      id: 'org/large',
      context_tokens: 4096,
      prices: { input: '0.001', output: '0.001' },
      routes,
    }
    const call = async (status: number, pattern: string, id: string, body?: unknown): Promise<JsonObject> => {
      const [method = '', path = ''] = pattern.split(' ')
      return expectResponse(server, status, [method, path.replace(/\{\w+\}/, id), body])
    }
    await call(201, 'POST /upstreams', '', { name: 'more', provider: 'openai', credential: '' })
    await call(200, 'GET /upstreams', '')
    await call(200, 'GET /providers', '')
    await call(200, 'GET /reference-models', '')
    await call(200, 'GET /price-lists/{provider}', 'openai?rate=7.2')
    await call(200, 'GET /upstreams/{id}', upstream.id)
    await call(200, 'PATCH /upstreams/{id}', upstream.name, { weight: 2 })
    await call(200, 'DELETE /upstreams/{id}', spare.id)
    await call(201, 'POST /models', '', model)
    await call(200, 'POST /upstreams/{id}/test', upstream.id, {})
    await call(200, 'GET /models', '')
    await call(200, 'GET /models/{id}', model.id)
    await call(200, 'PATCH /models/{id}', model.id, { max_output_tokens: 100 })
    await call(200, 'GET /models/{id}/prices', encodeURIComponent(model.id))
    const response = await alice.post(chatRequest(model.id))
    assert.equal(response.status, 200)
    await response.text()
    await call(200, 'DELETE /models/{id}', model.id)
    await call(201, 'POST /tiers', '', { name: 'vip', rpm: 10 })
    await call(200, 'GET /tiers', '')
    await call(200, 'GET /tiers/{name}', 'vip')
    await call(200, 'PATCH /tiers/{name}', 'vip', { rpm: null, price_factor: '0.5' })
    await call(201, 'POST /accounts', '', {
      email: 'carol@example.com',
      name: 'Carol',
      tier: 'vip',
      trial: true,
    })
    await call(200, 'GET /accounts', '')
    await call(200, 'GET /accounts/{id}', alice.id)
    await call(200, 'PATCH /accounts/{id}', alice.id, { name: 'Alice' })
    const credit = { amount: '1', reason: 'more', idempotency_key: 'more' }
    await call(201, 'POST /accounts/{id}/credits', alice.id, credit)
    await call(200, 'GET /accounts/{id}/entries', alice.id)
    await call(201, 'POST /accounts/{id}/keys', alice.id, { name: 'another' })
    await call(200, 'GET /accounts/{id}/keys', alice.id)
    await call(200, 'GET /keys', '')
    await call(200, 'GET /keys/{id}', alice.key.id)
    await call(200, 'PATCH /keys/{id}', alice.key.id, { models: ['org/*'] })
    await call(200, 'DELETE /keys/{id}', alice.key.id)
    await call(201, 'POST /vouchers', '', { amount: '5', count: 2 })
    await call(200, 'GET /vouchers', '')
    await call(200, 'GET /requests', '')
    await call(200, 'GET /requests/{id}', response.headers.get('x-request-id') ?? '')
    await call(200, 'GET /usage', '')
    await call(200, 'GET /audit', '')
    const report = await call(200, 'GET /ledger/verify', '')
    assert.deepEqual(report, {
      ok: true,
      entries: entries + 3,
      drift: '0',
      open_holds: 0,
      overrun: '0',
      findings: [],
    })
    for (const path of [account, key]) await expectError(server, 400, ['PATCH', path, { colour: 'red' }])
  })

  test('Private upstream addresses are rejected in any notation unless the operator allows them', async () => {
    const fields = { name: 'one', provider: 'openai-compatible', credential: '' }
    const ipv4 = '127.0.0.2 2130706434 0x7f.2 0177.0.0.2 127.2 10.0.0.1 192.168.8.1 169.254.169.254'
    const ipv6 = '[::1] [::ffff:7f00:2] [64:ff9b::a00:1] [2002:a00:1::] [fd00::1]'
    for (const host of `${ipv4} ${ipv6}`.split(' ')) {
      const body = { ...fields, base_url: `http://${host}/v1` }
      assert.equal(await expectError(server, 400, ['POST', '/upstreams', body]), 'base_url', host)
    }
    await expectResponse(server, 201, [
      'POST',
      '/upstreams',
      { ...fields, base_url: 'http://192.168.7.9:8000/v1' },
    ])
  })
})
