// @backend both (cluster in long runs)
/** WebSockets of the Responses API: handshakes, frames that are no requests, and how connections and responses end. */
import assert from 'node:assert/strict'
import { Agent, get, request } from 'node:http'
import type { Socket } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { describe, test, type TestContext } from 'node:test'

import { waitForNewestRecord } from '../../support/client/responses.ts'
import { responsesRequest, textOf } from '../../support/client/responses-api.ts'
import { rejectedHandshake, ResponsesSocket } from '../../support/client/responses-websocket.ts'
import type { Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { neverRespond, truncateAfter, waitFor } from '../../support/upstream/fault-injection.ts'
import { respondNatively } from '../../support/upstream/native-responses.ts'
import {
  numberedWords,
  respondWith,
  respondWithDeltas,
  respondWithFlood,
} from '../../support/upstream/scripted-responses.ts'

const MiB = 2 ** 20
const bodyLimit = 64 * 1024
const server = await sharedTestServer({ env: { BODY_LIMIT: '64KiB', SLOW_CLIENT_TIMEOUT: '2s' } })
const native = await server.upstream(respondNatively('Hello!'), { speaks: ['responses'] })
const chat = await server.upstream(respondWith('Hello!'))
await server.model('native', { upstreams: [native], prices: ['0.002', '0.008'] })
await server.model('chat', { upstreams: [chat] })
const alice = await server.account({ balance: '¥10' })

async function open(t: TestContext, account: Account = alice): Promise<ResponsesSocket> {
  const socket = await ResponsesSocket.open(server.url, account.key.secret)
  t.after(() => socket.webSocket.terminate())
  return socket
}

function bearer({ key }: Account): { authorization: string } {
  return { authorization: `Bearer ${key.secret}` }
}

describe('WebSocket handshake', () => {
  test('Rejected caller – gets the status, and an error as JSON', async () => {
    const suspended = await server.account({ balance: '¥1' })
    await suspended.change({ status: 'suspended' })
    const elsewhere = await server.account({ key: { ips: ['192.0.2.0/24'] } })
    for (const [headers, status, code] of [
      [{}, 401, 'invalid_api_key'],
      [{ authorization: 'Bearer sk-nobody' }, 401, 'invalid_api_key'],
      [bearer(suspended), 403, 'account_suspended'],
      [bearer(elsewhere), 403, 'address_not_allowed'],
    ] as const) {
      const rejected = await rejectedHandshake(server.url, headers)
      assert.deepEqual([rejected.status, rejected.error.code], [status, code])
    }
  })

  test('Key in x-api-key – is accepted', async (t) => {
    const headers = { 'x-api-key': alice.key.secret, authorization: 'Bearer other' }
    const socket = await ResponsesSocket.open(server.url, '', { headers })
    t.after(() => socket.webSocket.terminate())
    await socket.respond(responsesRequest('chat'))
  })

  test('Kept-alive connection – can become a WebSocket after other requests', async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const sockets = new Set<Socket>()
    for (let i = 0; i < 2; i++) {
      const { promise, resolve } = Promise.withResolvers<string>()
      const headers = { ...bearer(alice), 'content-type': 'application/json' }
      const outgoing = request(
        `${server.url}/v1/responses`,
        { agent, method: 'POST', headers },
        (response) => {
          void readText(response).then(resolve)
        },
      )
      outgoing.on('socket', (socket) => sockets.add(socket))
      outgoing.end(JSON.stringify(responsesRequest('chat')))
      assert.match(await promise, /Hello!/)
    }
    const socket = await ResponsesSocket.open(server.url, alice.key.secret, { agent })
    t.after(() => socket.webSocket.terminate())
    socket.webSocket.once('upgrade', (response) => sockets.add(response.socket))
    await socket.respond(responsesRequest('chat'))
    assert.equal(sockets.size, 1)
  })

  test('Other upgrades – are ordinary requests; a malformed handshake is 400', async () => {
    for (const [path, upgrade, status] of [
      ['/v1/models', 'websocket', 200],
      ['/v1/responses', 'h2c', 405],
      ['/v1/responses', 'websocket', 400],
    ] as const) {
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
      const headers = { ...bearer(alice), connection: 'Upgrade', upgrade, 'sec-websocket-key': 'AAAA' }
      get(`${server.url}${path}`, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).on('error', reject)
      assert.equal(await promise, status)
    }
  })
})

describe('WebSocket frames', () => {
  test('Frame that is no request – has an error, and the socket stays open', async (t) => {
    const socket = await open(t)
    for (const [frame, code, param] of [
      ['{', 'invalid_json', null],
      ['[]', 'invalid_request', null],
      [Buffer.from('{}'), 'invalid_request', null],
      ['{}', 'invalid_request', 'type'],
      ['{"type":"response.append","stream_id":"a"}', 'invalid_request', 'type'],
      ['{"type":"response.create"}', 'invalid_request', 'model'],
      ['{"type":"response.create","stream_id":""}', 'invalid_stream_id', 'stream_id'],
      ['{"type":"response.create","stream_id":7}', 'invalid_stream_id', 'stream_id'],
      ['{"type":"response.create","generate":0}', 'invalid_request', 'generate'],
    ] as const) {
      socket.send(frame)
      const { status, error, stream_id: streamId } = await socket.error()
      assert.deepEqual([status, error.code, error.param], [400, code, param])
      assert.equal(streamId, String(frame).includes('"a"') ? 'a' : undefined)
    }
    const { error } = await socket.fail(responsesRequest('chat', { background: true }))
    assert.equal(error.param, 'background')
    await socket.respond(responsesRequest('chat'))
  })

  test('Frame beyond BODY_LIMIT – closes the connection with 1009', async (t) => {
    const socket = await open(t)
    await socket.respond(responsesRequest('chat', { input: 'x'.repeat(bodyLimit - 200) }))
    socket.create(responsesRequest('chat', { input: 'x'.repeat(bodyLimit) }))
    assert.equal(await socket.closed, 1009)
  })

  test('Conversation beyond BODY_LIMIT – is 413, and forgotten', async (t) => {
    const socket = await open(t)
    const input = 'x'.repeat(bodyLimit / 2)
    const { id } = await socket.respond(responsesRequest('chat', { input }))
    const failed = await socket.fail(responsesRequest('chat', { input, previous_response_id: id }))
    assert.deepEqual([failed.status, failed.error.code], [413, 'request_too_large'])
    const again = await socket.fail(responsesRequest('chat', { previous_response_id: id }))
    assert.equal(again.error.code, 'previous_response_not_found')
  })

  test('More than 16 responses at once – are rejected', async (t) => {
    const socket = await open(t)
    chat.next(...Array.from({ length: 16 }, () => neverRespond))
    const received = Array.from({ length: 16 }, () => chat.nextRequest())
    for (let i = 0; i < 16; i++) socket.create(responsesRequest('chat', { stream_id: `lane-${i}` }))
    await Promise.all(received)
    const { error } = await socket.fail(responsesRequest('chat', { stream_id: 'another' }))
    assert.equal(error.code, 'websocket_stream_limit_reached')
  })

  test('Errors of the request – are those of HTTP', async (t) => {
    const poor = await server.account()
    const socket = await open(t, poor)
    const broke = await socket.fail(responsesRequest('chat'))
    assert.deepEqual([broke.status, broke.error.code], [402, 'insufficient_quota'])
    assert.equal(broke.headers?.['x-should-retry'], 'false')
    const limited = await server.account({ balance: '¥1', key: { limits: { rpm: 1 } } })
    const other = await open(t, limited)
    await other.respond(responsesRequest('chat'))
    const tooMany = await other.fail(responsesRequest('chat'))
    assert.deepEqual([tooMany.status, tooMany.error.code], [429, 'rate_limit_exceeded'])
    assert.match(tooMany.headers?.['retry-after'] ?? '', /^\d+$/)
  })
})

describe('WebSocket responses that end early', () => {
  test('Balance that ends – ends the response with insufficient_quota', async (t) => {
    const poor = await server.account({ balance: '¥0.002' })
    const socket = await open(t, poor)
    native.next(truncateAfter(200, 'hang', respondNatively(...(Array(250).fill('more words ') as string[]))))
    socket.create(responsesRequest('native'))
    const frames = await socket.frames()
    assert.deepEqual(
      frames.slice(-2).map(({ type }) => type),
      ['error', 'response.failed'],
    )
    assert.equal(frames.at(-1)?.response?.error?.code, 'insufficient_quota')
    assert.equal((await waitForNewestRecord(poor)).outcome, 'ended')
  })

  for (const model of ['native', 'chat']) {
    test(`Caller that disconnects – aborts the running response (${model})`, async (t) => {
      const bob = await server.account({ balance: '¥1' })
      const socket = await open(t, bob)
      const upstream = model === 'native' ? native : chat
      const script = model === 'native' ? respondNatively(...numberedWords(50)) : respondWithDeltas(50)
      upstream.next(truncateAfter(20, 'hang', script))
      const received = upstream.nextRequest()
      socket.create(responsesRequest(model))
      while ((await socket.next()).type !== 'response.output_text.delta');
      socket.webSocket.terminate()
      const { over } = await received
      await over
      assert.notEqual((await received).abortedAt, null)
      const { outcome, cost } = await waitForNewestRecord(bob)
      assert.equal(outcome, 'aborted')
      assert.ok(Number(cost) > 0)
    })
  }

  test('Client that does not read – stops the upstream, and is disconnected', async (t) => {
    const bob = await server.account({ balance: '¥1000' })
    const socket = await open(t, bob)
    const received = chat.nextRequest()
    chat.next(respondWithFlood(100 * MiB))
    socket.webSocket.pause()
    socket.create(responsesRequest('chat'))
    const request = await received
    await request.over
    assert.notEqual(request.abortedAt, null)
    assert.ok(request.bytesSent < 30 * MiB, `${request.bytesSent} bytes were taken from the upstream`)
    assert.equal((await waitForNewestRecord(bob)).outcome, 'aborted')
  })
})

describe('WebSocket connections that end', () => {
  test('Key that is deleted – closes an idle connection within seconds, with an error', async (t) => {
    const bob = await server.account({ balance: '¥1' })
    const socket = await open(t, bob)
    await socket.respond(responsesRequest('chat'))
    await server.admin('DELETE', `/keys/${bob.key.id}`)
    const { status, error } = await socket.error()
    assert.deepEqual([status, error.code], [401, 'invalid_api_key'])
    assert.equal(await socket.closed, 1008)
  })

  test('Key that is disabled – lets the running response end, and no other one begin', async (t) => {
    const bob = await server.account({ balance: '¥1' })
    const socket = await open(t, bob)
    const resume = Promise.withResolvers<void>()
    chat.next(waitFor(resume.promise, respondWith('Hello to the end.')))
    const received = chat.nextRequest()
    socket.create(responsesRequest('chat', { stream_id: 'running' }))
    await received
    await server.admin('PATCH', `/keys/${bob.key.id}`, { status: 'disabled' })
    const { error } = await socket.fail(responsesRequest('chat', { stream_id: 'next' }))
    assert.equal(error.code, 'invalid_api_key')
    resume.resolve()
    assert.equal((await socket.last()).response?.output.map(textOf).join(''), 'Hello to the end.')
    assert.equal((await socket.error()).error.code, 'invalid_api_key')
    assert.equal(await socket.closed, 1008)
  })
})
