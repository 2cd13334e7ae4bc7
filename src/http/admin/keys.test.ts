import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccount } from '../../accounts/accounts.ts'
import { hashOfKey } from '../../accounts/key-secret.ts'
import { openOffice, type Office } from './admin-server.fixture.ts'

type Fields = Record<string, unknown>

async function done(office: Office, status: number, ...call: Parameters<Office['call']>): Promise<Fields> {
  const reply = await office.call(...call)
  assert.equal(reply.status, status, JSON.stringify(reply.body))
  return reply.body as Fields
}

async function accountIn(office: Office): Promise<string> {
  const { value, changes } = await createAccount(office.house.db, { email: 'someone@example.com' }, 'test')
  await office.house.announce(changes)
  return value.id
}

test('a key is told its secret once, works when it is answered and is gone when its deletion is', async (t) => {
  const office = await openOffice(t)
  const account = await accountIn(office)
  const created = await done(office, 201, 'POST', `/accounts/${account}/keys`, { name: 'mine' })
  const [id, secret] = [String(created['id']), String(created['secret'])]
  const caller = () => office.house.directory.keyByHash(hashOfKey(secret))
  assert.equal(caller()?.accountId, account)
  for (const [method, path, body] of [
    ['GET', `/accounts/${account}/keys`, undefined],
    ['GET', `/keys/${id}`, undefined],
    ['PATCH', `/keys/${id}`, { name: 'yours' }],
    ['GET', '/audit', undefined],
  ] as const) {
    assert.ok(!JSON.stringify(await done(office, 200, method, path, body)).includes(secret))
  }
  await done(office, 200, 'PATCH', `/keys/${id}`, { status: 'disabled' })
  assert.equal(caller()?.keyStatus, 'disabled')
  await done(office, 200, 'DELETE', `/keys/${id}`)
  assert.equal(caller(), undefined)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    await done(office, 404, method, `/keys/${id}`, method === 'PATCH' ? {} : undefined)
  }
})

test('a key is disabled and enabled by its status, or by either word for it', async (t) => {
  const office = await openOffice(t)
  const account = await accountIn(office)
  const { id } = await done(office, 201, 'POST', `/accounts/${account}/keys`, { name: 'mine' })
  for (const [patch, status] of [
    [{ enabled: false }, 'disabled'],
    [{ enabled: true }, 'active'],
    [{ disabled: true }, 'disabled'],
    [{ name: 'yours' }, 'disabled'],
    [{ disabled: false, status: 'active' }, 'active'],
  ] as const) {
    const key = await done(office, 200, 'PATCH', `/keys/${String(id)}`, patch)
    assert.partialDeepStrictEqual(key, { status, enabled: status === 'active' })
  }
  const refused = await done(office, 400, 'PATCH', `/keys/${String(id)}`, {
    status: 'active',
    enabled: false,
  })
  assert.partialDeepStrictEqual(refused, { error: { param: 'status' } })
})

test('a cap or limit that is not named stays, null removes it, null in their place all of them', async (t) => {
  const office = await openOffice(t)
  const account = await accountIn(office)
  const created = await done(office, 201, 'POST', `/accounts/${account}/keys`, {
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
  const changed = await done(office, 200, 'PATCH', `/keys/${String(created['id'])}`, patch)
  assert.partialDeepStrictEqual(changed, {
    name: 'mine',
    expires_at: '2099-01-01T00:00:00.000Z',
    models: [],
    caps: { daily: null, monthly: '9', total: '100' },
    limits: { rpm: null, tpm: 'unlimited', rpd: null, concurrency: 2 },
  })
  const bare = await done(office, 200, 'PATCH', `/keys/${String(created['id'])}`, {
    caps: null,
    limits: null,
  })
  assert.partialDeepStrictEqual(bare, {
    caps: { daily: null, monthly: null, total: null },
    limits: { rpm: null, tpm: null, rpd: null, concurrency: null },
  })
})

test('wrong fields of a key are named', async (t) => {
  const office = await openOffice(t)
  const account = await accountIn(office)
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
    const { error } = await done(office, 400, 'POST', `/accounts/${account}/keys`, fields)
    assert.equal((error as Fields)['param'], param, JSON.stringify(fields))
  }
})

test('an account that is not there has no keys, and one that is there no more than it may', async (t) => {
  const office = await openOffice(t, { environment: { KEYS_PER_ACCOUNT: '2' } })
  const account = await accountIn(office)
  await done(office, 404, 'GET', '/accounts/acc_none/keys')
  await done(office, 404, 'POST', '/accounts/acc_none/keys', { name: 'x' })
  for (const status of [201, 201, 409]) {
    await done(office, status, 'POST', `/accounts/${account}/keys`, { name: 'x' })
  }
  const { data, next } = await done(office, 200, 'GET', `/accounts/${account}/keys`)
  assert.deepEqual([(data as unknown[]).length, next], [2, null])
})

test('the keys of all accounts are one list, with whose they are and what they have spent', async (t) => {
  const office = await openOffice(t)
  const account = await accountIn(office)
  const made: unknown[] = []
  for (const name of ['one', 'two', 'three']) {
    made.push((await done(office, 201, 'POST', `/accounts/${account}/keys`, { name }))['id'])
  }
  const first = await done(office, 200, 'GET', '/keys?limit=2&sort=oldest')
  const second = await done(office, 200, 'GET', `/keys?limit=2&sort=oldest&cursor=${String(first['next'])}`)
  const keys = [...(first['data'] as Fields[]), ...(second['data'] as Fields[])]
  assert.deepEqual([keys.map(({ id }) => id), second['next']], [made, null])
  assert.partialDeepStrictEqual(keys[0], {
    account,
    account_email: 'someone@example.com',
    expired: false,
    spent: { today: '0', month: '0', total: '0' },
  })
  const found = await done(office, 200, 'GET', '/keys?q=TWO&status=active&sort=name')
  assert.deepEqual(
    (found['data'] as Fields[]).map(({ name }) => name),
    ['two'],
  )
  for (const query of ['sort=price', 'status=lost', 'cursor=nonsense', `cursor=${String(first['next'])}`]) {
    await done(office, 400, 'GET', `/keys?${query}`)
  }
})
