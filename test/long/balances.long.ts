/** 200 times 500 concurrent requests against a balance for 10 requests. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAmount } from '../../src/lib/money.ts'
import { chatRequest } from '../support/server/account.ts'
import { sharedTestServer } from '../support/server/test-server.ts'
import {
  sendConcurrently,
  totalCost,
  assertNeverNegative,
  withStatus,
} from '../support/client/parallel-requests.ts'
import { respondWithin } from '../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })

describe('Balances under concurrency', () => {
  test('500 concurrent requests – never overspend a balance for 10 requests, in 200 trials', async () => {
    const upstream = await server.upstream(respondWithin({ input: 10, output: 500 }))
    for (let trial = 0; trial < 200; trial += 1) {
      const model = `trial-${trial}`
      await server.model(model, { upstreams: [upstream], prices: ['0.002', '0.008'] })
      await server.showObedience(model, upstream)
      const account = await server.account({ balance: '0.04025' })
      const body = chatRequest(model, { max_tokens: 500, stream: trial % 2 === 0 })
      const outcomes = await assertNeverNegative(account, sendConcurrently(account, server.url, body, 500))
      assert.equal(withStatus(outcomes, 200).length + withStatus(outcomes, 402).length, 500)
      const cost = await totalCost(account)
      assert.ok(cost <= parseAmount('0.04025'), `trial ${trial} cost ${cost}`)
      assert.equal(parseAmount(await account.balance()), parseAmount('0.04025') - cost)
    }
  })
})
