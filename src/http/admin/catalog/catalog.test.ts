import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { providerNames } from '../../../providers/registry.ts'
import { startAdminServer, type AdminServer } from '../admin-server.fixture.ts'

type Fields = Record<string, unknown>

async function expectStatus(
  adminServer: AdminServer,
  status: number,
  ...call: Parameters<AdminServer['call']>
): Promise<Fields> {
  const response = await adminServer.call(...call)
  assert.equal(response.status, status, JSON.stringify(response.body))
  return response.body as Fields
}

async function invalidParam(
  adminServer: AdminServer,
  ...call: Parameters<AdminServer['call']>
): Promise<unknown> {
  const { error } = await expectStatus(adminServer, 400, ...call)
  return (error as Fields)['param']
}

const upstream = { name: 'one', provider: 'openai', credential: 'sk-a-secret' }

describe('catalog in the admin API', () => {
  test('an upstream – never reveals its credential, in responses or the audit log', async (t) => {
    const adminServer = await startAdminServer(t)
    const created = await expectStatus(adminServer, 201, 'POST', '/upstreams', upstream)
    const through = { ...upstream, name: 'two', proxy: 'http://u:pass@proxy.example:8080' }
    const proxied = await expectStatus(adminServer, 201, 'POST', '/upstreams', through)
    assert.equal(proxied['proxy'], 'http://proxy.example:8080/')
    const responses = [
      proxied,
      created,
      await expectStatus(adminServer, 200, 'GET', '/upstreams'),
      await expectStatus(adminServer, 200, 'GET', `/upstreams/${String(created['id'])}`),
      await expectStatus(adminServer, 200, 'PATCH', '/upstreams/one', { credential: 'sk-another-secret' }),
      await expectStatus(adminServer, 200, 'GET', '/audit'),
    ]
    for (const response of responses) assert.doesNotMatch(JSON.stringify(response), /secret|pass@/)
    const live = adminServer.ctx.catalog.upstream(String(created['id']))
    assert.equal(live?.credential, 'sk-another-secret')
  })

  test('invalid credentials and model ids – are rejected when saved', async (t) => {
    const adminServer = await startAdminServer(t)
    for (const credential of ['sk-a\r\nX-Evil: 1', 'sk-a\nb', 'sk-…', 'sk-\u200babc', 'sk-\u0000']) {
      assert.equal(
        await invalidParam(adminServer, 'POST', '/upstreams', { ...upstream, credential }),
        'credential',
      )
    }
    const account = JSON.stringify({ client_email: 'é@example.com', private_key: 'a' }, null, 2)
    for (const [name, credential] of Object.entries({ pasted: ' sk-a \r\n', json: account, none: '' })) {
      await expectStatus(adminServer, 201, 'POST', '/upstreams', { ...upstream, name, credential })
    }
    for (const id of ['a/../b', 'a/..', 'a/./b', 'a//b', 'a/']) {
      const model = { id, context_tokens: 100, free: true, routes: [] }
      assert.equal(await invalidParam(adminServer, 'POST', '/models', model), 'id')
    }
  })

  test('an upstream – is created in full, updated by field and reset by null', async (t) => {
    const adminServer = await startAdminServer(t)
    const prices = { input: '0.001', output: '0.002', currency: 'USD', rate: '7.1' }
    const timeouts = { idle_ms: 5000 }
    const created = await expectStatus(adminServer, 201, 'POST', '/upstreams', {
      ...upstream,
      prices,
      timeouts,
      priority: 2,
    })
    assert.equal(created['base_url'], 'https://api.openai.com/v1')
    assert.deepEqual(created['timeouts'], {
      connect_ms: 5000,
      first_token_ms: 120_000,
      idle_ms: 5000,
      answer_ms: 600_000,
    })
    assert.partialDeepStrictEqual(created['prices'], prices)
    const changed = await expectStatus(adminServer, 200, 'PATCH', '/upstreams/one', {
      weight: 3,
      timeouts: { connect_ms: 1000 },
    })
    assert.deepEqual(
      [changed['weight'], changed['priority'], (changed['timeouts'] as Fields)['idle_ms']],
      [3, 2, 5000],
    )
    const reset = {
      prices: null,
      timeouts: { idle_ms: null },
      enabled: false,
      on_abort: 'drain',
      name: 'two',
    }
    const taken = await expectStatus(adminServer, 200, 'PATCH', `/upstreams/${String(created['id'])}`, reset)
    assert.deepEqual(
      [
        taken['prices'],
        (taken['timeouts'] as Fields)['idle_ms'],
        taken['enabled'],
        taken['on_abort'],
        taken['name'],
      ],
      [null, 120_000, false, 'drain', 'two'],
    )
    await expectStatus(adminServer, 200, 'DELETE', '/upstreams/two')
    await expectStatus(adminServer, 404, 'GET', '/upstreams/two')
    await expectStatus(adminServer, 404, 'DELETE', '/upstreams/two')
    await expectStatus(adminServer, 404, 'PATCH', '/upstreams/two', {})
  })

  test('provider – must exist; without a default URL, base_url is required', async (t) => {
    const adminServer = await startAdminServer(t)
    const { error } = await expectStatus(adminServer, 400, 'POST', '/upstreams', {
      ...upstream,
      provider: 'nobody',
    })
    assert.equal((error as Fields)['param'], 'provider')
    assert.match(String((error as Fields)['message']), /openai-compatible/)
    const compatible = { ...upstream, provider: 'openai-compatible' }
    assert.equal(await invalidParam(adminServer, 'POST', '/upstreams', compatible), 'base_url')
    await expectStatus(adminServer, 201, 'POST', '/upstreams', {
      ...compatible,
      base_url: 'https://models.example/v1/',
    })
    await expectStatus(adminServer, 409, 'POST', '/upstreams', upstream)
  })

  const privateAddresses = [
    'http://127.0.0.1/v1',
    'http://2130706433/v1',
    'http://0x7f000001/v1',
    'http://0177.0.0.1/v1',
    'http://127.1/v1',
    'http://localhost/v1',
    'http://10.1.2.3:8000/v1',
    'http://192.168.0.1/v1',
    'http://169.254.169.254/latest',
    'http://[::1]/v1',
    'http://[::ffff:10.0.0.1]/v1',
    'http://[64:ff9b::10.0.0.1]/v1',
    'http://[2002:a00:1::]/v1',
    'http://[fd00::1]/v1',
    'http://100.64.0.1/v1',
    'http://user:password@127.0.0.1/v1',
    'http://127.0.0.1\\@models.example/v1',
  ]

  test('private addresses – are rejected in every notation, as base_url and as proxy', async (t) => {
    const adminServer = await startAdminServer(t)
    await expectStatus(adminServer, 201, 'POST', '/upstreams', { ...upstream, name: 'public' })
    for (const address of privateAddresses) {
      const body = { ...upstream, base_url: address }
      assert.equal(await invalidParam(adminServer, 'POST', '/upstreams', body), 'base_url', address)
      assert.equal(
        await invalidParam(adminServer, 'PATCH', '/upstreams/public', { base_url: address }),
        'base_url',
      )
      assert.equal(await invalidParam(adminServer, 'PATCH', '/upstreams/public', { proxy: address }), 'proxy')
    }
  })

  test('private addresses – are accepted only if UPSTREAM_ALLOW lists them', async (t) => {
    const adminServer = await startAdminServer(t, { environment: { UPSTREAM_ALLOW: '127.0.0.0/8' } })
    await expectStatus(adminServer, 201, 'POST', '/upstreams', {
      ...upstream,
      base_url: 'http://127.0.0.1:9000/v1',
    })
    const other = { ...upstream, name: 'two', base_url: 'http://10.0.0.1/v1' }
    assert.equal(await invalidParam(adminServer, 'POST', '/upstreams', other), 'base_url')
  })

  const model = { id: 'org/large', context_tokens: 8192 }
  const prices = { input: '0.03', output: '0.06' }

  test('a model – requires either prices or free, not both', async (t) => {
    const adminServer = await startAdminServer(t)
    const wrong: [Fields, string][] = [
      [{}, 'prices'],
      [{ prices: {} }, 'prices'],
      [{ prices: { ...prices, free: true } }, 'prices'],
      [{ prices, free: true }, 'prices'],
      [{ prices: { free: false } }, 'prices.free'],
      [{ prices: { input: '0.03' } }, 'prices.output'],
      [{ prices: { input: 0.03, output: '0.06' } }, 'prices.input'],
      [{ prices: { input: '-1', output: '0.06' } }, 'prices.input'],
      [{ prices, routes: [{ upstream: 'nobody', model: 'x' }] }, 'routes[0].upstream'],
    ]
    for (const [fields, param] of wrong) {
      assert.equal(
        await invalidParam(adminServer, 'POST', '/models', { ...model, ...fields }),
        param,
        JSON.stringify(fields),
      )
    }
    assert.deepEqual(adminServer.ctx.catalog.listed(), [])
    const free = await expectStatus(adminServer, 201, 'POST', '/models', { ...model, free: true })
    assert.deepEqual(free['prices'], { free: true })
  })

  test('prices – a change creates a version; equal or omitted prices do not', async (t) => {
    const adminServer = await startAdminServer(t)
    const created = await expectStatus(adminServer, 201, 'POST', '/models', { ...model, prices })
    const same = await expectStatus(adminServer, 200, 'PATCH', '/models/org/large', {
      prices,
      owned_by: 'us',
    })
    const none = await expectStatus(adminServer, 200, 'PATCH', '/models/org%2Flarge', { listed: false })
    assert.equal(same['price_version'], created['price_version'])
    assert.equal(none['price_version'], created['price_version'])
    const dearer = await expectStatus(adminServer, 200, 'PATCH', '/models/org/large', {
      prices: { ...prices, output: '0.07' },
    })
    assert.notEqual(dearer['price_version'], created['price_version'])
    const { data } = await expectStatus(adminServer, 200, 'GET', '/models/org/large/prices')
    const outputs = (data as { prices: Fields }[]).map((version) => version.prices['output'])
    assert.deepEqual(outputs, ['0.07', '0.06'])
    assert.equal(await invalidParam(adminServer, 'PATCH', '/models/org/large', { prices: {} }), 'prices')
  })

  test('routes – accept upstream ids and names; changes take effect with the response', async (t) => {
    const adminServer = await startAdminServer(t)
    const { id } = await expectStatus(adminServer, 201, 'POST', '/upstreams', upstream)
    const routes = [
      { upstream: 'one', model: 'a' },
      { upstream: id, model: 'b', priority: 2, weight: 5, expose_model: true, cost: { free: true } },
    ]
    const created = await expectStatus(adminServer, 201, 'POST', '/models', { ...model, prices, routes })
    const seen = { upstream: id, maximum: 'unseen' }
    const [first, second] = [
      { ...seen, model: 'a', priority: null, weight: null, expose_model: false, cost: null },
      { ...routes[1], ...seen, cost: { free: true, currency: null, rate: '1' } },
    ]
    assert.deepEqual(created['routes'], [first, second])
    assert.equal(adminServer.ctx.catalog.model('org/large')?.routes.length, 2)
    await expectStatus(adminServer, 409, 'DELETE', '/upstreams/one')
    await expectStatus(adminServer, 409, 'POST', '/models', { ...model, prices })
    const shorter = await expectStatus(adminServer, 200, 'PATCH', '/models/org/large', {
      routes: [routes[1]],
    })
    assert.deepEqual(shorter['routes'], [second])
    await expectStatus(adminServer, 200, 'DELETE', '/models/org/large')
    assert.equal(adminServer.ctx.catalog.model('org/large'), undefined)
    await expectStatus(adminServer, 404, 'GET', '/models/org/large')
    await expectStatus(adminServer, 404, 'GET', '/models/org/large/prices')
    await expectStatus(adminServer, 200, 'DELETE', '/upstreams/one')
  })

  test('tiers – start with three, null is unlimited, names are unique', async (t) => {
    const adminServer = await startAdminServer(t)
    const { data } = await expectStatus(adminServer, 200, 'GET', '/tiers')
    assert.deepEqual(
      (data as Fields[]).map((tier) => tier['name']),
      ['enterprise', 'new', 'standard'],
    )
    const tier = await expectStatus(adminServer, 201, 'POST', '/tiers', {
      name: 'vip',
      rpm: 5,
      price_factor: '0.9',
    })
    assert.deepEqual(tier, {
      name: 'vip',
      rpm: 5,
      tpm: null,
      rpd: null,
      concurrency: null,
      price_factor: '0.9',
      after_payment: null,
    })
    const changed = await expectStatus(adminServer, 200, 'PATCH', '/tiers/vip', { rpm: null, tpm: 7 })
    assert.deepEqual([changed['rpm'], changed['tpm'], changed['price_factor']], [null, 7, '0.9'])
    assert.deepEqual(adminServer.ctx.directory.tier('vip')?.limits.tpm, 7)
    await expectStatus(adminServer, 409, 'POST', '/tiers', { name: 'vip' })
    await expectStatus(adminServer, 404, 'PATCH', '/tiers/none', {})
    await expectStatus(adminServer, 404, 'GET', '/tiers/none')
    assert.equal(await invalidParam(adminServer, 'PATCH', '/tiers/vip', { name: 'other' }), 'name')
  })

  test('GET /providers – lists every provider of the registry with its default URL', async (t) => {
    const adminServer = await startAdminServer(t)
    const { status, body } = await adminServer.call('GET', '/providers')
    assert.equal(status, 200)
    const { data } = body as { data: { name: string; base_url: string | null }[] }
    assert.deepEqual(
      data.map(({ name }) => name),
      providerNames,
    )
    assert.equal(data.find(({ name }) => name === 'deepseek')?.base_url, 'https://api.deepseek.com/v1')
  })
})
