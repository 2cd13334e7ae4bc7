// @backend both
/** Spend caps: they stop service, say when it resumes, and resume it without an operator. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAmount } from '../../../src/lib/money.ts'
import { dayEndOf, monthEndOf } from '../../../src/ledger/periods.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { sendConcurrently, totalCost, withStatus } from '../../support/client/parallel-requests.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const preload = new URL('../../support/server/preload/shifted-clock.ts', import.meta.url).href
const server = await sharedTestServer({ env: { WORKERS: '2', NODE_OPTIONS: `--import=${preload}` } })
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 500 }))
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
await server.showObedience('m', upstream)
/** Costs ¥0.00402, and holds a little more for its input. */
const body = chatRequest('m', { max_tokens: 500 })
const cap = '0.0205'
const zone = 'America/New_York'

const caps: Record<
  string,
  { subject: string; set: (account: Account, amount: string | null) => Promise<unknown> }
> = {
  'daily cap of an account': {
    subject: 'daily spend cap of this account',
    set: (account, daily) => account.change({ caps: { daily } }),
  },
  'monthly cap of an account': {
    subject: 'monthly spend cap of this account',
    set: (account, monthly) => account.change({ caps: { monthly } }),
  },
  'daily cap of a key': {
    subject: 'daily spend cap of this key',
    set: (account, daily) => server.admin('PATCH', `/keys/${account.key.id}`, { caps: { daily } }),
  },
  'monthly cap of a key': {
    subject: 'monthly spend cap of this key',
    set: (account, monthly) => server.admin('PATCH', `/keys/${account.key.id}`, { caps: { monthly } }),
  },
  'total cap of a key': {
    subject: 'total spend cap of this key',
    set: (account, total) => server.admin('PATCH', `/keys/${account.key.id}`, { caps: { total } }),
  },
}

function resumesAtText(name: string): string {
  if (name.startsWith('total')) return ''
  const end = name.startsWith('daily') ? dayEndOf(zone, Date.now()) : monthEndOf(zone, Date.now())
  return ` Service resumes at ${new Date(end).toISOString()}.`
}

describe('Spend caps', () => {
  for (const [limit, { subject, set }] of Object.entries(caps)) {
    const name = limit.replaceAll(' ', '-')
    test(`${limit} – is exact with 100 concurrent requests, and raising it resumes service`, async () => {
      // Another model for each test: the upstream ignores the maximum with which the last request was admitted.
      await server.model(name, { upstreams: [upstream], prices: ['0.002', '0.008'] })
      await server.showObedience(name, upstream)
      const body = chatRequest(name, { max_tokens: 500 })
      const account = await server.account({ balance: '1', timezone: zone })
      await set(account, cap)
      const outcomes = await sendConcurrently(account, server.url, body, 100)
      const served = withStatus(outcomes, 200)
      const rejected = withStatus(outcomes, 402)
      assert.equal(served.length + rejected.length, 100)
      assert.ok(rejected.every(({ code }) => code === 'spend_cap_exceeded'))
      const spent = await totalCost(account)
      assert.ok(spent <= parseAmount(cap) && served.length >= 4, `${served.length} served for ${spent}`)

      // Spend the rest, until it pays for fewer than 16 tokens.
      while ((await account.post(chatRequest(name, { max_tokens: 20 }))).status === 200);
      const response = await account.post(body)
      assert.equal(response.status, 402)
      assert.equal(response.headers.get('x-should-retry'), 'false')
      const error = await readError(response)
      assert.deepEqual([error.code, error.type], ['spend_cap_exceeded', 'insufficient_quota'])
      assert.equal(error.message, `The ${subject} is reached.${resumesAtText(limit)}`)
      assert.ok((await totalCost(account)) <= parseAmount(cap))

      await set(account, '0.05')
      assert.equal((await account.post(body)).status, 200)
      await set(account, null)
      assert.equal((await account.post(body)).status, 200)
    })
  }

  test('Empty balance – is reported as such even when a cap is reached', async () => {
    const account = await server.account({ balance: '0.00001' })
    await account.change({ caps: { daily: '0' } })
    const response = await account.post(body)
    assert.equal(response.status, 402)
    assert.equal((await readError(response)).code, 'insufficient_quota')
  })

  test('Key deleted during its request – is charged at most its hold, within the cap', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ caps: { daily: '0.001' } })
    upstream.next(async (exchange) => {
      await server.admin('DELETE', `/keys/${account.key.id}`)
      await respondWith('Hello!', { input: 10, output: 1000 })(exchange)
    })
    await (await account.post(chatRequest('m', { max_tokens: 100 }))).text()
    assert.ok(parseAmount('1') - parseAmount(await account.balance()) <= parseAmount('0.001'))
  })

  test('Caps and daily request limits – survive a restart and reset at local midnight', async () => {
    const spender = await server.account({ balance: '1', timezone: zone })
    await spender.change({ caps: { daily: '0.0041' } })
    const caller = await server.account({ balance: '1', timezone: zone })
    await caller.change({ limits: { rpd: 2 } })
    assert.equal((await spender.post(body)).status, 200)
    for (const status of [200, 200, 429]) assert.equal((await caller.post(body)).status, status)

    const midnight = dayEndOf(zone, Date.now())
    const aheadMs = midnight - Date.now() - 10 * 60_000
    await server.restart({ CLOCK_AHEAD_MS: String(aheadMs) })
    assert.equal((await spender.post(body)).status, 402)
    const rejected = await caller.post(body)
    assert.equal(rejected.status, 429)
    const untilMidnightMs = midnight - (Date.now() + aheadMs)
    assert.ok(Math.abs(Number(rejected.headers.get('retry-after')) * 1000 - untilMidnightMs) < 60_000)
    assert.equal((await spender.state()).spent_today, '0.00402')

    await server.restart({ CLOCK_AHEAD_MS: String(aheadMs + 10 * 60_000) })
    assert.equal((await spender.state()).spent_today, '0')
    assert.equal((await spender.post(body)).status, 200)
    assert.equal((await caller.post(body)).status, 200)
  })
})
