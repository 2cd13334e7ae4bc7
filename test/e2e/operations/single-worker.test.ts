// @backend both
/** A relay with one worker, which runs on the main thread. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import { respondWithDeltas } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '1', DRAIN_DELAY: '0s', DRAIN_GRACE: '1s' } })

describe('One worker', () => {
  test('SIGTERM – settles a request whose caller has left before the store closes', async () => {
    const upstream = await server.upstream(
      truncateAfter(11, 'hang', respondWithDeltas(50, { input: 100, output: 50 })),
    )
    await server.model('stalled-model', { upstreams: [upstream] })
    const account = await server.account({ balance: '¥1' })
    const caller = new AbortController()
    const response = await account.post(chatRequest('stalled-model', { stream: true }), {
      headers: { 'Idempotency-Key': 'left-behind' },
      signal: caller.signal,
    })
    for await (const event of readEvents(response)) if (event.includes('"content"')) break
    caller.abort()
    assert.deepEqual(await server.stop(), { code: 0, signal: null })

    await server.restart()
    await server.assertNoOpenHolds()
    assert.doesNotMatch(server.relay.lines.join('\n'), /recovered open holds/)
    const [request, ...others] = await account.requests()
    assert.deepEqual(others, [])
    assert.ok(request)
    assert.ok(Number(request.cost) > 0)
  })
})
