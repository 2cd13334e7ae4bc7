import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createAccount } from '../../accounts/accounts.ts'
import type { Caller } from '../../accounts/directory.ts'
import { createKey } from '../../accounts/keys.ts'
import { hashKey } from '../../accounts/key-secret.ts'
import { createLedgerCommit, createRequestRow } from '../../db/store.fixture.ts'
import { ApiError } from '../../errors.ts'
import { startAdminServer, type AdminServer } from '../admin/admin-server.fixture.ts'
import { billingUsageBody, requestBody } from './account.ts'

async function callerIn(adminServer: AdminServer, timezone: string): Promise<Caller> {
  const { db, directory } = adminServer.ctx
  const account = await createAccount(db, { email: `${timezone.length}@example.com`, timezone }, 'test')
  const key = await createKey(db, { accountId: account.value.id, name: 'mine' }, { by: 'test' })
  await adminServer.ctx.publishChanges([...account.changes, ...key.changes])
  const caller = directory.callerByKeyHash(hashKey(key.value.secret))
  assert.ok(caller)
  return caller
}

/** A caller with one request at each moment; the first costs 1, the next 2, then 4, …. */
async function callerWithRequests(t: TestContext, timezone: string, moments: readonly string[]) {
  const adminServer = await startAdminServer(t)
  const caller = await callerIn(adminServer, timezone)
  const requests = moments.map((moment, index) =>
    createRequestRow(`req_${index}`, {
      at: Date.parse(moment),
      account_id: caller.accountId,
      cost_nanos: 2n ** BigInt(index) * 1_000_000_000n,
    }),
  )
  await adminServer.store.commit(createLedgerCommit(1, { requests }))
  const used = async (start: string, end: string): Promise<unknown> => {
    const query = new URLSearchParams({ start_date: start, end_date: end })
    return (await billingUsageBody(adminServer.ctx, caller, query))['total_usage']
  }
  return { adminServer, caller, used }
}

describe('account endpoints', () => {
  test('billing usage – days start at local midnight, also when clocks change', async (t) => {
    // Spring 2026 in New York: 8 March has 23 hours; it begins at 05:00 UTC, the next day at 04:00.
    const moments = [
      '2026-03-08T04:59:59.999Z',
      '2026-03-08T05:00:00Z',
      '2026-03-09T03:59:59.999Z',
      '2026-03-09T04:00:00Z',
    ]
    const { used } = await callerWithRequests(t, 'America/New_York', moments)
    assert.equal(await used('2026-03-08', '2026-03-09'), 600)
    assert.equal(await used('2026-03-07', '2026-03-08'), 100)
    assert.equal(await used('', '2026-03-08'), 100)
    assert.equal(await used('2026-03-09', ''), 800)
    assert.equal(await used('', ''), 1500)
    assert.equal(await used('2026-03-09', '2026-03-08'), 0)
  })

  test('billing usage – days of the time zones furthest from UTC', async (t) => {
    const east = await callerWithRequests(t, 'Pacific/Kiritimati', [
      '2026-03-07T09:59:59Z',
      '2026-03-07T10:00:00Z',
    ])
    assert.equal(await east.used('2026-03-08', '2026-03-09'), 200)
    const west = await callerWithRequests(t, 'Pacific/Pago_Pago', [
      '2026-03-08T10:59:59Z',
      '2026-03-08T11:00:00Z',
    ])
    assert.equal(await west.used('2026-03-08', '2026-03-09'), 200)
  })

  test('billing usage – invalid date returns 400 with the parameter', async (t) => {
    const { used } = await callerWithRequests(t, 'UTC', [])
    for (const date of ['today', '2026-13-01', '2026-3-8', '1772928000']) {
      await assert.rejects(used('', date), (error) => {
        return error instanceof ApiError && error.status === 400 && error.detail.param === 'end_date'
      })
    }
  })

  test('request – only the caller’s own, without operator fields', async (t) => {
    const { adminServer, caller } = await callerWithRequests(t, 'UTC', ['2026-03-08T05:00:00Z'])
    const body = await requestBody(adminServer.ctx, caller, 'req_0')
    assert.partialDeepStrictEqual(body, {
      object: 'request',
      request_id: 'req_0',
      prompt_tokens: 100,
      cost: '1',
    })
    for (const hidden of ['attempts', 'upstream', 'account']) assert.ok(!(hidden in body), hidden)
    const other = await callerIn(adminServer, 'Asia/Shanghai')
    for (const [requester, id] of [
      [other, 'req_0'],
      [caller, 'req_1'],
    ] as const) {
      await assert.rejects(requestBody(adminServer.ctx, requester, id), (error) => {
        return error instanceof ApiError && error.status === 404
      })
    }
  })
})
