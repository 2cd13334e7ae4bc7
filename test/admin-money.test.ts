/** Money over the automation contract, on the whole program: credits, prices, and that every report tells the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question } from './support/server/account.ts'
import { answered, refused, type Fields, type List } from './contract.ts'
import { openHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

test('the same idempotency key credits once, also across a start, and never another amount', async (t) => {
  const house = await openHouse(t)
  const alice = await house.account()
  const path = `/accounts/${alice.id}/credits`
  const credit = { amount: '2.5', reason: 'an invoice', idempotency_key: 'inv-1' }
  const entered = await answered(house, 201, ['POST', path, credit])
  assert.partialDeepStrictEqual(entered, {
    account: alice.id,
    amount: '2.5',
    balance: '2.5',
    reason: 'an invoice',
  })
  const again = await Promise.all(
    Array.from({ length: 5 }, () => answered(house, 200, ['POST', path, credit])),
  )
  await house.restart()
  again.push(await answered(house, 200, ['POST', path, credit]))
  for (const each of again) assert.deepEqual(each, entered)
  assert.equal(await refused(house, 409, ['POST', path, { ...credit, amount: '3' }]), 'idempotency_key')
  assert.equal(await alice.balance(), '2.5')
  const bob = await house.account()
  await answered(house, 201, ['POST', `/accounts/${bob.id}/credits`, credit])
  assert.equal(await bob.balance(), '2.5')
  await house.nothingHeld()
})

test('a credit is taken back as far as there is something, and every entry tells the balance after it', async (t) => {
  const house = await openHouse(t)
  const alice = await house.account({ balance: '2' })
  const path = `/accounts/${alice.id}/credits`
  const back = (amount: string, key: string) => ({ amount, reason: 'a mistake', idempotency_key: key })
  assert.equal(await refused(house, 409, ['POST', path, back('-2.000000001', 'a')]), 'amount')
  assert.partialDeepStrictEqual(await answered(house, 201, ['POST', path, back('-0.75', 'a')]), {
    balance: '1.25',
  })
  assert.partialDeepStrictEqual(await answered(house, 201, ['POST', path, back('-1.25', 'b')]), {
    balance: '0',
  })
  assert.equal(await refused(house, 409, ['POST', path, back('-0.000000001', 'c')]), 'amount')
  const entries = `/accounts/${alice.id}/entries`
  const first = await answered<List>(house, 200, ['GET', `${entries}?limit=2`])
  const rest = await answered<List>(house, 200, ['GET', `${entries}?limit=2&cursor=${first.next}`])
  assert.deepEqual(
    [...first.data, ...rest.data].map((entry) => [entry['kind'], entry['amount'], entry['balance']]),
    [
      ['credit', '-1.25', '0'],
      ['credit', '-0.75', '1.25'],
      ['credit', '2', '2'],
    ],
  )
  assert.equal(rest.next, null)
  await house.nothingHeld()
})

test('a request is told to its operator, its caller and every report alike, at once and to the nano', async (t) => {
  const house = await openHouse(t)
  const costs = { input: '0.0001', output: '0.0002', currency: 'USD', rate: '7' }
  const up = await house.upstream(saying('Hello!', { input: 1000, output: 100 }), { prices: costs })
  await house.model('family-a-small', { upstreams: [up] })
  const alice = await house.account({ balance: '1' })
  const reply = await alice.post(question('family-a-small'))
  assert.equal(reply.status, 200)
  await reply.text()
  const id = reply.headers.get('x-request-id') ?? ''

  const [record] = (await answered<List>(house, 200, ['GET', `/requests?request_id=${id}`])).data
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
    const { data } = await answered<List>(house, 200, ['GET', `/usage?group=${group}&account=${alice.id}`])
    const sums = { requests: 1, errors: 0, prompt_tokens: 1000, completion_tokens: 100 }
    assert.equal(data.length, 1)
    assert.partialDeepStrictEqual(data[0], {
      ...sums,
      cost: '0.0022',
      upstream_cost: '0.00084',
      margin: '0.00136',
    })
  }
  const entries = await answered<List>(house, 200, ['GET', `/accounts/${alice.id}/entries?limit=1`])
  assert.partialDeepStrictEqual(entries.data[0], {
    kind: 'charge',
    amount: '-0.0022',
    balance: '0.9978',
    reference: id,
  })

  const shown = (await (await alice.get(`/v1/requests/${id}`)).json()) as Fields
  assert.equal(shown['cost'], '0.0022')
  for (const hidden of ['attempts', 'upstream', 'account']) assert.ok(!(hidden in shown), hidden)
  const bob = await house.account({ balance: '1' })
  assert.equal((await bob.get(`/v1/requests/${id}`)).status, 404)
  const balance = (await (await alice.get('/v1/balance')).json()) as Fields
  assert.partialDeepStrictEqual(balance, {
    object: 'balance',
    currency: 'CNY',
    balance: '0.9978',
    held: '0',
    spent_today: '0.0022',
  })
  const billing = async (path: string) =>
    (await (await alice.get(`/v1/dashboard/billing/${path}`)).json()) as Fields
  assert.partialDeepStrictEqual(await billing('subscription'), { hard_limit_usd: 1 })
  assert.deepEqual(await billing('usage'), { object: 'list', total_usage: 0.22 })
  assert.deepEqual(await billing('usage?start_date=2020-01-01&end_date=2099-01-01'), {
    object: 'list',
    total_usage: 0.22,
  })
  assert.deepEqual(await billing('usage?end_date=2020-01-01'), { object: 'list', total_usage: 0 })
  assert.equal((await alice.get('/v1/dashboard/billing/usage?start_date=today')).status, 400)
  await house.nothingHeld()
})

test('another price holds for the next request, and the one before keeps its own', async (t) => {
  const house = await openHouse(t)
  const up = await house.upstream(saying('Hello!', { input: 1000, output: 1000 }))
  await house.model('family-a-small', { upstreams: [up], prices: ['0.001', '0.002'] })
  const alice = await house.account({ balance: '1' })
  await (await alice.post(question('family-a-small'))).text()
  const prices = { input: '0.002', output: '0.004' }
  await answered(house, 200, ['PATCH', '/models/family-a-small', { prices }])
  await (await alice.post(question('family-a-small'))).text()
  await answered(house, 200, ['PATCH', '/models/family-a-small', { prices: { free: true } }])
  await (await alice.post(question('family-a-small'))).text()
  assert.deepEqual(
    (await alice.requests()).map((request) => request.cost),
    ['0', '0.006', '0.003'],
  )
  const { data } = await answered<List>(house, 200, ['GET', '/models/family-a-small/prices'])
  assert.deepEqual(
    data.map((version) => (version['prices'] as Fields)['output']),
    [undefined, '0.004', '0.002'],
  )
  await house.nothingHeld()
})

test('a model that was refused for want of a price is neither listed nor served', async (t) => {
  const house = await openHouse(t)
  const up = await house.upstream(saying('Hello!'))
  const routes = [{ upstream: up.name, model: 'm' }]
  const model = { id: 'family-a-small', context_tokens: 4096, routes }
  assert.equal(await refused(house, 400, ['POST', '/models', model]), 'prices')
  const alice = await house.account({ balance: '1' })
  const listed = (await (await alice.get('/v1/models')).json()) as List
  assert.deepEqual(listed.data, [])
  assert.equal((await alice.post(question('family-a-small'))).status, 404)
  assert.equal(up.requests.length, 0)
  await house.nothingHeld()
})
