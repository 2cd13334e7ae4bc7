// @backend both
/** Prices, balances and usage far beyond what anyone intends, as typing errors cause them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const million = 100_000_000

describe('Extreme amounts', () => {
  test('Maximum prices, factors, usage and balances beyond 64 bits – the ledger still adds up', async (t) => {
    const server = await startTestServer(t)
    const prices = { input: '1000000', output: '1000000', per_search: '1000000000' }
    const usage = { prompt_tokens: million, completion_tokens: million, num_search_queries: 1000 }
    const upstream = await server.upstream(respondWith('Hello!', { raw: usage }), { prices })
    await server.model('m', { upstreams: [upstream], prices, context_tokens: million })
    const account = await server.account({ balance: '1000000000' })
    await server.admin('PATCH', `/accounts/${account.id}`, { price_factor: '1000' })
    for (const stream of [false, true]) {
      const response = await account.post(chatRequest('m', { stream, max_tokens: 20 }))
      assert.equal(response.status, 200)
      await response.text()
    }
    // A request costs at most ten million.
    assert.equal(await account.balance(), '980000000')
    const poor = await server.account({ balance: '100000' })
    assert.equal((await poor.post(chatRequest('m', { max_tokens: 20 }))).status, 200)
    assert.equal(await poor.balance(), '0')

    for (let count = 0; count < 3; count += 1) {
      const { id } = await server.account()
      for (let time = 0; time < 3; time += 1) {
        const credit = { amount: '1000000000', reason: 'test', idempotency_key: `${id} ${time}` }
        await server.admin('POST', `/accounts/${id}/credits`, credit)
      }
    }
    const balances = async (): Promise<string> =>
      (await server.admin<{ accounts: { balances: string } }>('GET', '/dashboard')).accounts.balances
    assert.equal(await balances(), '9980000000')
    await server.restart()
    assert.equal(await balances(), '9980000000')
    const sums = await server.admin<{ data: { cost: string }[] }>('GET', '/usage?group=model')
    assert.equal(sums.data[0]?.cost, '20100000')
    await server.assertNoOpenHolds()
    const { ok, overrun } = await server.verify()
    assert.deepEqual([ok, overrun], [true, '9900000'])
  })
})
