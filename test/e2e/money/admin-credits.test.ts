// @backend both
/** Money over the admin API: credits, prices, and reports that agree with each other. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { expectResponse, expectError, type JsonObject, type List } from '../../support/client/admin-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()

describe('Credits, prices and reports', () => {
  test('Idempotency key of a credit – credits once, also after a restart, never another amount', async () => {
    const alice = await server.account()
    const path = `/accounts/${alice.id}/credits`
    const credit = { amount: '2.5', reason: 'an invoice', idempotency_key: 'inv-1' }
    const created = await expectResponse(server, 201, ['POST', path, credit])
    assert.partialDeepStrictEqual(created, {
      account: alice.id,
      amount: '2.5',
      balance: '2.5',
      reason: 'an invoice',
    })
    const again = await Promise.all(
      Array.from({ length: 5 }, () => expectResponse(server, 200, ['POST', path, credit])),
    )
    await server.restart()
    again.push(await expectResponse(server, 200, ['POST', path, credit]))
    for (const each of again) assert.deepEqual(each, created)
    assert.equal(
      await expectError(server, 409, ['POST', path, { ...credit, amount: '3' }]),
      'idempotency_key',
    )
    assert.equal(await alice.balance(), '2.5')
    const bob = await server.account()
    await expectResponse(server, 201, ['POST', `/accounts/${bob.id}/credits`, credit])
    assert.equal(await bob.balance(), '2.5')
  })

  test('Negative credit – at most the available balance; every entry has the balance after it', async () => {
    const alice = await server.account({ balance: '2' })
    const path = `/accounts/${alice.id}/credits`
    const withdrawal = (amount: string, key: string) => ({
      amount,
      reason: 'a mistake',
      idempotency_key: key,
    })
    assert.equal(await expectError(server, 409, ['POST', path, withdrawal('-2.000000001', 'a')]), 'amount')
    assert.partialDeepStrictEqual(
      await expectResponse(server, 201, ['POST', path, withdrawal('-0.75', 'a')]),
      {
        balance: '1.25',
      },
    )
    assert.partialDeepStrictEqual(
      await expectResponse(server, 201, ['POST', path, withdrawal('-1.25', 'b')]),
      {
        balance: '0',
      },
    )
    assert.equal(await expectError(server, 409, ['POST', path, withdrawal('-0.000000001', 'c')]), 'amount')
    const entries = `/accounts/${alice.id}/entries`
    const first = await expectResponse<List>(server, 200, ['GET', `${entries}?limit=2`])
    const rest = await expectResponse<List>(server, 200, ['GET', `${entries}?limit=2&cursor=${first.next}`])
    assert.deepEqual(
      [...first.data, ...rest.data].map((entry) => [entry['kind'], entry['amount'], entry['balance']]),
      [
        ['credit', '-1.25', '0'],
        ['credit', '-0.75', '1.25'],
        ['credit', '2', '2'],
      ],
    )
    assert.equal(rest.next, null)
  })

  test('Request – operator, caller and every report show the same cost to the nano', async () => {
    const costs = { input: '0.0001', output: '0.0002', currency: 'USD', rate: '7' }
    const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
      prices: costs,
    })
    await server.model('family-a-small', { upstreams: [upstream] })
    const alice = await server.account({ balance: '1' })
    const response = await alice.post(chatRequest('family-a-small'))
    assert.equal(response.status, 200)
    await response.text()
    const id = response.headers.get('x-request-id') ?? ''

    const [record] = (await expectResponse<List>(server, 200, ['GET', `/requests?request_id=${id}`])).data
    assert.partialDeepStrictEqual(record, {
      request_id: id,
      account: alice.id,
      key: alice.key.id,
      model: 'family-a-small',
      http_status: 200,
      outcome: 'ok',
      stream: false,
      finish: 'stop',
      prompt_tokens: 1000,
      completion_tokens: 100,
      usage_source: 'provider',
      cost: '0.0022',
      currency: 'CNY',
    })
    const attempts = record?.['attempts']
    assert.ok(Array.isArray(attempts))
    assert.equal(attempts.length, 1)
    for (const group of ['day', 'hour', 'model', 'key', 'account']) {
      const { data } = await expectResponse<List>(server, 200, [
        'GET',
        `/usage?group=${group}&account=${alice.id}`,
      ])
      const sums = { requests: 1, errors: 0, prompt_tokens: 1000, completion_tokens: 100 }
      assert.equal(data.length, 1)
      assert.partialDeepStrictEqual(data[0], {
        ...sums,
        cost: '0.0022',
        upstream_cost: '0.00084',
        margin: '0.00136',
      })
    }
    const entries = await expectResponse<List>(server, 200, ['GET', `/accounts/${alice.id}/entries?limit=1`])
    assert.partialDeepStrictEqual(entries.data[0], {
      kind: 'charge',
      amount: '-0.0022',
      balance: '0.9978',
      reference: id,
    })

    const ownRecord = (await (await alice.get(`/v1/requests/${id}`)).json()) as JsonObject
    assert.equal(ownRecord['cost'], '0.0022')
    for (const hidden of ['attempts', 'upstream', 'account']) assert.ok(!(hidden in ownRecord), hidden)
    const bob = await server.account({ balance: '1' })
    assert.equal((await bob.get(`/v1/requests/${id}`)).status, 404)
    const balance = (await (await alice.get('/v1/balance')).json()) as JsonObject
    assert.partialDeepStrictEqual(balance, {
      object: 'balance',
      currency: 'CNY',
      balance: '0.9978',
      held: '0',
      spent_today: '0.0022',
    })
    const billing = async (path: string) =>
      (await (await alice.get(`/v1/dashboard/billing/${path}`)).json()) as JsonObject
    assert.partialDeepStrictEqual(await billing('subscription'), { hard_limit_usd: 1 })
    assert.deepEqual(await billing('usage'), { object: 'list', total_usage: 0.22 })
    assert.deepEqual(await billing('usage?start_date=2020-01-01&end_date=2099-01-01'), {
      object: 'list',
      total_usage: 0.22,
    })
    assert.deepEqual(await billing('usage?end_date=2020-01-01'), { object: 'list', total_usage: 0 })
    assert.equal((await alice.get('/v1/dashboard/billing/usage?start_date=today')).status, 400)
  })

  test('Changed price – applies to the next request; earlier requests keep theirs', async () => {
    const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
    await server.model('family-a-large', { upstreams: [upstream], prices: ['0.001', '0.002'] })
    const alice = await server.account({ balance: '1' })
    await (await alice.post(chatRequest('family-a-large'))).text()
    const prices = { input: '0.002', output: '0.004' }
    await expectResponse(server, 200, ['PATCH', '/models/family-a-large', { prices }])
    await (await alice.post(chatRequest('family-a-large'))).text()
    await expectResponse(server, 200, ['PATCH', '/models/family-a-large', { prices: { free: true } }])
    await (await alice.post(chatRequest('family-a-large'))).text()
    assert.deepEqual(
      (await alice.requests()).map((request) => request.cost),
      ['0', '0.006', '0.003'],
    )
    const { data } = await expectResponse<List>(server, 200, ['GET', '/models/family-a-large/prices'])
    assert.deepEqual(
      data.map((version) => (version['prices'] as JsonObject)['output']),
      [undefined, '0.004', '0.002'],
    )
  })

  test('Model without a price – is rejected, not listed and not served', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    const routes = [{ upstream: upstream.name, model: 'm' }]
    const model = { id: 'without-price', context_tokens: 4096, routes }
    assert.equal(await expectError(server, 400, ['POST', '/models', model]), 'prices')
    const alice = await server.account({ balance: '1' })
    const listed = (await (await alice.get('/v1/models')).json()) as List
    assert.ok(listed.data.every(({ id }) => id !== 'without-price'))
    assert.equal((await alice.post(chatRequest('without-price'))).status, 404)
    assert.equal(upstream.requests.length, 0)
  })
})
