import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAccount } from '../../../accounts/accounts.ts'
import { raiseNotification, type NotificationInput } from '../../../notifications/notifications.ts'
import { startAdminServer } from '../admin-server.fixture.ts'

interface List {
  readonly data: Record<string, unknown>[]
  readonly next: string | null
}

function lowBalance(audience: string, period: string): NotificationInput {
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

describe('notifications in the admin API', () => {
  test('GET /notices – filters by audience, renders the language; POST marks as read', async (t) => {
    const adminServer = await startAdminServer(t)
    const { db } = adminServer.ctx
    await raiseNotification(
      db,
      lowBalance('acc_a', '1'),
      lowBalance('acc_a', '2'),
      lowBalance('acc_b', '1'),
      lowBalance('operator', '1'),
    )
    const list = async (query: string) => (await adminServer.call('GET', `/notices?${query}`)).body as List
    const first = await list('account=acc_a&limit=1&language=zh-CN')
    assert.partialDeepStrictEqual(first.data[0], {
      audience: 'account',
      account: 'acc_a',
      kind: 'balance',
      severity: 'warning',
      code: 'balance_low',
      params: { balance: '1.5' },
      title: '余额预警',
      read_at: null,
    })
    const rest = await list(`account=acc_a&limit=1&cursor=${first.next}`)
    assert.equal(rest.data[0]?.['title'], 'Your balance is low')
    assert.equal(rest.next, null)
    assert.equal((await list('')).data.length, 4)
    assert.equal((await list('audience=account')).data.length, 3)
    assert.deepEqual(
      (await list('audience=operator')).data.map((notification) => [
        notification['audience'],
        notification['account'],
      ]),
      [['operator', null]],
    )
    const mark = async (body: object) => (await adminServer.call('POST', '/notices/read', body)).body
    assert.deepEqual(await mark({ ids: [first.data[0]?.['id'], 'ntc_none'] }), { marked: 1 })
    assert.deepEqual(await mark({ all: true }), { marked: 1 })
    assert.deepEqual(await mark({ all: true }), { marked: 0 })
    assert.equal((await list('unread=true')).data.length, 2)
    assert.equal((await adminServer.call('POST', '/notices/read', {})).status, 400)
    assert.equal((await adminServer.call('GET', '/notices?cursor=x')).status, 400)
  })

  test('preferences – are separate for operators and accounts', async (t) => {
    const adminServer = await startAdminServer(t)
    const { id } = (await createAccount(adminServer.ctx.db, { email: 'a@example.com' }, 'test')).value
    const path = `/accounts/${id}/notice-preferences`
    assert.deepEqual((await adminServer.call('PATCH', path, { balance: [] })).body, {
      spend_cap: ['email'],
      balance: [],
      account: ['email'],
      key: ['email'],
      incident: [],
      payment: ['email'],
    })
    const operators = await adminServer.call('PATCH', '/notice-preferences', {
      promotion: ['email', 'webhook'],
    })
    assert.deepEqual(operators.body, {
      promotion: ['email', 'webhook'],
      incident: [],
      availability: [],
      address: [],
      backup: [],
      payment: [],
      model_mismatch: [],
      maximum_exceeded: [],
      unknown_finish: [],
    })
    assert.deepEqual((await adminServer.call('GET', '/notice-preferences')).body, operators.body)
    assert.deepEqual(((await adminServer.call('GET', path)).body as { balance: string[] }).balance, [])
    assert.equal((await adminServer.call('PATCH', '/notice-preferences', { balance: [] })).status, 400)
    assert.equal((await adminServer.call('GET', '/accounts/acc_none/notice-preferences')).status, 404)
  })
})
