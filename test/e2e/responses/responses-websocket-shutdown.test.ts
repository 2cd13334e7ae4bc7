// @backend both (cluster in long runs)
/** What a node that stops does to WebSockets: graceful shutdown, and kill -9. */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { waitForNewestRecord } from '../../support/client/responses.ts'
import { responsesRequest } from '../../support/client/responses-api.ts'
import { rejectedHandshake, ResponsesSocket } from '../../support/client/responses-websocket.ts'
import type { Account } from '../../support/server/account.ts'
import { startTestServer, type TestServer } from '../../support/server/test-server.ts'
import { pauseAfter } from '../../support/upstream/fault-injection.ts'
import { respondWithDeltas } from '../../support/upstream/scripted-responses.ts'

/** A response that has begun, and ends when `resume` is called. */
async function startPausedResponse(
  t: TestContext,
  other: TestServer,
): Promise<{ socket: ResponsesSocket; resume: () => void; account: Account }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const upstream = await other.upstream(pauseAfter(100, promise, respondWithDeltas(120)))
  await other.model('paused', { upstreams: [upstream] })
  const account = await other.account({ balance: '¥1' })
  const socket = await ResponsesSocket.open(other.url, account.key.secret)
  t.after(() => {
    resolve()
    socket.webSocket.terminate()
  })
  socket.create(responsesRequest('paused'))
  // An event is at most 64 tokens past the durable mark.
  for (let deltas = 0; deltas < 90;) {
    if ((await socket.next()).type === 'response.output_text.delta') deltas += 1
  }
  return { socket, resume: resolve, account }
}

describe('WebSockets of a node that stops', () => {
  test('SIGTERM – closes idle connections with 1001, and others after their response', async (t) => {
    const other = await startTestServer(t, { env: { DRAIN_DELAY: '1s', DRAIN_GRACE: '60s' } })
    const { socket, resume, account } = await startPausedResponse(t, other)
    const idle = await ResponsesSocket.open(other.url, account.key.secret)
    const exit = other.stop()
    assert.equal(await idle.closed, 1001)
    resume()
    assert.equal((await socket.last()).type, 'response.completed')
    assert.equal(await socket.closed, 1001)
    assert.equal((await exit).code, 0)
  })

  test('End of DRAIN_GRACE – ends running responses with response.failed', async (t) => {
    const other = await startTestServer(t, { env: { DRAIN_DELAY: '0s', DRAIN_GRACE: '1s' } })
    const { socket } = await startPausedResponse(t, other)
    const exit = other.stop()
    assert.equal((await socket.last()).response?.error?.code, 'service_unavailable')
    assert.equal(await socket.closed, 1001)
    assert.equal((await exit).code, 0)
  })

  test('Draining node – rejects handshakes with 503', async (t) => {
    const other = await startTestServer(t, { env: { DRAIN_DELAY: '30s', DRAIN_GRACE: '1s' } })
    const account = await other.account({ balance: '¥1' })
    void other.stop()
    while ((await fetch(`${other.url}/readyz`)).status !== 503);
    const { status, error } = await rejectedHandshake(other.url, {
      authorization: `Bearer ${account.key.secret}`,
    })
    assert.deepEqual([status, error.code], [503, 'service_unavailable'])
    await other.kill()
  })

  test('Node that is killed – charges what was delivered, at most to the last mark', async (t) => {
    const other = await startTestServer(t)
    const { socket, account } = await startPausedResponse(t, other)
    await other.kill()
    assert.equal(await socket.closed, 1006)
    await other.restart()
    const { outcome, cost } = await waitForNewestRecord(account)
    assert.equal(outcome, 'ended')
    assert.ok(Number(cost) > 0)
    await other.assertNoOpenHolds()
  })
})
