/** Prices, balances and claims of usage that nobody means, as a slip of the finger brings them about. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import { openHouse } from './support/server/test-server.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const million = 100_000_000

test('the dearest price, the highest factor, a claim of everything, and more money than 64 bits of nanos hold, add up', async (t) => {
  const house = await openHouse(t)
  const prices = { input: '1000000', output: '1000000', per_search: '1000000000' }
  const usage = { prompt_tokens: million, completion_tokens: million, num_search_queries: 1000 }
  const upstream = await house.upstream(saying('Hello!', { raw: usage }), { prices })
  await house.model('m', { upstreams: [upstream], prices, context_tokens: million })
  const account = await house.account({ balance: '1000000000' })
  await house.admin('PATCH', `/accounts/${account.id}`, { price_factor: '1000' })
  for (const stream of [false, true]) {
    const reply = await account.post(question('m', { stream, max_tokens: 20 }))
    assert.equal(reply.status, 200)
    await reply.text()
  }
  // Ten million for each is the most.
  assert.equal(await account.balance(), '980000000')
  const poor = await house.account({ balance: '100000' })
  assert.equal((await poor.post(question('m', { max_tokens: 20 }))).status, 200)
  assert.equal(await poor.balance(), '0')

  for (let rich = 0; rich < 3; rich += 1) {
    const { id } = await house.account()
    for (let time = 0; time < 3; time += 1) {
      const credit = { amount: '1000000000', reason: 'story', idempotency_key: `${id} ${time}` }
      await house.admin('POST', `/accounts/${id}/credits`, credit)
    }
  }
  const balances = async (): Promise<string> =>
    (await house.admin<{ accounts: { balances: string } }>('GET', '/dashboard')).accounts.balances
  assert.equal(await balances(), '9980000000')
  await house.restart()
  assert.equal(await balances(), '9980000000')
  const sums = await house.admin<{ data: { cost: string }[] }>('GET', '/usage?group=model')
  assert.equal(sums.data[0]?.cost, '20100000')
  await house.nothingHeld()
  const { ok, overrun } = await house.verify()
  assert.deepEqual([ok, overrun], [true, '9900000'])
})
