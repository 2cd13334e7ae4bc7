// @backend both
/** Costs of routes: what two models of one upstream cost, and that an unknown cost is not taken for zero. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Dashboard } from '../../../src/http/admin/monitoring/dashboard.ts'
import { chatRequest } from '../../support/server/account.ts'
import { startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface Sums {
  readonly model: string
  readonly upstream_cost: string | null
  readonly margin: string | null
  readonly requests_without_cost: number
}

async function marginsByModel(server: TestServer): Promise<unknown[]> {
  const { data } = await server.admin<{ data: Sums[] }>('GET', '/usage?group=model')
  return data
    .toSorted((left, right) => (left.model < right.model ? -1 : 1))
    .map((sums) => [sums.model, sums.upstream_cost, sums.margin, sums.requests_without_cost])
}

describe('Costs of routes', () => {
  test('two models of one upstream – have costs and margins of their own; unknown is null', async (t) => {
    const server = await startTestServer(t)
    const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }), {
      prices: { input: '0.0007', output: '0.0007' },
    })
    const route = { upstream: upstream.id, model: 'large' }
    const cost = { input: '0.0001', output: '0.0002', currency: 'USD', rate: '7' }
    await server.model('large', { upstreams: [upstream] })
    await server.model('small', { upstreams: [], routes: [{ upstream: upstream.id, model: 'small', cost }] })
    const account = await server.account({ balance: '1' })
    const request = async (model: string): Promise<unknown[]> => {
      const response = await account.post(chatRequest(model))
      assert.equal(response.status, 200, await response.text())
      const [row] = await server.requests({ account: account.id })
      const found = await server.admin<Sums>('GET', `/requests/${row?.request_id}`)
      return [found.upstream_cost, found.margin]
    }
    assert.deepEqual(await request('small'), ['0.0021', '0.0019'])
    assert.deepEqual(await request('large'), [null, null])
    assert.deepEqual(await marginsByModel(server), [
      ['large', null, null, 1],
      ['small', '0.0021', '0.0019', 0],
    ])
    const unknown = await waitUntil(async () => {
      const dashboard = await server.admin<Dashboard>('GET', '/dashboard')
      return dashboard.month.requests === 2 ? dashboard : undefined
    }, 'both requests on the dashboard')
    const { upstream_cost, margin, requests_without_cost } = unknown.month
    assert.deepEqual([upstream_cost, margin, requests_without_cost], [null, null, 1])
    assert.deepEqual(
      unknown.models.map((sums) => sums.margin),
      [null, '0.0019'],
    )
    const named = { upstream: upstream.id, name: upstream.name, models: ['large'] }
    assert.deepEqual(unknown.unknown_costs, [named])

    await server.restart()
    const warning = await waitUntil(
      async () => server.relay.lines.find((line) => line.includes('costs unknown')),
      'the warning',
    )
    assert.partialDeepStrictEqual(JSON.parse(warning), { upstream: upstream.name, models: ['large'] })

    await server.admin('PATCH', '/models/large', { routes: [{ ...route, cost: { free: true } }] })
    assert.deepEqual(await request('large'), ['0', '0.004'])
    assert.deepEqual((await server.admin<Dashboard>('GET', '/dashboard')).unknown_costs, [])
  })

  test('prices of an upstream – are the cost of its only model', async (t) => {
    const server = await startTestServer(t)
    const upstream = await server.upstream(respondWith('Hi!', { input: 1000, output: 1000 }), {
      prices: { input: '0.0007', output: '0.0007' },
    })
    await server.model('only', { upstreams: [upstream] })
    const account = await server.account({ balance: '1' })
    await (await account.post(chatRequest('only'))).text()
    assert.deepEqual(await marginsByModel(server), [['only', '0.0014', '0.0026', 0]])
  })
})
