/** Tiers on the whole program: what a first payment changes, at once and everywhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { question, type Account } from './support/server/account.ts'
import { answered, refused, type List } from './contract.ts'
import { shareHouse } from './support/server/test-server.ts'
import { callMany, withStatus } from './support/client/parallel-requests.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!', { input: 10, output: 5 }))
await house.model('m', { upstreams: [upstream] })
const asked = question('m', { max_tokens: 10 })

function pay(account: Account, kind: string, key: string): Promise<unknown> {
  const body = { amount: '1', reason: 'an invoice', kind, idempotency_key: key }
  return answered(house, 201, ['POST', `/accounts/${account.id}/credits`, body])
}

async function tierOf(account: Account): Promise<string> {
  return (await account.state()).tier
}

test('the first payment moves an account from new to standard, and its limits hold at once on every worker', async () => {
  await house.admin('PATCH', '/tiers/new', { rpm: 3 })
  const account = await house.account({ balance: '1', tier: 'new' })
  await pay(account, 'refund', 'not paid')
  assert.equal(await tierOf(account), 'new', 'neither a credit nor a refund is a payment')
  assert.equal(withStatus(await callMany(account, house.url, asked, 20), 200).length, 3)
  await pay(account, 'payment', 'paid')
  assert.equal(withStatus(await callMany(account, house.url, asked, 20), 200).length, 20)
  assert.equal(await tierOf(account), 'standard')
  const audit = await answered<List>(house, 200, ['GET', `/audit?object=${account.id}`])
  assert.partialDeepStrictEqual(
    audit.data.find((line) => line['actor'] === 'first-payment'),
    { action: 'account.update', detail: { from: 'new', to: 'standard' } },
  )
  const notices = await answered<List>(house, 200, ['GET', `/notices?account=${account.id}&kind=account`])
  assert.partialDeepStrictEqual(notices.data, [{ code: 'tier_changed', params: { to: 'standard' } }])
})

test('only the first payment counts: whom an operator moves back stays there', async () => {
  const account = await house.account({ tier: 'new' })
  await pay(account, 'payment', 'first')
  await account.change({ tier: 'new' })
  await pay(account, 'payment', 'second')
  assert.equal(await tierOf(account), 'new')
})

test('fifty payments at once change the tier once', async () => {
  const account = await house.account({ tier: 'new' })
  await Promise.all(Array.from({ length: 50 }, (_, call) => pay(account, 'payment', `p${call}`)))
  const audit = await answered<List>(house, 200, ['GET', `/audit?object=${account.id}&limit=200`])
  assert.equal(audit.data.filter((line) => line['actor'] === 'first-payment').length, 1)
  assert.deepEqual([await tierOf(account), await account.balance()], ['standard', '50'])
})

test('the rule is the tier’s: another successor, or none', async () => {
  await answered(house, 201, ['POST', '/tiers', { name: 'patron', rpm: 7 }])
  await answered(house, 201, ['POST', '/tiers', { name: 'guest', after_payment: 'patron' }])
  assert.equal(
    await refused(house, 400, ['PATCH', '/tiers/guest', { after_payment: 'gold' }]),
    'after_payment',
  )
  const [guest, other] = [await house.account({ tier: 'guest' }), await house.account({ tier: 'guest' })]
  await pay(guest, 'payment', 'a')
  assert.equal(await tierOf(guest), 'patron')
  assert.partialDeepStrictEqual(
    await answered(house, 200, ['PATCH', '/tiers/guest', { after_payment: null }]),
    { after_payment: null },
  )
  await pay(other, 'payment', 'a')
  assert.equal(await tierOf(other), 'guest')
})
