// @backend both
/** Tiers: what the first payment of an account changes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { expectResponse, expectError, type List } from '../../support/client/admin-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { sendConcurrently, withStatus } from '../../support/client/parallel-requests.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 5 }))
await server.model('m', { upstreams: [upstream] })
const body = chatRequest('m', { max_tokens: 10 })

function pay(account: Account, kind: string, key: string, amount = '1'): Promise<unknown> {
  const payment = { amount, reason: 'an invoice', kind, idempotency_key: key }
  return expectResponse(server, 201, ['POST', `/accounts/${account.id}/credits`, payment])
}

async function readTier(account: Account): Promise<string> {
  return (await account.state()).tier
}

describe('Tiers', () => {
  test('First payment – moves an account from new to standard, at once on every worker', async () => {
    await server.admin('PATCH', '/tiers/new', { rpm: 3 })
    const account = await server.account({ balance: '1', tier: 'new' })
    await pay(account, 'refund', 'not paid')
    await pay(account, 'payment', 'returned', '-0.5')
    assert.equal(await readTier(account), 'new', 'neither a credit, a refund nor a debit is a payment')
    assert.equal(withStatus(await sendConcurrently(account, server.url, body, 20), 200).length, 3)
    await pay(account, 'payment', 'paid')
    assert.equal(withStatus(await sendConcurrently(account, server.url, body, 20), 200).length, 20)
    assert.equal(await readTier(account), 'standard')
    const audit = await expectResponse<List>(server, 200, ['GET', `/audit?object=${account.id}`])
    assert.partialDeepStrictEqual(
      audit.data.find((line) => line['actor'] === 'first-payment'),
      { action: 'account.update', detail: { from: 'new', to: 'standard' } },
    )
    const notices = await expectResponse<List>(server, 200, [
      'GET',
      `/notices?account=${account.id}&kind=account`,
    ])
    assert.partialDeepStrictEqual(notices.data, [{ code: 'tier_changed', params: { to: 'standard' } }])
  })

  test('Second payment – does not move an account that an operator moved back', async () => {
    const account = await server.account({ tier: 'new' })
    await pay(account, 'payment', 'first')
    await account.change({ tier: 'new' })
    await pay(account, 'payment', 'second')
    assert.equal(await readTier(account), 'new')
  })

  test('50 concurrent payments – change the tier once', async () => {
    const account = await server.account({ tier: 'new' })
    await Promise.all(Array.from({ length: 50 }, (_, call) => pay(account, 'payment', `p${call}`)))
    const audit = await expectResponse<List>(server, 200, ['GET', `/audit?object=${account.id}&limit=200`])
    assert.equal(audit.data.filter((line) => line['actor'] === 'first-payment').length, 1)
    assert.deepEqual([await readTier(account), await account.balance()], ['standard', '50'])
  })

  test('after_payment – the tier names its successor, or none', async () => {
    await expectResponse(server, 201, ['POST', '/tiers', { name: 'patron', rpm: 7 }])
    await expectResponse(server, 201, ['POST', '/tiers', { name: 'guest', after_payment: 'patron' }])
    assert.equal(
      await expectError(server, 400, ['PATCH', '/tiers/guest', { after_payment: 'gold' }]),
      'after_payment',
    )
    const [guest, other] = [await server.account({ tier: 'guest' }), await server.account({ tier: 'guest' })]
    await pay(guest, 'payment', 'a')
    assert.equal(await readTier(guest), 'patron')
    assert.partialDeepStrictEqual(
      await expectResponse(server, 200, ['PATCH', '/tiers/guest', { after_payment: null }]),
      { after_payment: null },
    )
    await pay(other, 'payment', 'a')
    assert.equal(await readTier(other), 'guest')
  })
})
