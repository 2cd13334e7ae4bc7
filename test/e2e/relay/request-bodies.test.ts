// @backend both (cluster in long runs)
/** The memory for request bodies: no account takes that of the others, however slowly it sends. */

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { chatRequest, type Account } from '../../support/server/account.ts'
import { MiB, sendRawRequest, type RawRequest } from '../../support/client/raw-http.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

/** One account may hold 2 MiB, and large bodies all but 2 MiB. */
const server = await sharedTestServer({ env: { BODY_LIMIT: '2MiB', BODIES_LIMIT: '16MiB' } })
const upstream = await server.upstream(respondWith('Hello!'))
await server.model('m', { upstreams: [upstream] })
const account = await server.account({ balance: '¥1000' })

const large = { ...chatRequest('m'), filler: 'x'.repeat(MiB) }

/** Sends part of a body of nearly 2 MiB, on the fast path with a length and over node:http in chunks. */
function sendPart(t: TestContext, from: Account, bytes: number, isChunked = false): RawRequest {
  const part = 'x'.repeat(bytes)
  const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${2 * MiB}`
  const request = sendRawRequest(server, from, framing)
  t.after(() => request.socket.destroy())
  request.socket.write(isChunked ? `${bytes.toString(16)}\r\n${part}\r\n` : part)
  return request
}

async function readBodyMetric(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  return Number(new RegExp(`^sluice_request_body_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

async function waitUntilHeld(bytes: number): Promise<void> {
  await waitUntil(async () => (await readBodyMetric('bytes')) === bytes)
}

describe('Memory for request bodies', () => {
  test('Slow sender without money – gets 429 beyond its share, and others are served', async (t) => {
    assert.equal(await readBodyMetric('limit_bytes'), 16 * MiB)
    const slow = await server.account()
    const partBytes = 200 * 1024
    const held = Array.from({ length: 10 }, (_, index) => sendPart(t, slow, partBytes, index % 2 === 1))
    await waitUntilHeld(10 * partBytes)

    for (const isChunked of [false, true]) {
      const text = await sendPart(t, slow, partBytes, isChunked).response
      assert.match(text, /^HTTP\/1\.1 429 /)
      assert.match(text, /\r\nretry-after: 1\r\n/)
      assert.match(text, /"code":"rate_limit_exceeded"/)
      assert.match(text, /Wait until running requests have ended/)
    }
    await waitUntilHeld(10 * partBytes)
    for (const body of [chatRequest('m'), large]) assert.equal((await account.post(body)).status, 200)
    assert.deepEqual(
      held.filter(({ socket }) => socket.closed),
      [],
    )

    for (const { socket } of held) socket.destroy()
    await waitUntilHeld(0)
    assert.equal(await slow.balance(), '0')
  })

  test('Uploads that are rejected before they are read – Node’s client reads the status', async () => {
    const wrong = { authorization: 'Bearer sk-wrong' }
    const right = { authorization: `Bearer ${account.key.secret}` }
    for (const [path, headers, bytes, status] of [
      ['/v1/nothing', right, 12, 404],
      ['/v1/nothing', wrong, 5, 404],
      ['/api/v1/chat/completions', right, 12, 404],
      ['/v1/chat/completions', wrong, 5, 401],
      ['/v1/messages', wrong, 5, 401],
      ['/v1/chat/completions', right, 40, 413],
    ] as const) {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const response = await fetch(`${server.url}${path}`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: Buffer.alloc(bytes * MiB),
        })
        assert.equal(response.status, status, path)
        assert.match(await response.text(), /"error":/)
      }
    }
  })

  test('Large bodies of many accounts – get 503 beyond the limit, and small ones still pass', async (t) => {
    const others = await Promise.all(Array.from({ length: 7 }, () => server.account()))
    const held = others.map((other) => sendPart(t, other, 2 * MiB - 1))
    await waitUntilHeld(7 * (2 * MiB - 1))
    const rejected = await account.post(large)
    assert.equal(rejected.status, 503)
    assert.equal((await readError(rejected)).code, 'service_unavailable')
    assert.equal((await account.post(chatRequest('m'))).status, 200)

    for (const { socket } of held) socket.destroy()
    await waitUntilHeld(0)
    assert.equal((await account.post(large)).status, 200)
  })
})
