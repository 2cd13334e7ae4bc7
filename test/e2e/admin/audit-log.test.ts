// @backend both (cluster in long runs)
/** Audit records of changes: names and units of the API, values before and after, and filters. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

interface AuditRecord {
  id: string
  time: string
  actor: string
  action: string
  object: string
  detail: Record<string, unknown>
}

const server = await sharedTestServer()

async function listAudit(query: Record<string, string>): Promise<AuditRecord[]> {
  const path = `/audit?${new URLSearchParams(query).toString()}`
  return (await server.admin<{ data: AuditRecord[] }>('GET', path)).data
}

/** The details of an object's changes, newest first. */
async function changesOf(object: string): Promise<Record<string, unknown>[]> {
  const records = await listAudit({ object, limit: '100' })
  return records.filter(({ action }) => action.endsWith('.update')).map(({ detail }) => detail)
}

describe('Audit log', () => {
  test('Change of a price – is recorded as the API writes it, with the price before', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('priced', { upstreams: [upstream], prices: ['0.002', '0.008'] })
    const prices = { input: '0.003', output: '0.008', cached_input: '0.001' }
    await server.admin('PATCH', '/models/priced', { prices, owned_by: 'us', limits: { rpm: 5 } })
    assert.deepEqual(await changesOf('priced'), [
      {
        owned_by: { before: 'sluice', after: 'us' },
        'limits.rpm': { before: null, after: 5 },
        'prices.input': { before: '0.002', after: '0.003' },
        'prices.cached_input': { before: null, after: '0.001' },
      },
    ])
    const created = (await listAudit({ object: 'priced' })).find(({ action }) => action === 'model.create')
    assert.equal(created?.detail['prices.output'], '0.008')
  })

  test('Invite code and credit – are recorded under the names of the API, a credit amount first', async () => {
    const expiresAt = '2099-01-01T00:00:00.000Z'
    const { id } = await server.admin<{ id: string }>('POST', '/invites', {
      note: 'fair',
      uses: 3,
      expires_at: expiresAt,
    })
    const [invite] = await listAudit({ object: id })
    assert.deepEqual(invite?.detail, { note: 'fair', uses: 3, expires_at: expiresAt })
    const account = await server.account({ balance: '7' })
    const credit = (await listAudit({ object: account.id })).find(({ action }) => action === 'account.credit')
    assert.equal(Object.keys(credit?.detail ?? {})[0], 'amount')
  })

  test('Change of an account, a key, a tier and an upstream – has decimal amounts and no secrets', async () => {
    const account = await server.account({ balance: '1' })
    await server.admin('PATCH', `/accounts/${account.id}`, { caps: { daily: '5.5' }, limits: { rpm: 7 } })
    assert.deepEqual(await changesOf(account.id), [
      { 'caps.daily': { before: null, after: '5.5' }, 'limits.rpm': { before: null, after: 7 } },
    ])
    const expiresAt = '2099-01-01T00:00:00.000Z'
    await server.admin('PATCH', `/keys/${account.key.id}`, { name: 'laptop', expires_at: expiresAt })
    assert.deepEqual(await changesOf(account.key.id), [
      { name: { before: 'test', after: 'laptop' }, expires_at: { before: null, after: expiresAt } },
    ])
    await server.admin('POST', '/tiers', { name: 'gold', rpm: 1, tpm: null, rpd: null, concurrency: null })
    await server.admin('PATCH', '/tiers/gold', { rpm: 2, price_factor: '0.9' })
    assert.deepEqual(await changesOf('gold'), [
      { rpm: { before: 1, after: 2 }, price_factor: { before: '1', after: '0.9' } },
    ])
    const { id } = await server.upstreamAt('https://models.example/v1', { credential: 'sk-canary-1' })
    const changed = { credential: 'sk-canary-2', priority: 3, timeouts: { idle_ms: 9000 } }
    await server.admin('PATCH', `/upstreams/${id}`, changed)
    assert.deepEqual(await changesOf(id), [
      {
        credential: 'changed',
        priority: { before: 0, after: 3 },
        'timeouts.idle_ms': { before: null, after: 9000 },
      },
    ])
    assert.doesNotMatch(JSON.stringify(await listAudit({ limit: '1000' })), /canary/)
  })

  test('Change that changes nothing – writes neither a record nor the time of the change', async () => {
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('still', { upstreams: [upstream], prices: ['0.002', '0.008'] })
    const account = await server.account({ balance: '1' })
    const incident = await server.admin<{ id: string }>('POST', '/incidents', { title: 'One', models: [] })
    await server.admin('POST', '/tiers', { name: 'still', rpm: 1, tpm: null, rpd: null, concurrency: null })
    const calls: readonly [path: string, body: object][] = [
      ['/models/still', { prices: { input: '0.002', output: '0.0080' }, listed: true }],
      ['/models/still', { routes: [{ upstream: upstream.name, model: 'still', priority: 1 }] }],
      [`/accounts/${account.id}`, { tier: 'enterprise', caps: { daily: null } }],
      [`/keys/${account.key.id}`, { name: 'test' }],
      [`/upstreams/${upstream.id}`, { name: upstream.name, credential: 'sk-upstream' }],
      ['/tiers/still', { rpm: 1 }],
      [`/incidents/${incident.id}`, { title: 'One', models: [] }],
    ]
    const newest = (await listAudit({ limit: '1' }))[0]?.id
    for (const [path, body] of calls) {
      const before = await server.admin('PATCH', path, {})
      assert.deepEqual(await server.admin('PATCH', path, body), before, path)
    }
    assert.equal((await listAudit({ limit: '1' }))[0]?.id, newest)
  })

  test('Filters – by actor and time, together and over pages', async () => {
    const account = await server.account()
    const records = await listAudit({ object: account.id })
    const [created] = records
    assert.ok(created !== undefined)
    const { time, actor, id } = created
    assert.deepEqual(await listAudit({ object: account.id, actor }), records)
    assert.deepEqual(await listAudit({ object: account.id, actor: 'command-line' }), [])
    const later = new Date(Date.parse(time) + 1).toISOString()
    const atTime = await listAudit({ from: time, to: later })
    assert.ok(atTime.some((record) => record.id === id))
    assert.ok(atTime.every((record) => record.time === time))
    assert.deepEqual(await listAudit({ to: '2020-01-01T00:00:00Z' }), [])
    const response = await server.relay.adminResponse('GET', '/audit?from=yesterday', undefined)
    assert.equal(response.status, 400)
  })
})
