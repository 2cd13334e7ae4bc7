import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAccount } from '../../../accounts/accounts.ts'
import { hashKey } from '../../../accounts/key-secret.ts'
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

async function createTestAccount(adminServer: AdminServer): Promise<string> {
  const { value, changes } = await createAccount(adminServer.ctx.db, { email: 'someone@example.com' }, 'test')
  await adminServer.ctx.publishChanges(changes)
  return value.id
}

describe('keys in the admin API', () => {
  test('a key – shows its secret once, works once created and stops working once deleted', async (t) => {
    const adminServer = await startAdminServer(t)
    const account = await createTestAccount(adminServer)
    const created = await expectStatus(adminServer, 201, 'POST', `/accounts/${account}/keys`, {
      name: 'mine',
    })
    const [id, secret] = [String(created['id']), String(created['secret'])]
    const caller = () => adminServer.ctx.directory.callerByKeyHash(hashKey(secret))
    assert.equal(caller()?.accountId, account)
    for (const [method, path, body] of [
      ['GET', `/accounts/${account}/keys`, undefined],
      ['GET', `/keys/${id}`, undefined],
      ['PATCH', `/keys/${id}`, { name: 'yours' }],
      ['GET', '/audit', undefined],
    ] as const) {
      assert.ok(!JSON.stringify(await expectStatus(adminServer, 200, method, path, body)).includes(secret))
    }
    await expectStatus(adminServer, 200, 'PATCH', `/keys/${id}`, { status: 'disabled' })
    assert.equal(caller()?.keyStatus, 'disabled')
    await expectStatus(adminServer, 200, 'DELETE', `/keys/${id}`)
    assert.equal(caller(), undefined)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      await expectStatus(adminServer, 404, method, `/keys/${id}`, method === 'PATCH' ? {} : undefined)
    }
  })

  test('status – can be set by `status`, `enabled` or `disabled` unless they contradict', async (t) => {
    const adminServer = await startAdminServer(t)
    const account = await createTestAccount(adminServer)
    const { id } = await expectStatus(adminServer, 201, 'POST', `/accounts/${account}/keys`, { name: 'mine' })
    for (const [patch, status] of [
      [{ enabled: false }, 'disabled'],
      [{ enabled: true }, 'active'],
      [{ disabled: true }, 'disabled'],
      [{ name: 'yours' }, 'disabled'],
      [{ disabled: false, status: 'active' }, 'active'],
    ] as const) {
      const key = await expectStatus(adminServer, 200, 'PATCH', `/keys/${String(id)}`, patch)
      assert.partialDeepStrictEqual(key, { status, enabled: status === 'active' })
    }
    const rejected = await expectStatus(adminServer, 400, 'PATCH', `/keys/${String(id)}`, {
      status: 'active',
      enabled: false,
    })
    assert.partialDeepStrictEqual(rejected, { error: { param: 'status' } })
  })

  test('caps and limits – an omitted one stays, null removes it, a null object removes all', async (t) => {
    const adminServer = await startAdminServer(t)
    const account = await createTestAccount(adminServer)
    const created = await expectStatus(adminServer, 201, 'POST', `/accounts/${account}/keys`, {
      name: 'mine',
      expires_at: '2099-01-01T08:00:00+08:00',
      models: ['family-a-*'],
      ips: ['10.0.0.0/8', '192.0.2.1'],
      caps: { daily: '1.5', total: '100' },
      limits: { rpm: 60, concurrency: 2 },
    })
    assert.partialDeepStrictEqual(created, {
      account,
      status: 'active',
      expires_at: '2099-01-01T00:00:00.000Z',
      models: ['family-a-*'],
      ips: ['10.0.0.0/8', '192.0.2.1/32'],
      caps: { daily: '1.5', monthly: null, total: '100' },
      limits: { rpm: 60, tpm: null, rpd: null, concurrency: 2 },
      last_used_at: null,
    })
    const patch = { caps: { daily: null, monthly: '9' }, limits: { rpm: null, tpm: 'unlimited' }, models: [] }
    const changed = await expectStatus(adminServer, 200, 'PATCH', `/keys/${String(created['id'])}`, patch)
    assert.partialDeepStrictEqual(changed, {
      name: 'mine',
      expires_at: '2099-01-01T00:00:00.000Z',
      models: [],
      caps: { daily: null, monthly: '9', total: '100' },
      limits: { rpm: null, tpm: 'unlimited', rpd: null, concurrency: 2 },
    })
    const bare = await expectStatus(adminServer, 200, 'PATCH', `/keys/${String(created['id'])}`, {
      caps: null,
      limits: null,
    })
    assert.partialDeepStrictEqual(bare, {
      caps: { daily: null, monthly: null, total: null },
      limits: { rpm: null, tpm: null, rpd: null, concurrency: null },
    })
  })

  test('invalid fields – are rejected by name', async (t) => {
    const adminServer = await startAdminServer(t)
    const account = await createTestAccount(adminServer)
    const wrong: [Fields, string][] = [
      [{}, 'name'],
      [{ name: '' }, 'name'],
      [{ name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      [{ name: 'x', expires_at: 'never' }, 'expires_at'],
      [{ name: 'x', ips: ['10.0.0.0/33'] }, 'ips[0]'],
      [{ name: 'x', models: ['a*b'] }, 'models[0]'],
      [{ name: 'x', caps: { daily: 1 } }, 'caps.daily'],
      [{ name: 'x', caps: { daily: '-1' } }, 'caps.daily'],
      [{ name: 'x', caps: { dayly: '1' } }, 'caps.dayly'],
      [{ name: 'x', limits: { rpm: 'none' } }, 'limits.rpm'],
      [{ name: 'x', limits: { rpm: -1 } }, 'limits.rpm'],
      [{ name: 'x', secret: 'sk-mine' }, 'secret'],
    ]
    for (const [fields, param] of wrong) {
      const { error } = await expectStatus(adminServer, 400, 'POST', `/accounts/${account}/keys`, fields)
      assert.equal((error as Fields)['param'], param, JSON.stringify(fields))
    }
  })

  test('keys of an account – 404 for an unknown account, 409 above the maximum', async (t) => {
    const adminServer = await startAdminServer(t, { environment: { KEYS_PER_ACCOUNT: '2' } })
    const account = await createTestAccount(adminServer)
    await expectStatus(adminServer, 404, 'GET', '/accounts/acc_none/keys')
    await expectStatus(adminServer, 404, 'POST', '/accounts/acc_none/keys', { name: 'x' })
    for (const status of [201, 201, 409]) {
      await expectStatus(adminServer, status, 'POST', `/accounts/${account}/keys`, { name: 'x' })
    }
    const { data, next } = await expectStatus(adminServer, 200, 'GET', `/accounts/${account}/keys`)
    assert.deepEqual([(data as unknown[]).length, next], [2, null])
  })

  test('GET /keys – lists, filters and sorts the keys of all accounts with their spend', async (t) => {
    const adminServer = await startAdminServer(t)
    const account = await createTestAccount(adminServer)
    const made: unknown[] = []
    for (const name of ['one', 'two', 'three']) {
      made.push((await expectStatus(adminServer, 201, 'POST', `/accounts/${account}/keys`, { name }))['id'])
    }
    const first = await expectStatus(adminServer, 200, 'GET', '/keys?limit=2&sort=oldest')
    const second = await expectStatus(
      adminServer,
      200,
      'GET',
      `/keys?limit=2&sort=oldest&cursor=${String(first['next'])}`,
    )
    const keys = [...(first['data'] as Fields[]), ...(second['data'] as Fields[])]
    assert.deepEqual([keys.map(({ id }) => id), second['next']], [made, null])
    assert.partialDeepStrictEqual(keys[0], {
      account,
      account_email: 'someone@example.com',
      expired: false,
      spent: { today: '0', month: '0', total: '0' },
    })
    const found = await expectStatus(adminServer, 200, 'GET', '/keys?q=TWO&status=active&sort=name')
    assert.deepEqual(
      (found['data'] as Fields[]).map(({ name }) => name),
      ['two'],
    )
    for (const query of ['sort=price', 'status=lost', 'cursor=nonsense', `cursor=${String(first['next'])}`]) {
      await expectStatus(adminServer, 400, 'GET', `/keys?${query}`)
    }
  })
})
