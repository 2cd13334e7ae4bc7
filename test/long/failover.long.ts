/**
 * Failover targets, with a thousand requests for each of twelve faults, streaming and not: at least 99.9 % success before
 * the first byte, at most 1.2 attempts per request in a full outage and 1.01 without faults, no retry after a forwarded
 * byte, and a recovered upstream has its share of the traffic again within a minute after a long outage.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../support/server/account.ts'
import { sharedTestServer } from '../support/server/test-server.ts'
import { respondWithError, respondWith } from '../support/upstream/scripted-responses.ts'
import { countAttempts, runInParallel, runLoadWithFault, faultNames } from './failover-load.ts'
import { scriptedDelay } from '../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const requests = 1000
const healthy = respondWith('Hello!', { input: 10, output: 5 })

describe('Failover', () => {
  for (const fault of faultNames) {
    for (const stream of [false, true]) {
      const mode = stream ? 'streaming' : 'non-streaming'
      test(`Upstream that ${fault} – ${requests} ${mode} requests succeed with at most 1.2 attempts each`, async (t) => {
        const outcome = await runLoadWithFault(server, fault, { requests, concurrency: 16, stream })
        t.diagnostic(`${fault}, ${mode}: ${JSON.stringify(outcome)}`)
        assert.ok(outcome.started >= 0.999 * requests)
        assert.ok(outcome.attempts <= 1.2 * requests)
        assert.equal(outcome.resent, 0)
      })
    }
  }

  test('Healthy upstreams – a request takes one attempt', async (t) => {
    const upstreams = [await server.upstream(healthy), await server.upstream(healthy)]
    await server.model('healthy', { upstreams })
    const account = await server.account({ balance: '¥1000' })
    await runInParallel({ requests, concurrency: 16 }, async () => {
      await (await account.post(chatRequest('healthy'))).arrayBuffer()
    })
    const attempts = await countAttempts(account, requests)
    t.diagnostic(`${attempts} attempts for ${requests} requests`)
    assert.ok(attempts <= 1.01 * requests)
  })

  test('Upstream that recovers after a minute – has its share again within another minute', async (t) => {
    const first = await server.upstream(respondWithError(503))
    const second = await server.upstream(healthy)
    await server.model('recovering', { upstreams: [first, second] })
    const account = await server.account({ balance: '¥1000' })
    const sendRequest = async (): Promise<void> => {
      const response = await account.post(chatRequest('recovering'))
      assert.equal(response.status, 200)
      await response.arrayBuffer()
      await scriptedDelay(50)
    }
    const startedAt = performance.now()
    while (performance.now() - startedAt < 60_000) await sendRequest()
    t.diagnostic(`${first.requests.length} attempts at the failing upstream in a minute`)
    assert.ok(first.requests.length <= 15)
    first.always(healthy)
    const recoveredAt = performance.now()
    const before = first.requests.length
    while (first.requests.length === before) await sendRequest()
    t.diagnostic(`back after ${Math.round(performance.now() - recoveredAt)} ms`)
    assert.ok(performance.now() - recoveredAt < 60_000)
    const back = first.requests.length
    for (let count = 0; count < 20; count += 1) await sendRequest()
    assert.equal(first.requests.length - back, 20)
  })
})
