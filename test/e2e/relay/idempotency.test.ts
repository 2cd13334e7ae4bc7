// @backend both
/** `Idempotency-Key`: a repeated request gets the first response again and is charged once. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest, type Account } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { finalError, waitForRecord, readError, reportedUsage } from '../../support/client/responses.ts'
import type { ReceivedRequest } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { messagesRequest, postMessages } from '../../support/upstream/anthropic-messages.ts'
import { pauseAfter, paceEvents, truncateAfter, waitFor } from '../../support/upstream/fault-injection.ts'
import {
  respondWithError,
  respondWith,
  respondWithDeltas,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const usage = { input: 1000, output: 100 }
const upstream = await server.upstream(respondWith('Hello, world!', usage))
/** In nanos per token: 2,000 in, 8,000 out. */
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const cost = '0.0028'
const plain = chatRequest('m')
const streamed = chatRequest('m', { stream: true, stream_options: { include_usage: true } })

let keys = 0
const newKey = (): string => `key-${++keys}`

function repeat(account: Account, key: string, body: object | string = plain): Promise<Response> {
  return account.post(body, { headers: { 'idempotency-key': key } })
}

/** The next request that arrives at the upstream from now on. */
async function nextRequest(): Promise<ReceivedRequest> {
  const before = upstream.requests.length
  for (;;) {
    const request = await upstream.nextRequest()
    if (upstream.requests.indexOf(request) >= before) return request
  }
}

/** Replaying a response must not charge again. */
async function assertChargedOnce(account: Account, balance = '1'): Promise<void> {
  assert.equal(parseAmount(await account.balance()), parseAmount(balance) - parseAmount(cost))
  const paid = (await account.requests()).filter((record) => record.outcome !== 'refused')
  assert.equal(paid.length, 1)
}

describe('Idempotency keys', () => {
  test('Same key and body – replays the response with the first request id, without a charge', async () => {
    const account = await server.account({ balance: '¥1' })
    const requestsBefore = upstream.requests.length
    const first = await repeat(account, 'same')
    const again = await repeat(account, 'same')
    assert.equal(again.status, 200)
    assert.equal(first.headers.get('idempotent-replayed'), null)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    for (const name of ['x-request-id', 'x-sluice-cost', 'content-type'])
      assert.equal(again.headers.get(name), first.headers.get(name), name)
    assert.equal(await again.text(), await first.text())
    assert.equal(upstream.requests.length, requestsBefore + 1)
    await assertChargedOnce(account)
  })

  test('Stored stream – is replayed event by event with its original cost', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWithDeltas(200, usage))
    const first = await repeat(account, 'stream', streamed)
    const body = await first.text()
    const again = await repeat(account, 'stream', streamed)
    assert.equal(await again.text(), body)
    assert.equal(again.headers.get('content-type'), first.headers.get('content-type'))
    assert.equal(again.headers.get('x-request-id'), first.headers.get('x-request-id'))
    assert.match(body, /"cost":0\.0028\}/)
    assert.ok(body.endsWith('data: [DONE]\n\n'))
    await assertChargedOnce(account)
  })

  test('100 concurrent requests with one key – cause one upstream request and one charge', async () => {
    const account = await server.account({ balance: '¥1' })
    const key = newKey()
    const requestsBefore = upstream.requests.length
    const resume = Promise.withResolvers<void>()
    upstream.next(waitFor(resume.promise, respondWith('Once.', usage)))
    const first = nextRequest()
    const calls = Array.from({ length: 100 }, () => repeat(account, key))
    await first
    const early = Promise.all(calls.map((call) => Promise.race([call, resume.promise])))
    // All but the running one are rejected.
    let rejected = 0
    for (const call of calls) void call.then(() => ++rejected === 99 && resume.resolve())
    await early
    const responses = await Promise.all(calls)
    const statuses = Object.groupBy(responses, (response) => String(response.status))
    assert.equal(statuses['200']?.length, 1)
    assert.equal(statuses['409']?.length, 99)
    const [one] = statuses['200'] ?? []
    for (const response of statuses['409'] ?? []) {
      const error = await readError(response)
      assert.equal(error.code, 'idempotency_conflict')
      assert.ok(error.message.includes(one?.headers.get('x-request-id') ?? '?'))
      assert.ok(Number(response.headers.get('retry-after')) >= 1)
    }
    assert.equal(upstream.requests.length, requestsBefore + 1)
    const later = await Promise.all(Array.from({ length: 20 }, () => repeat(account, key)))
    const body = await one?.text()
    for (const response of later) assert.equal(await response.text(), body)
    assert.equal(upstream.requests.length, requestsBefore + 1)
    await assertChargedOnce(account)
  })

  test('Same key with another body – is rejected, during the first request and afterwards', async () => {
    const account = await server.account({ balance: '¥1' })
    const resume = Promise.withResolvers<void>()
    upstream.next(waitFor(resume.promise, respondWith('Hello.', usage)))
    const seen = nextRequest()
    const first = repeat(account, 'other')
    await seen
    const early = await repeat(account, 'other', chatRequest('m', { temperature: 1 }))
    assert.equal(early.status, 422)
    assert.equal((await readError(early)).code, 'idempotency_key_reused')
    resume.resolve()
    assert.equal((await first).status, 200)
    // The same request in other bytes is another body.
    const late = await repeat(account, 'other', `${JSON.stringify(plain)} `)
    assert.equal(late.status, 422)
    assert.equal(late.headers.get('x-should-retry'), 'false')
    await assertChargedOnce(account)
  })

  test('Disconnected caller – the response is read to its end and replayed later', async () => {
    for (const body of [plain, streamed, chatRequest('m', { stream: true })]) {
      const account = await server.account({ balance: '¥1' })
      const key = newKey()
      const resume = Promise.withResolvers<void>()
      const script = respondWithDeltas(100, usage)
      upstream.next(
        'stream' in body
          ? pauseAfter(20, resume.promise, paceEvents(script, 1))
          : waitFor(resume.promise, script),
      )
      const seen = nextRequest()
      const disconnect = new AbortController()
      const headers = { 'idempotency-key': key }
      const left = account.post(body, { headers, signal: disconnect.signal })
      const received = await seen
      if ('stream' in body) for await (const event of readEvents(await left)) if (event.includes('w')) break
      disconnect.abort()
      await left.then((response) => response.text()).catch(() => null)
      assert.equal((await repeat(account, key, body)).status, 409)
      resume.resolve()
      await received.over
      assert.equal(received.abortedAt, null)
      await server.assertNoOpenHolds()
      const response = await repeat(account, key, body)
      assert.equal(response.headers.get('idempotent-replayed'), 'true')
      assert.ok((await response.text()).includes(' w100'))
      assert.equal((await waitForRecord(account, response)).outcome, 'aborted')
      await assertChargedOnce(account)
    }
  })

  test('Caller disconnected before the first content – the response is stored as well', async () => {
    const account = await server.account({ balance: '¥1' })
    const resume = Promise.withResolvers<void>()
    upstream.next(waitFor(resume.promise, respondWith('Late.', usage)))
    const seen = nextRequest()
    const disconnect = new AbortController()
    const headers = { 'idempotency-key': 'early-disconnect' }
    const left = assert.rejects(account.post(streamed, { headers, signal: disconnect.signal }))
    const received = await seen
    disconnect.abort()
    await left
    resume.resolve()
    await received.over
    await server.assertNoOpenHolds()
    const payloads = await readPayloads(await repeat(account, 'early-disconnect', streamed))
    assert.equal(reportedUsage(payloads)[0]?.['cost'], 0.0028)
    await assertChargedOnce(account)
  })

  test('Request without a cost – releases its key, whether it failed upstream or was rejected', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const body of [plain, streamed]) {
      const key = newKey()
      upstream.next(respondWithError(400), respondWithError(500))
      assert.equal((await repeat(account, key, body)).status, 400)
      assert.equal((await repeat(account, key, body)).status, 503)
      // No response is stored for this key, so another body is accepted.
      assert.equal((await repeat(account, key, { ...body, temperature: 1 })).status, 200)
    }
    const poor = await server.account()
    assert.equal((await repeat(poor, 'poor')).status, 402)
    await poor.credit('¥1')
    assert.equal((await repeat(poor, 'poor')).status, 200)
  })

  test('Truncated and charged stream – is replayed with the same events and the same error', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(truncateAfter(30, 'reset', respondWithDeltas(100, usage)))
    const first = await readPayloads(await repeat(account, 'broken', streamed))
    const requestsBefore = upstream.requests.length
    const again = await readPayloads(await repeat(account, 'broken', streamed))
    assert.deepEqual(again, first)
    assert.equal(finalError(again).code, 'upstream_unavailable')
    assert.equal(upstream.requests.length, requestsBefore)
  })

  test('Response above 1 MiB – is charged, not stored, and repeating it returns 409', async () => {
    for (const body of [plain, streamed]) {
      const account = await server.account({ balance: '¥10' })
      const key = newKey()
      upstream.next(respondWith('x'.repeat(1024 * 1024), usage))
      const first = await repeat(account, key, body)
      assert.equal(first.status, 200)
      assert.ok((await first.text()).length > 1024 * 1024)
      const again = await repeat(account, key, body)
      assert.equal(again.status, 409)
      assert.equal(again.headers.get('x-should-retry'), 'false')
      const { code, message } = await readError(again)
      assert.equal(code, 'idempotency_conflict')
      assert.ok(message.includes(first.headers.get('x-request-id') ?? '?'))
      await assertChargedOnce(account, '10')
    }
  })

  test('Response of almost 1 MiB – is stored', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWith('é'.repeat(500 * 1024), usage))
    const first = await (await repeat(account, 'large', plain)).text()
    assert.ok((await (await repeat(account, 'large', plain)).text()) === first)
    await assertChargedOnce(account)
  })

  test('Replay – uses no rate limit, no cap and no balance', async () => {
    const account = await server.account({ balance: cost })
    await account.change({ limits: { rpm: 1, rpd: 1, concurrency: 1 } })
    const first = await repeat(account, 'limited')
    assert.equal(first.status, 200, await first.clone().text())
    assert.equal(Number(await account.balance()), 0)
    for (let time = 0; time < 3; time += 1) {
      const again = await repeat(account, 'limited')
      assert.equal(again.status, 200)
      assert.equal(again.headers.get('x-ratelimit-remaining-requests'), null)
    }
    assert.equal((await repeat(account, newKey())).status, 429)
  })

  test('Idempotency key – belongs to the account, not to one of its API keys', async () => {
    const account = await server.account({ balance: '¥1' })
    const other = await server.account({ balance: '¥1' })
    const first = await repeat(account, 'mine')
    await account.newKey()
    assert.equal((await repeat(account, 'mine')).headers.get('idempotent-replayed'), 'true')
    const theirs = await repeat(other, 'mine')
    assert.equal(theirs.headers.get('idempotent-replayed'), null)
    assert.notEqual(theirs.headers.get('x-request-id'), first.headers.get('x-request-id'))
    await assertChargedOnce(account)
    await assertChargedOnce(other)
  })

  test('Idempotency-Key header – accepts 1 to 255 visible characters, rejects others by name', async () => {
    const account = await server.account({ balance: '¥1' })
    assert.equal((await repeat(account, 'k'.repeat(255))).status, 200)
    for (const key of ['', 'k'.repeat(256), 'two words', 'schlüssel']) {
      const response = await repeat(account, key)
      assert.equal(response.status, 400)
      assert.equal((await readError(response)).param, 'Idempotency-Key')
    }
    await assertChargedOnce(account)
  })

  test('Messages API – replays messages and streams, and a key belongs to one endpoint', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const stream of [false, true]) {
      const message = messagesRequest('m', { stream })
      const headers = { 'idempotency-key': newKey() }
      const first = await postMessages(account, message, { headers })
      const body = await first.text()
      assert.equal(first.status, 200, body)
      const again = await postMessages(account, message, { headers })
      assert.equal(await again.text(), body)
      for (const name of ['request-id', 'x-request-id'])
        assert.equal(again.headers.get(name), first.headers.get(name), name)
      assert.equal((await account.post(message, { headers })).status, 422)
    }
  })
})
