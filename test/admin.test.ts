/** The automation contract on the whole program: who may come in, and what its calls do to accounts and keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question, type Account } from './support/server/account.ts'
import { answered, callsOf, refused, type Fields, type List } from './contract.ts'
import { connectionRefusedUrl } from './support/upstream/unreachable-addresses.ts'
import { openHouse, type House } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'
import { walkedElsewhere } from './walked-elsewhere.ts'

async function stranger(
  house: House,
  call: readonly [string, string],
  authorization?: string,
): Promise<number> {
  const [method, path] = call
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
  const reply = await fetch(`${house.url}${path}`, { method, headers })
  const { error } = (await reply.json()) as { error: Fields }
  assert.equal(Object.keys(error).length, 4)
  assert.match(reply.headers.get('x-request-id') ?? '', /^req_/)
  return reply.status
}

test('a stranger is refused on every call of the contract: without a key, with a wrong one, with a customer’s', async (t) => {
  const house = await openHouse(t)
  const alice = await house.account({ balance: '1' })
  const calls = await callsOf(house)
  assert.ok(calls.length >= 30, `${calls.length} calls`)
  for (const call of calls) {
    for (const authorization of [undefined, 'Bearer wrong', `Bearer ${alice.key.secret}`]) {
      assert.equal(await stranger(house, call, authorization), 401, call.join(' '))
    }
  }
})

test('without ADMIN_API_KEY there is no contract to be found, with any key', async (t) => {
  const house = await openHouse(t, { env: { ADMIN_API_KEY: 'the-key' } })
  const calls = await callsOf(house)
  await house.restart({ ADMIN_API_KEY: '' })
  for (const call of calls) {
    for (const authorization of [undefined, 'Bearer ', 'Bearer the-key']) {
      assert.equal(await stranger(house, call, authorization), 404, call.join(' '))
    }
  }
  await house.restart()
})

test('an account is opened, found, changed field by field, and stopped', async (t) => {
  const house = await openHouse(t)
  const created = await answered(house, 201, [
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
  assert.deepEqual(await answered(house, 200, ['GET', path]), created)
  const found = await answered(house, 200, ['GET', '/accounts?email=ann@EXAMPLE.com'])
  assert.deepEqual(found, { data: [created], next: null })
  assert.deepEqual(await answered(house, 200, ['GET', '/accounts?email=bob@example.com']), {
    data: [],
    next: null,
  })
  const patch = {
    caps: { daily: '1.5', monthly: '20' },
    limits: { rpm: 5, tpm: 'unlimited' },
    price_factor: '0.8',
  }
  await answered(house, 200, ['PATCH', path, patch])
  const changed = await answered(house, 200, [
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
  await answered(house, 200, ['PATCH', path, { status: 'suspended' }])
  const second = await answered(house, 201, ['POST', '/accounts', { email: 'bob@example.com' }])
  const first = await answered<List>(house, 200, ['GET', '/accounts?limit=1'])
  assert.deepEqual(first.data, [second])
  const rest = await answered<List>(house, 200, ['GET', `/accounts?limit=1&cursor=${first.next}`])
  assert.deepEqual([rest.data.map((account) => account['id']), rest.next], [[created['id']], null])
})

test('wrong fields of accounts and credits are named, and who is not there is 404', async (t) => {
  const house = await openHouse(t)
  const alice = await house.account()
  const account = `/accounts/${alice.id}`
  const credit = { amount: '1', reason: 'a test', idempotency_key: 'x' }
  const wrong: [string, string, Fields, string][] = [
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
    assert.equal(await refused(house, 400, [method, path, body]), param, `${method} ${JSON.stringify(body)}`)
  }
  await refused(house, 409, ['POST', '/accounts', { email: String((await alice.state()).email) }])
  await refused(house, 404, ['GET', '/accounts/acc_none'])
  await refused(house, 404, ['PATCH', '/accounts/acc_none', {}])
  await refused(house, 404, ['GET', '/accounts/acc_none/entries'])
  await refused(house, 404, ['POST', '/accounts/acc_none/credits', credit])
  await house.nothingHeld()
})

async function modelsOf(account: Account): Promise<number> {
  return (await account.get('/v1/models')).status
}

test('a key that is disabled or deleted is refused by the very next call', async (t) => {
  const house = await openHouse(t, { env: { WORKERS: '2' } })
  const alice = await house.account({ balance: '1' })
  const path = `/keys/${alice.key.id}`
  assert.equal(await modelsOf(alice), 200)
  await answered(house, 200, ['PATCH', path, { status: 'disabled' }])
  for (let turn = 0; turn < 5; turn++) assert.equal(await modelsOf(alice), 401)
  await answered(house, 200, ['PATCH', path, { status: 'active' }])
  assert.equal(await modelsOf(alice), 200)
  await answered(house, 200, ['DELETE', path])
  for (let turn = 0; turn < 5; turn++) assert.equal(await modelsOf(alice), 401)
  await refused(house, 404, ['GET', path])
  await house.nothingHeld()
})

test('an upstream is tried with one real call, and what happened is told without its credential', async (t) => {
  const house = await openHouse(t)
  const up = await house.upstream(saying('OK'))
  const down = await house.upstream(failing(401, { error: { message: 'sk-upstream is not valid' } }))
  const nowhere = await house.upstreamAt(await connectionRefusedUrl())
  const trial = (id: string) => answered(house, 200, ['POST', `/upstreams/${id}/test`, { model: 'any' }])
  assert.partialDeepStrictEqual(await trial(up.id), { ok: true, status: 200 })
  const refusal = await trial(down.name)
  assert.partialDeepStrictEqual(refusal, { ok: false, status: 401 })
  assert.doesNotMatch(String(refusal['message']), /sk-upstream/)
  assert.partialDeepStrictEqual(await trial(nowhere.id), { ok: false, status: null })
  await refused(house, 404, ['POST', '/upstreams/none/test', { model: 'any' }])
  await house.nothingHeld()
})

test('the audit log names every change and who made it', async (t) => {
  const house = await openHouse(t)
  const alice = await house.account({ balance: '1' })
  await answered(house, 200, ['PATCH', `/keys/${alice.key.id}`, { name: 'renamed' }])
  const { data } = await answered<List>(house, 200, ['GET', '/audit?limit=10'])
  const actions = data.map((record) => [record['actor'], record['action']])
  assert.deepEqual(actions, [
    ['admin-api', 'key.update'],
    ['admin-api', 'key.create'],
    ['admin-api', 'account.credit'],
    ['admin-api', 'account.create'],
  ])
  await house.nothingHeld()
})

test('every call that the document names does its work', async (t) => {
  const house = await openHouse(t)
  const up = await house.upstream(saying('Hello!'))
  const alice = await house.account({ balance: '1' })
  const spare = await house.upstreamAt('https://models.example/v1')
  const [account, key] = [`/accounts/${alice.id}`, `/keys/${alice.key.id}`]
  const routes = [{ upstream: up.id, model: 'm' }]
  const model = { id: 'org/large', context_tokens: 4096, prices: { input: '0.001', output: '0.001' }, routes }
  const done: string[] = []
  const works = async (status: number, pattern: string, id: string, body?: unknown): Promise<Fields> => {
    done.push(pattern)
    const [method = '', path = ''] = pattern.split(' ')
    return answered(house, status, [method, path.replace(/\{\w+\}/, id), body])
  }
  await works(201, 'POST /upstreams', '', { name: 'more', provider: 'openai', credential: '' })
  await works(200, 'GET /upstreams', '')
  await works(200, 'GET /providers', '')
  await works(200, 'GET /reference-models', '')
  await works(200, 'GET /price-lists/{provider}', 'openai')
  await works(200, 'GET /upstreams/{id}', up.id)
  await works(200, 'PATCH /upstreams/{id}', up.name, { weight: 2 })
  await works(200, 'DELETE /upstreams/{id}', spare.id)
  await works(201, 'POST /models', '', model)
  await works(200, 'POST /upstreams/{id}/test', up.id, {})
  await works(200, 'GET /models', '')
  await works(200, 'GET /models/{id}', model.id)
  await works(200, 'PATCH /models/{id}', model.id, { max_output_tokens: 100 })
  await works(200, 'GET /models/{id}/prices', encodeURIComponent(model.id))
  const reply = await alice.post(question(model.id))
  assert.equal(reply.status, 200)
  await reply.text()
  await works(200, 'DELETE /models/{id}', model.id)
  await works(201, 'POST /tiers', '', { name: 'vip', rpm: 10 })
  await works(200, 'GET /tiers', '')
  await works(200, 'GET /tiers/{name}', 'vip')
  await works(200, 'PATCH /tiers/{name}', 'vip', { rpm: null, price_factor: '0.5' })
  await works(201, 'POST /accounts', '', { email: 'bob@example.com', name: 'Bob', tier: 'vip', trial: true })
  await works(200, 'GET /accounts', '')
  await works(200, 'GET /accounts/{id}', alice.id)
  await works(200, 'PATCH /accounts/{id}', alice.id, { name: 'Alice' })
  const credit = { amount: '1', reason: 'more', idempotency_key: 'more' }
  await works(201, 'POST /accounts/{id}/credits', alice.id, credit)
  await works(200, 'GET /accounts/{id}/entries', alice.id)
  await works(201, 'POST /accounts/{id}/keys', alice.id, { name: 'another' })
  await works(200, 'GET /accounts/{id}/keys', alice.id)
  await works(200, 'GET /keys', '')
  await works(200, 'GET /keys/{id}', alice.key.id)
  await works(200, 'PATCH /keys/{id}', alice.key.id, { models: ['org/*'] })
  await works(200, 'DELETE /keys/{id}', alice.key.id)
  await works(201, 'POST /vouchers', '', { amount: '5', count: 2 })
  await works(200, 'GET /vouchers', '')
  await works(200, 'GET /requests', '')
  await works(200, 'GET /requests/{id}', reply.headers.get('x-request-id') ?? '')
  await works(200, 'GET /usage', '')
  await works(200, 'GET /audit', '')
  const verdict = await works(200, 'GET /ledger/verify', '')
  assert.deepEqual(verdict, { ok: true, entries: 3, drift: '0', open_holds: 0, overrun: '0', findings: [] })
  const named = (await callsOf(house)).map(([method, path]) => `${method} ${path.replace('/api/admin', '')}`)
  const worked = done.map((pattern) => pattern.replace(/\{\w+\}/, 'x'))
  assert.deepEqual([...worked, ...Object.keys(walkedElsewhere)].toSorted(), named.toSorted())
  for (const path of [account, key]) await refused(house, 400, ['PATCH', path, { colour: 'red' }])
  await house.nothingHeld()
})

test('private addresses are refused however they are written, unless the operator listed them', async (t) => {
  const house = await openHouse(t, { env: { UPSTREAM_ALLOW: '192.168.7.0/24' } })
  const about = { name: 'one', provider: 'openai-compatible', credential: '' }
  const hosts = [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    'localhost',
    '10.0.0.1',
    '192.168.8.1',
  ]
  const wider = [
    '[::1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::]',
    '[fd00::1]',
    '169.254.169.254',
  ]
  for (const host of [...hosts, ...wider]) {
    const body = { ...about, base_url: `http://${host}/v1` }
    assert.equal(await refused(house, 400, ['POST', '/upstreams', body]), 'base_url', host)
  }
  await answered(house, 201, ['POST', '/upstreams', { ...about, base_url: 'http://192.168.7.9:8000/v1' }])
  await house.nothingHeld()
})
