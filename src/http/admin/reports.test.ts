import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLedgerCommit, createRequestRow } from '../../db/store.fixture.ts'
import { startAdminServer, type AdminServer } from './admin-server.fixture.ts'

interface List {
  readonly data: Record<string, unknown>[]
  readonly next: string | null
}

async function getList(adminServer: AdminServer, path: string): Promise<List> {
  const response = await adminServer.call('GET', path)
  assert.equal(response.status, 200, JSON.stringify(response.body))
  return response.body as List
}

const start = Date.UTC(2026, 10, 21, 15, 30)

async function startWithRequests(t: Parameters<typeof startAdminServer>[0]): Promise<AdminServer> {
  const adminServer = await startAdminServer(t)
  const requests = Array.from({ length: 7 }, (_, index) =>
    createRequestRow(`req_${index}`, {
      at: start + index * 600_000,
      key_id: `key_${index % 2}`,
      outcome: index === 6 ? 'refused' : 'ok',
      upstream_cost_nanos: 20_000n,
    }),
  )
  await adminServer.store.commit(createLedgerCommit(1, { requests }))
  return adminServer
}

describe('requests, usage and audit log', () => {
  test('GET /requests – applies every filter and pages to the end by cursor', async (t) => {
    const adminServer = await startWithRequests(t)
    const ids = async (query: string) =>
      (await getList(adminServer, `/requests?${query}`)).data.map((request) => request['request_id'])
    assert.deepEqual(await ids('key=key_1'), ['req_5', 'req_3', 'req_1'])
    assert.deepEqual(await ids('outcome=refused'), ['req_6'])
    assert.deepEqual(await ids('request_id=req_2'), ['req_2'])
    assert.deepEqual(await ids('from=2026-11-21T23:50:00%2B08:00&to=2026-11-21T16:10:00Z'), [
      'req_3',
      'req_2',
    ])
    const seen: unknown[] = []
    let page = await getList(adminServer, '/requests?limit=3')
    for (;;) {
      seen.push(...page.data.map((request) => request['request_id']))
      if (page.next === null) break
      page = await getList(adminServer, `/requests?limit=3&cursor=${page.next}`)
    }
    assert.deepEqual(seen, ['req_6', 'req_5', 'req_4', 'req_3', 'req_2', 'req_1', 'req_0'])
    assert.equal((await adminServer.call('GET', '/requests/req_4')).status, 200)
    assert.equal((await adminServer.call('GET', '/requests/req_9')).status, 404)
  })

  test('GET /usage – returns sums by every group, with margin, immediately', async (t) => {
    const adminServer = await startWithRequests(t)
    const sums = {
      requests: 7,
      errors: 1,
      prompt_tokens: 700,
      completion_tokens: 70,
      cost: '0.00154',
      upstream_cost: '0.00014',
      margin: '0.0014',
      requests_without_cost: 0,
      currency: 'CNY',
    }
    assert.deepEqual((await getList(adminServer, '/usage?group=model')).data, [
      { model: 'family-a-small', ...sums },
    ])
    assert.deepEqual((await getList(adminServer, '/usage?group=account')).data, [
      { account: 'acc_one', ...sums },
    ])
    assert.deepEqual((await getList(adminServer, '/usage')).data, [{ day: '2026-11-21', ...sums }])
    const days = await getList(adminServer, '/usage?group=day&timezone=Asia/Shanghai')
    assert.deepEqual(
      days.data.map((row) => [row['day'], row['requests']]),
      [
        ['2026-11-21', 3],
        ['2026-11-22', 4],
      ],
    )
    const hours = await getList(adminServer, '/usage?group=hour&limit=1')
    assert.deepEqual(
      hours.data.map((row) => [row['hour'], row['requests']]),
      [['2026-11-21T15:00:00.000Z', 3]],
    )
    const later = await getList(adminServer, `/usage?group=hour&limit=1&cursor=${hours.next}`)
    assert.deepEqual(
      later.data.map((row) => [row['hour'], row['requests']]),
      [['2026-11-21T16:00:00.000Z', 4]],
    )
    assert.equal(later.next, null)
    const cut = await getList(
      adminServer,
      '/usage?group=key&from=2026-11-21T15:40:00Z&to=2026-11-21T16:00:00Z',
    )
    assert.deepEqual(
      cut.data.map((row) => [row['key'], row['requests']]),
      [
        ['key_0', 1],
        ['key_1', 1],
      ],
    )
    const withPlus = '/usage?group=key&from=2026-11-21T23:40:00+08:00&to=2026-11-21t16:00:00z'
    assert.deepEqual((await getList(adminServer, withPlus)).data, cut.data)
    assert.deepEqual((await getList(adminServer, '/usage?group=model&model=other')).data, [])
  })

  test('GET /audit – lists actor, action and object in pages', async (t) => {
    const adminServer = await startAdminServer(t)
    for (const name of ['one', 'two', 'three']) await adminServer.call('POST', '/tiers', { name })
    const first = await getList(adminServer, '/audit?limit=2')
    const second = await getList(adminServer, `/audit?limit=2&cursor=${first.next}`)
    const objects = [...first.data, ...second.data].map((record) => record['object'])
    assert.deepEqual(objects, ['three', 'two', 'one'])
    assert.equal(second.next, null)
    assert.partialDeepStrictEqual(first.data[0], {
      actor: 'admin-api',
      action: 'tier.create',
      object: 'three',
    })
    assert.equal((await getList(adminServer, '/audit?object=two')).data.length, 1)
  })
})
