/** M1 two hundred times over: 500 callers at once against a balance for 10 requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nanosOf } from '../src/lib/money.ts'
import { question } from './support/server/account.ts'
import { shareHouse } from './support/server/test-server.ts'
import { callMany, costOfAll, neverBelowZero, withStatus } from './support/client/parallel-requests.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })

test('in 200 trials of 500 callers against a balance for 10 requests, never a nano more than the balance is charged', async () => {
  const upstream = await house.upstream(saying('Hello!', { input: 10, output: 500 }))
  await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
  for (let trial = 0; trial < 200; trial += 1) {
    const account = await house.account({ balance: '0.04025' })
    const asked = question('m', { max_tokens: 500, stream: trial % 2 === 0 })
    const outcomes = await neverBelowZero(account, callMany(account, house.url, asked, 500))
    assert.equal(withStatus(outcomes, 200).length + withStatus(outcomes, 402).length, 500)
    const cost = await costOfAll(account)
    assert.ok(cost <= nanosOf('0.04025'), `trial ${trial} cost ${cost}`)
    assert.equal(nanosOf(await account.balance()), nanosOf('0.04025') - cost)
  }
})
