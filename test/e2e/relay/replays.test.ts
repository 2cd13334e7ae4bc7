// @backend both (also without Redis)
/** The limit of replays by `Idempotency-Key`, and replays that their caller does not read. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'

import { chatRequest, type Account } from '../../support/server/account.ts'
import { isOpenAtRelay, procSkipReason, requestHead } from '../../support/client/raw-http.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const replaysPerMinute = 60

const server = await sharedTestServer({ env: { WORKERS: '2', SLOW_CLIENT_TIMEOUT: '1s' } })
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })
const request = chatRequest('m')

function send(account: Account, key: string): Promise<Response> {
  return account.post(request, { headers: { 'idempotency-key': key } })
}

const isReplay = ({ headers }: Response): boolean => headers.get('idempotent-replayed') === 'true'

describe('Replays', () => {
  test('More than 60 a minute with an API key – return 429 and count in no other limit', async () => {
    const account = await server.account({ balance: '¥1' })
    await account.change({ limits: { rpm: 4, concurrency: 1 } })
    const first = await send(account, 'first')
    assert.equal(first.headers.get('x-ratelimit-remaining-requests'), '3')
    await first.text()
    const responses = await Promise.all(
      Array.from({ length: replaysPerMinute + 10 }, () => send(account, 'first')),
    )
    const replayed = responses.filter(isReplay)
    const rejected = responses.filter((response) => !isReplay(response))
    assert.deepEqual([replayed.length, rejected.length], [replaysPerMinute, 10])
    for (const { status } of replayed) assert.equal(status, 200)
    for (const response of rejected) {
      assert.equal(response.status, 429)
      const retryAfter = Number(response.headers.get('retry-after'))
      assert.ok(retryAfter >= 1 && retryAfter <= 61, `${retryAfter}`)
      const { code, message } = await readError(response)
      assert.equal(code, 'rate_limit_exceeded')
      assert.match(message, /for this key: 60 replays by Idempotency-Key per minute/)
    }
    // Requests that are no replays go on, with or without a key.
    const [second, third] = [await send(account, 'second'), await account.post(request)]
    assert.deepEqual([second.status, third.status], [200, 200])
    assert.equal(third.headers.get('x-ratelimit-remaining-requests'), '1')
    // The window is that of an API key, and the response belongs to the account.
    await account.newKey()
    assert.ok(isReplay(await send(account, 'first')))
  })

  for (const path of ['fast path', 'node:http'] as const) {
    const name = `Replays that nobody reads (${path}) – are given up after SLOW_CLIENT_TIMEOUT`
    test(name, { skip: procSkipReason }, async () => {
      const account = await server.account({ balance: '¥1' })
      upstream.next(respondWith('x'.repeat(1_000_000)))
      await (await send(account, 'large')).text()
      const body = JSON.stringify(request)
      const [framing, framed] =
        path === 'fast path'
          ? [`content-length: ${body.length}`, body]
          : ['transfer-encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]
      const socket = connect(server.relay.port, '127.0.0.1').pause()
      await once(socket, 'connect')
      socket.on('error', () => undefined)
      assert.ok(isOpenAtRelay(server, socket))
      // The responses are more than the system buffers.
      socket.write(`${requestHead(account, `idempotency-key: large\r\n${framing}`)}${framed}`.repeat(30))
      await waitUntil(async () => !isOpenAtRelay(server, socket), 'the end of the connection')
      socket.destroy()
      const replay = await send(account, 'large')
      assert.ok(isReplay(replay))
      assert.ok((await replay.text()).length > 1_000_000)
    })
  }
})
