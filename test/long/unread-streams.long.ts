/** Memory with hundreds of callers that do not read. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest, type Account } from '../support/server/account.ts'
import { sendWithoutReading, MiB, residentMiB, procSkipReason } from '../support/client/raw-http.ts'
import type { ReceivedRequest } from '../support/upstream/exchange.ts'
import { startTestServer, type TestServer, type RegisteredUpstream } from '../support/server/test-server.ts'
import { respondWithFlood, respondWith } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

interface FloodContext {
  server: TestServer
  upstream: RegisteredUpstream
  account: Account
}

/** Memory that may remain after the streams: the database's page cache, and what the system allocator retains. */
const maxRetainedMiB = 200
const releaseTimeoutMs = 60_000

/** Opens 700 streams whose callers read nothing; 200 disconnect, the rest time out. Returns the peak resident memory. */
async function floodClients({ server, upstream, account }: FloodContext): Promise<number> {
  const stream = chatRequest('m', { stream: true })
  const sockets = Array.from({ length: 700 }, () => sendWithoutReading(server, account, stream))
  const seen: ReceivedRequest[] = []
  for (const _ of sockets) seen.push(await upstream.nextRequest())
  for (const socket of sockets.splice(500)) socket.destroy()
  const taken = () => seen.reduce((sum, { bytesSent }) => sum + bytesSent, 0)
  let highest = 0
  const haveEnded = (): boolean => {
    highest = Math.max(highest, residentMiB(server))
    return upstream.inFlight === 0
  }
  await waitUntil(haveEnded, 'the end of all streams', releaseTimeoutMs * 5)
  assert.ok(taken() < 700 * 12 * MiB, `${taken()} bytes were taken from the upstream`)
  for (const socket of sockets) socket.destroy()
  await server.assertNoOpenHolds()
  return highest
}

/** The resident memory once it is below the bound; otherwise the minimum within the timeout. */
async function memoryAfterRelease(server: TestServer, boundMiB: number): Promise<number> {
  let lowest = residentMiB(server)
  const isReleased = (): boolean => {
    lowest = Math.min(lowest, residentMiB(server))
    return lowest < boundMiB
  }
  await waitUntil(isReleased, 'the release of memory', releaseTimeoutMs).catch(() => undefined)
  return lowest
}

describe('Unread streams', () => {
  test(
    '700 unread streams of 100 MB – use less than 300 MB, repeatedly, and release it',
    { skip: procSkipReason },
    async (t) => {
      const server = await startTestServer(t, { env: { WORKERS: '2', SLOW_CLIENT_TIMEOUT: '20s' } })
      const upstream = await server.upstream(respondWithFlood(100 * MiB))
      await server.model('m', { upstreams: [upstream] })
      const account = await server.account({ balance: '¥1000000' })
      // Do not count the memory that a relay needs in any case.
      upstream.next(...Array.from({ length: 20 }, () => respondWith('Hello!')))
      for (let call = 0; call < 20; call++) {
        await (await account.post(chatRequest('m'))).text()
        await upstream.nextRequest()
      }
      const before = residentMiB(server)
      for (const time of ['first', 'second', 'third']) {
        const highest = await floodClients({ server, upstream, account })
        const rested = await memoryAfterRelease(server, before + maxRetainedMiB)
        const [peakGrowth, retained] = [highest - before, rested - before].map(Math.round)
        t.diagnostic(
          `${before.toFixed()} MiB resident, the ${time} time ${peakGrowth} more, ${retained} of them retained`,
        )
        assert.ok(highest - before < 300, `${peakGrowth} MiB more the ${time} time`)
        assert.ok(rested - before < maxRetainedMiB, `${retained} MiB retained after the ${time} time`)
      }
    },
  )
})
