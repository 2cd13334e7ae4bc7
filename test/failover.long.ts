/**
 * The figures of failover, with a thousand requests for each of twelve faults, whole and streamed: success before the
 * first byte at least 99.9 %, attempts at most 1.2 a request in a full outage and 1.01 in health, nothing sent again
 * after a forwarded byte, and a healed upstream's share back within a minute after a long outage.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { question } from './support/server/account.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, saying } from './support/upstream/scripted-responses.ts'
import { attemptsOf, inParallel, loadWithFault, twelveFaults } from './twelve-faults.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const requests = 1000
const well = saying('Hello!', { input: 10, output: 5 })

for (const name of Object.keys(twelveFaults)) {
  for (const stream of [false, true]) {
    test(`${requests} ${stream ? 'streams' : 'whole answers'} while one of two upstreams ${name}`, async (t) => {
      const outcome = await loadWithFault(house, name, { requests, concurrency: 16, stream })
      t.diagnostic(`${name}, ${stream ? 'streamed' : 'whole'}: ${JSON.stringify(outcome)}`)
      assert.ok(outcome.begun >= 0.999 * requests)
      assert.ok(outcome.attempts <= 1.2 * requests)
      assert.equal(outcome.sentAgain, 0)
    })
  }
}

test('in health a request is one attempt', async (t) => {
  const upstreams = [await house.upstream(well), await house.upstream(well)]
  await house.model('healthy', { upstreams })
  const account = await house.account({ balance: '¥1000' })
  await inParallel({ requests, concurrency: 16 }, async () => {
    await (await account.post(question('healthy'))).arrayBuffer()
  })
  const attempts = await attemptsOf(account, requests)
  t.diagnostic(`${attempts} attempts for ${requests} requests`)
  assert.ok(attempts <= 1.01 * requests)
})

test('after an outage of a minute a healed upstream has its share again within another', async (t) => {
  const first = await house.upstream(failing(503))
  const second = await house.upstream(well)
  await house.model('healing', { upstreams: [first, second] })
  const account = await house.account({ balance: '¥1000' })
  const ask = async (): Promise<void> => {
    const reply = await account.post(question('healing'))
    assert.equal(reply.status, 200)
    await reply.arrayBuffer()
    await delay(50)
  }
  const begunAt = performance.now()
  while (performance.now() - begunAt < 60_000) await ask()
  t.diagnostic(`${first.requests.length} attempts at it in a minute of outage`)
  assert.ok(first.requests.length <= 15)
  first.always(well)
  const healedAt = performance.now()
  const before = first.requests.length
  while (first.requests.length === before) await ask()
  t.diagnostic(`back after ${Math.round(performance.now() - healedAt)} ms`)
  assert.ok(performance.now() - healedAt < 60_000)
  const back = first.requests.length
  for (let count = 0; count < 20; count += 1) await ask()
  assert.equal(first.requests.length - back, 20)
})
