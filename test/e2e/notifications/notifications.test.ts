// @backend both
/** Notifications of low balances and spend caps: sent once, in time, and without delaying requests. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dayEndOf } from '../../../src/ledger/periods.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { sendChatRequest, sendConcurrently } from '../../support/client/parallel-requests.ts'
import { waitFor } from '../../support/upstream/fault-injection.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface Notification {
  readonly code: string
  readonly severity: string
  readonly kind: string
  readonly title: string
  readonly text: string
  readonly params: Record<string, string>
}

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 490 }))
await server.model('m', { upstreams: [upstream] })
await server.showObedience('m', upstream)
/** Costs ¥0.001, and holds a little more. */
const body = chatRequest('m', { max_tokens: 490 })

async function listNotifications(account: Account): Promise<Notification[]> {
  return (await server.admin<{ data: Notification[] }>('GET', `/notices?account=${account.id}`)).data
}

/** Waits for this many notifications of an account; returns their codes, oldest first. */
function waitForCodes(account: Account, count: number): Promise<string[]> {
  return waitUntil(async () => {
    const codes = (await listNotifications(account)).map((notification) => notification.code).toReversed()
    return codes.length >= count ? codes : undefined
  }, `${count} notifications`)
}

async function sendRequests(account: Account, times: number): Promise<number> {
  let status = 0
  for (let call = 0; call < times; call += 1) {
    const response = await account.post(body)
    await response.text()
    status = response.status
  }
  return status
}

describe('Spend notifications', () => {
  test('Daily cap – is reported at 50 %, 80 % and 100 %, once each, with the resume time', async () => {
    const zone = 'America/New_York'
    const account = await server.account({ balance: '1', timezone: zone })
    await account.change({ caps: { daily: '0.01' } })
    await sendRequests(account, 4)
    assert.deepEqual(await listNotifications(account), [])
    await sendRequests(account, 3)
    const half = 'account_daily_cap_50'
    assert.deepEqual(await waitForCodes(account, 1), [half])
    await sendRequests(account, 1)
    assert.deepEqual(await waitForCodes(account, 2), [half, 'account_daily_cap_80'])
    while ((await sendRequests(account, 1)) === 200);
    await sendRequests(account, 5)
    assert.deepEqual(await waitForCodes(account, 3), [half, 'account_daily_cap_80', 'account_daily_cap_100'])
    const [reached] = await listNotifications(account)
    assert.partialDeepStrictEqual(reached, {
      kind: 'spend_cap',
      severity: 'critical',
      title: 'The daily spend cap of your account has been reached',
      params: {
        cap: '0.01',
        currency: 'CNY',
        resumes_at: new Date(dayEndOf(zone, Date.now())).toISOString(),
      },
    })
    assert.match(
      reached?.text ?? '',
      /Requests are rejected until \d{4}-\d\d-\d\d 00:00 \(America\/New_York\)\.$/,
    )
    await account.change({ caps: { daily: '0.02' } })
    await sendRequests(account, 7)
    const again = (await waitForCodes(account, 5)).slice(3)
    assert.deepEqual(again, [half, 'account_daily_cap_80'], 'a new cap is reported again')
  })

  test('Each cap of an account and its keys – has its own notifications, which name the key', async () => {
    const key = { name: 'production', caps: { daily: '0.003', monthly: '0.003', total: '0.003' } }
    const account = await server.account({ balance: '1', key })
    await account.change({ caps: { monthly: '0.003' } })
    while ((await sendRequests(account, 1)) === 200);
    const codes = await waitForCodes(account, 9)
    for (const name of ['account_monthly', 'key_daily', 'key_monthly', 'key_total'])
      for (const level of [50, 80])
        assert.ok(codes.includes(`${name}_cap_${level}`), `${name} at ${level} of ${codes.join()}`)
    const keyNotification = (await listNotifications(account)).find((notification) =>
      notification.code.startsWith('key_daily'),
    )
    assert.match(keyNotification?.title ?? '', /key “production”/)
    assert.equal(keyNotification?.params['key_id'], account.key.id)
  })

  test('Low and exhausted balance – are reported once each, and again after a credit', async () => {
    const account = await server.account({ balance: '0.02' })
    await sendRequests(account, 18)
    assert.deepEqual(await listNotifications(account), [], 'a tenth of the credit remains')
    await sendRequests(account, 1)
    assert.deepEqual(await waitForCodes(account, 1), ['balance_low'])
    while ((await sendRequests(account, 1)) === 200);
    assert.deepEqual(await waitForCodes(account, 2), ['balance_low', 'balance_used_up'])
    await account.credit('0.015')
    while ((await sendRequests(account, 1)) === 200);
    const codes = await waitForCodes(account, 4)
    assert.deepEqual(codes.slice(2), ['balance_low', 'balance_used_up'])
  })

  test('low_balance of an account – sets the threshold, and 0 disables the notification', async () => {
    const [alice, bob] = [
      await server.account({ balance: '0.02' }),
      await server.account({ balance: '0.02' }),
    ]
    assert.partialDeepStrictEqual(await alice.change({ low_balance: '0.0185' }), { low_balance: '0.0185' })
    await bob.change({ low_balance: '0' })
    for (const account of [alice, bob]) await sendRequests(account, 19)
    assert.deepEqual(await waitForCodes(alice, 1), ['balance_low'])
    assert.equal((await listNotifications(alice))[0]?.params['balance'], '0.018')
    assert.deepEqual(await listNotifications(bob), [])
    assert.partialDeepStrictEqual(await alice.change({ low_balance: null }), { low_balance: null })
  })

  test('Cap filled only by holds – is not reported as reached', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ caps: { daily: '0.1' } })
    await server.model('slow', { upstreams: [upstream] })
    const { promise, resolve } = Promise.withResolvers<void>()
    upstream.forModel('slow', waitFor(promise, respondWith('Hello!', { input: 10, output: 490 })))
    const large = chatRequest('slow', { max_tokens: 8000 })
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const { status } = await sendChatRequest(account, server.url, large)
        // The upstream responds once the holds fill the cap.
        if (status === 402) resolve()
        return status
      }),
    )
    assert.ok(outcomes.includes(200) && outcomes.includes(402), outcomes.join())
    await server.assertNoOpenHolds()
    const spent = Number((await account.state()).spent_today)
    assert.ok(spent < 0.08, `${spent} spent`)
    assert.deepEqual(await listNotifications(account), [])
  })

  test('100 concurrent requests over two workers and a restart – send each notification once', async () => {
    // A model of its own: in other tests, the upstream ignores the maximum with which the last request is admitted.
    await server.model('concurrent', { upstreams: [upstream] })
    await server.showObedience('concurrent', upstream)
    const requested = chatRequest('concurrent', { max_tokens: 490 })
    const account = await server.account({ balance: '1' })
    await account.change({ caps: { daily: '0.02' } })
    // Sequentially past 50 %: bills that settle together report only the highest level.
    for (let call = 0; call < 11; call += 1)
      assert.equal((await sendChatRequest(account, server.url, requested)).status, 200)
    for (let round = 0; round < 5; round += 1) await sendConcurrently(account, server.url, requested, 20)
    const expected = ['account_daily_cap_50', 'account_daily_cap_80', 'account_daily_cap_100']
    assert.deepEqual(await waitForCodes(account, 3), expected)
    await server.kill()
    await server.restart()
    await sendConcurrently(account, server.url, requested, 20)
    assert.deepEqual(await waitForCodes(account, 3), expected)
  })
})
