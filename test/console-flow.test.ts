/** What operators are told of where requests go, what one of them earned, and whose days they count. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question } from './support/server/account.ts'
import { eventually, recordOf } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'

interface Way {
  email: string
  key_name: string
  model: string
  upstream_name: string | null
  requests: number
  failures: number
  cost: string
}

const timezone = 'America/New_York'
const house = await shareHouse({ env: { TIME_ZONE: timezone } })
const good = await house.upstream(saying('Hello!', { input: 1000, output: 100 }), {
  name: 'good',
  prices: { input: '0.001', output: '0.001' },
})
const bad = await house.upstream(failing(503), { name: 'bad' })
await house.model('m', { upstreams: [good] })
await house.model('broken', { upstreams: [bad] })

test('the flow tells by key, model and upstream how many requests went and how many failed', async () => {
  const alice = await house.account({ balance: '1' })
  for (const model of ['m', 'm', 'broken', 'invented-1', 'invented-2'])
    await (await alice.post(question(model))).text()
  const { email } = await house.admin<{ email: string }>('GET', `/accounts/${alice.id}`)
  // What was refused is written down a moment later.
  const flow = await eventually('all requests are counted', async () => {
    const told = await house.admin<{ requests: number; complete: boolean; data: Way[] }>('GET', '/flow')
    return told.requests === 5 ? told : undefined
  })
  assert.equal(flow.complete, true)
  const ways = flow.data.map((way) => [
    way.email,
    way.model,
    way.upstream_name,
    way.requests,
    way.failures,
    way.cost,
  ])
  assert.deepEqual(
    ways.toSorted((one, other) => String(one[1]).localeCompare(String(other[1]))),
    [
      [email, '', null, 2, 2, '0'],
      [email, 'broken', 'bad', 1, 1, '0'],
      [email, 'm', 'good', 2, 0, '0.0044'],
    ],
  )
})

interface Detail {
  cost: string
  upstream_cost: string | null
  refunded: string
  margin: string | null
  bill: { lines: { kind: string; count: number; price: string; amount: string }[]; charged: string } | null
}

test('a request is told with its bill line by line, what it cost, what was given back, and what is left', async () => {
  const bob = await house.account({ balance: '1' })
  const reply = await bob.post(question('m'))
  const id = reply.headers.get('x-request-id') ?? ''
  await reply.text()
  await house.admin('POST', `/requests/${id}/refund`, { amount: '0.0002', reason: 'slow' })
  const { bill, ...told } = await house.admin<Detail>('GET', `/requests/${id}`)
  assert.partialDeepStrictEqual(told, {
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
  const refused = await bob.post(question('invented-3'))
  await refused.text()
  await recordOf(bob, refused)
  const none = await house.admin<Detail>('GET', `/requests/${refused.headers.get('x-request-id') ?? ''}`)
  assert.deepEqual([none.bill, none.refunded], [null, '0'])
})

test('the days of the dashboard, and of new accounts, are those of TIME_ZONE', async () => {
  const { id } = await house.admin<{ id: string }>('POST', '/accounts', { email: 'zone@example.com' })
  assert.equal((await house.admin<{ timezone: string }>('GET', `/accounts/${id}`)).timezone, timezone)
  const shown = await house.admin<{ timezone: string; days: { time: string }[] }>('GET', '/dashboard')
  assert.equal(shown.timezone, timezone)
  const midnight = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, timeStyle: 'medium' })
  assert.ok(shown.days.every(({ time }) => midnight.format(new Date(time)) === '00:00:00'))
})
