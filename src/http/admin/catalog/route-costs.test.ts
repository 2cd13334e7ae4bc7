import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startAdminServer, type AdminServer } from '../admin-server.fixture.ts'

type Fields = Record<string, unknown>

const prices = { input: '0.002', output: '0.004' }

async function call(server: AdminServer, ...args: Parameters<AdminServer['call']>): Promise<Fields> {
  const { status, body } = await server.call(...args)
  assert.ok(status < 300, JSON.stringify(body))
  return body as Fields
}

async function createUpstream(server: AdminServer, name: string): Promise<void> {
  await call(server, 'POST', '/upstreams', {
    name,
    provider: 'openai',
    credential: 'sk-1',
    prices: { input: '0.001', output: '0.002', currency: 'USD', rate: '7' },
  })
}

const createModel = (server: AdminServer, id: string, route: Fields): Promise<Fields> =>
  call(server, 'POST', '/models', { id, context_tokens: 4096, prices, routes: [route] })

const costsOf = (server: AdminServer): (bigint | null)[] =>
  server.ctx.catalog.models().map(({ routes }) => routes[0]?.cost?.input ?? null)

describe('costs of routes', () => {
  test('prices of an upstream – are the cost of a route while it serves one model', async (t) => {
    const server = await startAdminServer(t)
    await createUpstream(server, 'one')
    const first = await createModel(server, 'first', { upstream: 'one', model: 'a' })
    assert.deepEqual((first['effective_costs'] as Fields[])[0]?.['input'], '0.007')
    await createModel(server, 'alias', { upstream: 'one', model: 'a' })
    assert.deepEqual(costsOf(server), [7_000_000_000n, 7_000_000_000n])
    assert.deepEqual(server.ctx.catalog.unknownCosts(), [])
    const other = await createModel(server, 'other', { upstream: 'one', model: 'b' })
    assert.deepEqual(other['effective_costs'], [null])
    assert.deepEqual(costsOf(server), [null, null, null])
    const [unknown] = server.ctx.catalog.unknownCosts()
    assert.deepEqual([unknown?.upstream.name, unknown?.models], ['one', ['alias', 'first', 'other']])
    await call(server, 'DELETE', '/models/other')
    assert.deepEqual(costsOf(server), [7_000_000_000n, 7_000_000_000n])
  })

  test('cost of a route – takes the place of the upstream’s prices, and null removes it', async (t) => {
    const server = await startAdminServer(t)
    await createUpstream(server, 'one')
    const cost = { input: '0.0003', output: '0.0012', cached_input: null, currency: 'EUR', rate: '8' }
    await createModel(server, 'first', { upstream: 'one', model: 'a', cost })
    await createModel(server, 'second', { upstream: 'one', model: 'b' })
    assert.deepEqual(costsOf(server), [2_400_000_000n, null])
    assert.deepEqual(server.ctx.catalog.unknownCosts()[0]?.models, ['second'])
    const { routes, effective_costs: effective } = await call(server, 'GET', '/models/first')
    assert.partialDeepStrictEqual(routes, [{ cost }])
    assert.partialDeepStrictEqual(effective, [{ input: '0.0024', output: '0.0096' }])
    const audited = async (): Promise<number> =>
      ((await call(server, 'GET', '/audit?limit=100'))['data'] as unknown[]).length
    const before = await audited()
    await call(server, 'PATCH', '/models/first', { routes })
    assert.equal(await audited(), before, 'routes sent back as they were read change nothing')
    const removed = await call(server, 'PATCH', '/models/first', {
      routes: (routes as Fields[]).map((route) => ({ ...route, cost: null })),
    })
    assert.deepEqual(removed['effective_costs'], [null])
  })

  test('invalid cost – is rejected by the name of the field', async (t) => {
    const server = await startAdminServer(t)
    await createUpstream(server, 'one')
    const paramOf = async (cost: Fields): Promise<unknown> => {
      const routes = [{ upstream: 'one', model: 'a', cost }]
      const body = { id: 'm', context_tokens: 4096, prices, routes }
      const { status, body: response } = await server.call('POST', '/models', body)
      assert.equal(status, 400)
      return ((response as Fields)['error'] as Fields)['param']
    }
    assert.equal(await paramOf({ input: '0.1' }), 'routes[0].cost.output')
    assert.equal(await paramOf({ input: '-1', output: '1' }), 'routes[0].cost.input')
    assert.equal(await paramOf({ ...prices, currency: 'usd' }), 'routes[0].cost.currency')
    assert.equal(await paramOf({ ...prices, rate: 'x' }), 'routes[0].cost.rate')
    assert.equal(await paramOf({ ...prices, free: true }), 'routes[0].cost')
    assert.equal(await paramOf({}), 'routes[0].cost')
  })
})
