// @backend both
/** Health checks of idle upstreams: they detect a failure and the recovery without a caller. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWith } from '../../support/upstream/scripted-responses.ts'
import { upstreamHealth } from '../../support/server/upstream-health.ts'
import { scriptedDelay, waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const healthy = respondWith('OK', { input: 10, output: 2 })

describe('Health checks', () => {
  test('Idle upstream – failure and recovery are detected without callers, at the operator’s cost', async () => {
    const account = await server.account({ balance: '¥1' })
    const checked = await server.upstream(healthy, {
      health_check_ms: 1000,
      prices: { input: '0.1', output: '0.1' },
    })
    const other = await server.upstream(healthy)
    await server.model('checked', { upstreams: [checked, other] })
    assert.equal((await checked.nextRequest()).json['max_tokens'], 16)
    const found = await waitUntil(
      async () => (await server.requests({ key: 'health-check' }))[0],
      'the record of a health check',
    )
    assert.deepEqual([found.account, found.outcome, found.upstream], ['operator', 'ok', checked.id])
    assert.equal(Number(found.cost), 0)
    assert.equal(parseAmount(found.attempts[0]?.cost ?? ''), parseAmount('0.0012'))
    const usage = await server.admin<{ data: { account: string; upstream_cost: string; margin: string }[] }>(
      'GET',
      '/usage?group=account&account=operator',
    )
    assert.ok(parseAmount(usage.data[0]?.upstream_cost ?? '0') >= parseAmount('0.0012'))

    checked.always(respondWithError(401))
    await waitUntil(async () => {
      const { state } = await upstreamHealth(server, checked.id)
      return state === 'closed' ? undefined : true
    }, 'the rejected credential to be detected')
    const before = checked.requests.length
    for (let count = 0; count < 5; count += 1) {
      const response = await account.post(chatRequest('checked'))
      assert.match(await response.text(), /OK/)
      assert.deepEqual(
        (await account.requests())[0]?.attempts.map(({ upstream }) => upstream),
        [other.id],
      )
    }
    const checks = checked.requests.slice(before)
    assert.ok(
      checks.every(({ text }) => text.includes('Answer with OK.')),
      'no request of a caller was a probe',
    )

    checked.always(healthy)
    await waitUntil(async () => (await upstreamHealth(server, checked.id)).state === 'closed', 'its recovery')
  })

  test('Upstreams without health checks, and busy ones – are not checked', async () => {
    const account = await server.account({ balance: '¥1' })
    const [busy, idle] = [
      await server.upstream(healthy, { health_check_ms: 1000 }),
      await server.upstream(healthy, { health_check_ms: 1000 }),
    ]
    const plain = await server.upstream(healthy)
    await server.model('busy', { upstreams: [busy] })
    await server.model('idle', { upstreams: [idle] })
    await server.model('plain', { upstreams: [plain] })
    // Until the idle upstream has been checked twice.
    while (idle.requests.length < 2) {
      const response = await account.post(chatRequest('busy'))
      await response.arrayBuffer()
      await scriptedDelay(50)
    }
    const checks = busy.requests.filter(({ text }) => text.includes('Answer with OK.'))
    assert.ok(checks.length <= 1, `${checks.length} checks for ${busy.requests.length} requests`)
    assert.equal(plain.requests.length, 0)
  })

  test('health_check_ms out of range – is rejected with its name', async () => {
    const upstream = await server.upstream(healthy)
    const path = `/upstreams/${upstream.id}`
    await assert.rejects(server.admin('PATCH', path, { health_check_ms: 10 }), /health_check_ms/)
    const changed = await server.admin<{ health_check_ms: number | null }>('PATCH', path, {
      health_check_ms: 60_000,
    })
    assert.equal(changed.health_check_ms, 60_000)
    const removed = await server.admin<{ health_check_ms: number | null }>('PATCH', path, {
      health_check_ms: null,
    })
    assert.equal(removed.health_check_ms, null)
  })
})
