import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAccount } from '../../accounts/accounts.ts'
import { raiseNotice, type NoticeInput } from '../../notifications/notifications.ts'
import { openOffice } from './admin-server.fixture.ts'

interface List {
  readonly data: Record<string, unknown>[]
  readonly next: string | null
}

function low(audience: string, period: string): NoticeInput {
  return {
    audience,
    kind: 'balance',
    severity: 'warning',
    subject: 'balance',
    period,
    code: 'balance_low',
    params: { balance: '1.5', currency: 'CNY' },
  }
}

test('notices are read in the language asked for, by whose they are, and marked as read', async (t) => {
  const office = await openOffice(t)
  const { db } = office.house
  await raiseNotice(db, low('acc_a', '1'), low('acc_a', '2'), low('acc_b', '1'), low('operator', '1'))
  const list = async (query: string) => (await office.call('GET', `/notices?${query}`)).body as List
  const first = await list('account=acc_a&limit=1&language=zh-CN')
  assert.partialDeepStrictEqual(first.data[0], {
    audience: 'account',
    account: 'acc_a',
    kind: 'balance',
    severity: 'warning',
    code: 'balance_low',
    params: { balance: '1.5' },
    title: '余额不足提醒',
    read_at: null,
  })
  const rest = await list(`account=acc_a&limit=1&cursor=${first.next}`)
  assert.equal(rest.data[0]?.['title'], 'Your balance is low')
  assert.equal(rest.next, null)
  assert.equal((await list('')).data.length, 4)
  assert.equal((await list('audience=account')).data.length, 3)
  assert.deepEqual(
    (await list('audience=operator')).data.map((notice) => [notice['audience'], notice['account']]),
    [['operator', null]],
  )
  const mark = async (body: object) => (await office.call('POST', '/notices/read', body)).body
  assert.deepEqual(await mark({ ids: [first.data[0]?.['id'], 'ntc_none'] }), { marked: 1 })
  assert.deepEqual(await mark({ all: true }), { marked: 1 })
  assert.deepEqual(await mark({ all: true }), { marked: 0 })
  assert.equal((await list('unread=true')).data.length, 2)
  assert.equal((await office.call('POST', '/notices/read', {})).status, 400)
  assert.equal((await office.call('GET', '/notices?cursor=x')).status, 400)
})

test('preferences of the operators and of an account stand side by side', async (t) => {
  const office = await openOffice(t)
  const { id } = (await createAccount(office.house.db, { email: 'a@example.com' }, 'test')).value
  const path = `/accounts/${id}/notice-preferences`
  assert.deepEqual((await office.call('PATCH', path, { balance: [] })).body, {
    spend_cap: ['email'],
    balance: [],
    account: ['email'],
    key: ['email'],
    incident: [],
  })
  const operators = await office.call('PATCH', '/notice-preferences', { promotion: ['email', 'webhook'] })
  assert.deepEqual(operators.body, {
    promotion: ['email', 'webhook'],
    incident: [],
    availability: [],
    address: [],
    backup: [],
  })
  assert.deepEqual((await office.call('GET', '/notice-preferences')).body, operators.body)
  assert.deepEqual(((await office.call('GET', path)).body as { balance: string[] }).balance, [])
  assert.equal((await office.call('PATCH', '/notice-preferences', { balance: [] })).status, 400)
  assert.equal((await office.call('GET', '/accounts/acc_none/notice-preferences')).status, 404)
})
