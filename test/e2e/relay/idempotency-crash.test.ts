// @backend both
/** `Idempotency-Key` after a restart or a crash of the relay. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { chatRequest, type Account } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord, readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { pauseAfter, waitFor } from '../../support/upstream/fault-injection.ts'
import { respondWith, respondWithDeltas } from '../../support/upstream/scripted-responses.ts'
import { readDatabaseBytes } from '../../support/server/database-access.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const usage = { input: 1000, output: 100 }
const upstream = await server.upstream(respondWith('Hello, world!', usage))
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const plain = chatRequest('m')
const streamed = chatRequest('m', { stream: true, stream_options: { include_usage: true } })

function repeat(account: Account, key: string, body: object = plain): Promise<Response> {
  return account.post(body, { headers: { 'idempotency-key': key } })
}

describe('Idempotency keys after a restart', () => {
  test('Stored responses – survive restart and kill -9, encrypted on disk', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWith('A very particular answer.', usage))
    const first = await (await repeat(account, 'restarted')).text()
    const stored = await readDatabaseBytes(server.relay)
    assert.ok(stored.includes(account.id) && !stored.includes('particular'))
    await server.kill()
    await server.restart()
    const again = await repeat(account, 'restarted')
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(await again.text(), first)
    assert.equal(await account.balance(), '0.9972')
  })

  test('After kill -9 – a charged request keeps its key, a free one releases it', async () => {
    const account = await server.account({ balance: '¥1' })
    const never = Promise.withResolvers<void>()
    upstream.next(pauseAfter(200, never.promise, respondWithDeltas(300, usage)))
    const charged = await repeat(account, 'charged', streamed)
    let deltas = 0
    const read = (async () => {
      for await (const event of readEvents(charged)) if (event.includes('" w') && ++deltas === 150) break
    })()
    await read
    upstream.next(waitFor(never.promise, respondWith('')))
    const before = upstream.requests.length
    const unanswered = repeat(account, 'unanswered').catch(() => null)
    while (upstream.requests.length === before) await upstream.nextRequest()
    await server.kill()
    await unanswered
    never.resolve()
    await server.restart()

    const interrupted = await repeat(account, 'charged', streamed)
    assert.equal(interrupted.status, 409)
    assert.equal(interrupted.headers.get('x-should-retry'), 'false')
    assert.ok((await readError(interrupted)).message.includes(charged.headers.get('x-request-id') ?? '?'))
    assert.ok(parseAmount((await waitForRecord(account, charged)).cost) > 0n)
    assert.equal((await repeat(account, 'charged', plain)).status, 422)
    const free = await repeat(account, 'unanswered')
    assert.equal(free.status, 200)
    assert.equal(free.headers.get('idempotent-replayed'), null)
  })
})
