// @backend both (cluster in long runs)
/** The traffic flow, the margin of a request, and the time zone of the dashboard. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface FlowRow {
  email: string
  key_name: string
  model: string
  upstream_name: string | null
  requests: number
  failures: number
  cost: string
}

const timezone = 'America/New_York'
const server = await sharedTestServer({ env: { TIME_ZONE: timezone } })
const good = await server.upstream(respondWith('Hello!', { input: 1000, output: 100 }), {
  name: 'good',
  prices: { input: '0.001', output: '0.001' },
})
const bad = await server.upstream(respondWithError(503), { name: 'bad' })
await server.model('m', { upstreams: [good] })
await server.model('broken', { upstreams: [bad] })

interface Detail {
  cost: string
  upstream_cost: string | null
  refunded: string
  margin: string | null
  bill: { lines: { kind: string; count: number; price: string; amount: string }[]; charged: string } | null
}

describe('Traffic flow', () => {
  test('Flow – counts requests and failures by account, model and upstream', async () => {
    const alice = await server.account({ balance: '1' })
    for (const model of ['m', 'm', 'broken', 'invented-1', 'invented-2'])
      await (await alice.post(chatRequest(model))).text()
    const { email } = await server.admin<{ email: string }>('GET', `/accounts/${alice.id}`)
    // The records of rejected requests are written shortly after their responses.
    const flow = await waitUntil(async () => {
      const current = await server.admin<{ requests: number; complete: boolean; data: FlowRow[] }>(
        'GET',
        '/flow',
      )
      return current.requests === 5 ? current : undefined
    }, 'the count of all requests')
    assert.equal(flow.complete, true)
    const rows = flow.data.map((row) => [
      row.email,
      row.model,
      row.upstream_name,
      row.requests,
      row.failures,
      row.cost,
    ])
    assert.deepEqual(
      rows.toSorted((one, other) => String(one[1]).localeCompare(String(other[1]))),
      [
        [email, '', null, 2, 2, '0'],
        [email, 'broken', 'bad', 1, 1, '0'],
        [email, 'm', 'good', 2, 0, '0.0044'],
      ],
    )
  })

  test('Request details – show bill, upstream cost, refund and margin', async () => {
    const bob = await server.account({ balance: '1' })
    const response = await bob.post(chatRequest('m'))
    const id = response.headers.get('x-request-id') ?? ''
    await response.text()
    await server.admin('POST', `/requests/${id}/refund`, { amount: '0.0002', reason: 'slow' })
    const { bill, ...detail } = await server.admin<Detail>('GET', `/requests/${id}`)
    assert.partialDeepStrictEqual(detail, {
      cost: '0.0022',
      upstream_cost: '0.0011',
      refunded: '0.0002',
      margin: '0.0009',
    })
    assert.deepEqual(
      bill?.lines.map(({ kind, count, price, amount }) => [kind, count, price, amount]),
      [
        ['input', 1000, '0.002', '0.002'],
        ['output', 100, '0.002', '0.0002'],
      ],
    )
    const rejected = await bob.post(chatRequest('invented-3'))
    await rejected.text()
    await waitForRecord(bob, rejected)
    const unbilled = await server.admin<Detail>(
      'GET',
      `/requests/${rejected.headers.get('x-request-id') ?? ''}`,
    )
    assert.deepEqual([unbilled.bill, unbilled.refunded], [null, '0'])
  })

  test('Days of the dashboard and of new accounts – follow TIME_ZONE', async () => {
    const { id } = await server.admin<{ id: string }>('POST', '/accounts', { email: 'zone@example.com' })
    assert.equal((await server.admin<{ timezone: string }>('GET', `/accounts/${id}`)).timezone, timezone)
    const dashboard = await server.admin<{ timezone: string; days: { time: string }[] }>('GET', '/dashboard')
    assert.equal(dashboard.timezone, timezone)
    const midnight = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, timeStyle: 'medium' })
    assert.ok(dashboard.days.every(({ time }) => midnight.format(new Date(time)) === '00:00:00'))
  })
})
