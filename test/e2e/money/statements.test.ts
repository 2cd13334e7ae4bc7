// @backend both
/** Monthly statements while the account's requests are charged. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../../../src/db/schema/schema.ts'
import { billingEndpoints } from '../../../src/http/console/billing/billing.ts'
import { monthStartOf } from '../../../src/http/api/time-buckets.ts'
import { dateOf } from '../../../src/ledger/periods.ts'
import { parseAmount } from '../../../src/lib/money.ts'
import { expectResponse } from '../../support/client/admin-api.ts'
import { signUpCustomer } from '../../support/console/console-session.ts'
import { Account, chatRequest, type AccountState } from '../../support/server/account.ts'
import { openDatabase } from '../../support/server/database-access.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!', { input: 1000, output: 1000 }))
await server.model('m', { upstreams: [upstream], prices: ['0.001', '0.001'] })

const callers = 6
const readings = 40

describe('Statements', () => {
  test('Statement – has the same balances at both ends of a month, whatever is charged meanwhile', async () => {
    const customer = await signUpCustomer(server, 'busy@example.com')
    const found = await expectResponse<{ data: AccountState[] }>(server, 200, [
      'GET',
      '/accounts?email=busy@example.com',
    ])
    const id = found.data[0]?.id ?? ''
    const account = new Account(server, id)
    const unlimited = { rpm: 'unlimited', tpm: 'unlimited', rpd: 'unlimited', concurrency: 'unlimited' }
    await account.newKey()
    const credit = { amount: '1000', reason: 'a test', idempotency_key: 'credit' }
    await expectResponse(server, 201, ['POST', `/accounts/${id}/credits`, credit])
    const { timezone } = await expectResponse(server, 200, ['GET', `/accounts/${id}`])
    assert.ok(typeof timezone === 'string')
    const thisMonth = monthStartOf(timezone, Date.now())
    const store = await openDatabase(server.relay)
    const created_at = thisMonth - 40 * 86_400_000
    await store.db.write(sql.updateTable('accounts').set({ created_at }).where('id', '=', id))
    await store.close()
    await expectResponse(server, 200, ['PATCH', `/accounts/${id}`, { limits: unlimited }])

    const months = [thisMonth - 35 * 86_400_000, thisMonth - 1, thisMonth].map((at) =>
      dateOf(timezone, at).slice(0, 7),
    )
    let requests = 0
    const end = new AbortController()
    const load = Array.from({ length: callers }, async () => {
      while (!end.signal.aborted) {
        const { status } = await account.post(chatRequest('m'))
        assert.equal(status, 200)
        requests += 1
      }
    })
    const seen = new Set<string>()
    try {
      for (let count = 0; count < readings; count += 1) {
        for (const month of months) {
          const { opening, credits, charges, closing, days } = await customer.call(
            billingEndpoints.statement,
            {
              id: month,
            },
          )
          seen.add([month, opening, credits, ...(month === months[2] ? [] : [charges, closing])].join(' '))
          assert.equal(
            parseAmount(opening) + parseAmount(credits) - parseAmount(charges),
            parseAmount(closing),
          )
          const cost = days.reduce((sum, day) => sum + parseAmount(day.cost), 0n)
          assert.equal(cost, parseAmount(charges))
        }
      }
    } finally {
      end.abort()
      await Promise.all(load)
    }
    assert.ok(requests > callers, `${requests} requests`)
    assert.deepEqual([...seen].toSorted(), [
      `${months[0]} 0 0 0 0`,
      `${months[1]} 0 0 0 0`,
      `${months[2]} 0 1000`,
    ])
    const { closing } = await customer.call(billingEndpoints.statement, { id: months[2] ?? '' })
    assert.equal(closing, await account.balance())
  })
})
