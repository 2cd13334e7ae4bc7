/** `Idempotency-Key`: a request that is repeated is answered what it was answered first, and charged once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question, type Account } from './support/server/account.ts'
import { eventsOf, lastError, recordOf, refusalIn, usagesIn } from './support/client/responses.ts'
import type { Received } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import { ask, send } from './support/upstream/anthropic-messages.ts'
import { pausingAfter, slow, truncating, waitingFor } from './support/upstream/fault-injection.ts'
import { failing, saying, sayingMany } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const usage = { input: 1000, output: 100 }
const upstream = await house.upstream(saying('Hello, world!', usage))
/** In nanos per token: 2,000 in, 8,000 out. */
await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const cost = '0.0028'
const whole = question('m')
const streamed = question('m', { stream: true, stream_options: { include_usage: true } })

let keys = 0
const newKey = (): string => `key-${++keys}`

function repeat(account: Account, key: string, body: object | string = whole): Promise<Response> {
  return account.post(body, { headers: { 'idempotency-key': key } })
}

/** The next request that arrives at the upstream, whoever has seen those before. */
async function nextRequest(): Promise<Received> {
  const before = upstream.requests.length
  for (;;) {
    const request = await upstream.sawRequest()
    if (upstream.requests.indexOf(request) >= before) return request
  }
}

/** What a relay that answers once more has to leave as it is. */
async function spentOnce(account: Account, balance = '1'): Promise<void> {
  assert.equal(nanosOf(await account.balance()), nanosOf(balance) - nanosOf(cost))
  const paid = (await account.requests()).filter((record) => record.outcome !== 'refused')
  assert.equal(paid.length, 1)
}

test('the same key and body answer the same once more, under the first request’s id, and nothing is charged', async () => {
  const account = await house.account({ balance: '¥1' })
  const asked = upstream.requests.length
  const first = await repeat(account, 'same')
  const again = await repeat(account, 'same')
  assert.equal(again.status, 200)
  assert.equal(first.headers.get('idempotent-replayed'), null)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  for (const name of ['x-request-id', 'x-sluice-cost', 'content-type'])
    assert.equal(again.headers.get(name), first.headers.get(name), name)
  assert.equal(await again.text(), await first.text())
  assert.equal(upstream.requests.length, asked + 1)
  await spentOnce(account)
})

test('a stream is given once more event by event, with the price that it had', async () => {
  const account = await house.account({ balance: '¥1' })
  upstream.next(sayingMany(200, usage))
  const first = await repeat(account, 'stream', streamed)
  const told = await first.text()
  const again = await repeat(account, 'stream', streamed)
  assert.equal(await again.text(), told)
  assert.equal(again.headers.get('content-type'), first.headers.get('content-type'))
  assert.equal(again.headers.get('x-request-id'), first.headers.get('x-request-id'))
  assert.match(told, /"cost":0\.0028\}/)
  assert.ok(told.endsWith('data: [DONE]\n\n'))
  await spentOnce(account)
})

test('a hundred calls at once under one key, over two workers, are one call upstream and one charge', async () => {
  const account = await house.account({ balance: '¥1' })
  const key = newKey()
  const asked = upstream.requests.length
  const word = Promise.withResolvers<void>()
  upstream.next(waitingFor(word.promise, saying('Once.', usage)))
  const first = nextRequest()
  const calls = Array.from({ length: 100 }, () => repeat(account, key))
  await first
  const early = Promise.all(calls.map((call) => Promise.race([call, word.promise])))
  // All but the one that waits have been told that it runs.
  let refused = 0
  for (const call of calls) void call.then(() => ++refused === 99 && word.resolve())
  await early
  const replies = await Promise.all(calls)
  const statuses = Object.groupBy(replies, (reply) => String(reply.status))
  assert.equal(statuses['200']?.length, 1)
  assert.equal(statuses['409']?.length, 99)
  const [one] = statuses['200'] ?? []
  for (const reply of statuses['409'] ?? []) {
    const error = await refusalIn(reply)
    assert.equal(error.code, 'idempotency_conflict')
    assert.ok(error.message.includes(one?.headers.get('x-request-id') ?? '?'))
    assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  }
  assert.equal(upstream.requests.length, asked + 1)
  const later = await Promise.all(Array.from({ length: 20 }, () => repeat(account, key)))
  const body = await one?.text()
  for (const reply of later) assert.equal(await reply.text(), body)
  assert.equal(upstream.requests.length, asked + 1)
  await spentOnce(account)
})

test('the same key with another body is refused, while the first runs and afterwards', async () => {
  const account = await house.account({ balance: '¥1' })
  const word = Promise.withResolvers<void>()
  upstream.next(waitingFor(word.promise, saying('Hello.', usage)))
  const seen = nextRequest()
  const first = repeat(account, 'other')
  await seen
  const early = await repeat(account, 'other', question('m', { temperature: 1 }))
  assert.equal(early.status, 422)
  assert.equal((await refusalIn(early)).code, 'idempotency_key_reused')
  word.resolve()
  assert.equal((await first).status, 200)
  // The same question in other bytes is another body.
  const late = await repeat(account, 'other', `${JSON.stringify(whole)} `)
  assert.equal(late.status, 422)
  assert.equal(late.headers.get('x-should-retry'), 'false')
  await spentOnce(account)
})

test('a caller who leaves is drained, and gets the whole answer when it comes back', async () => {
  for (const body of [whole, streamed, question('m', { stream: true })]) {
    const account = await house.account({ balance: '¥1' })
    const key = newKey()
    const word = Promise.withResolvers<void>()
    const script = sayingMany(100, usage)
    upstream.next(
      'stream' in body ? pausingAfter(20, word.promise, slow(script, 1)) : waitingFor(word.promise, script),
    )
    const seen = nextRequest()
    const leaving = new AbortController()
    const headers = { 'idempotency-key': key }
    const left = account.post(body, { headers, signal: leaving.signal })
    const received = await seen
    if ('stream' in body) for await (const event of eventsOf(await left)) if (event.includes('w')) break
    leaving.abort()
    await left.then((reply) => reply.text()).catch(() => null)
    assert.equal((await repeat(account, key, body)).status, 409)
    word.resolve()
    await received.over
    assert.equal(received.abortedAt, null)
    await house.nothingHeld()
    const reply = await repeat(account, key, body)
    assert.equal(reply.headers.get('idempotent-replayed'), 'true')
    assert.ok((await reply.text()).includes(' w100'))
    assert.equal((await recordOf(account, reply)).outcome, 'aborted')
    await spentOnce(account)
  }
})

test('a caller who leaves before the first content is drained as well', async () => {
  const account = await house.account({ balance: '¥1' })
  const word = Promise.withResolvers<void>()
  upstream.next(waitingFor(word.promise, saying('Late.', usage)))
  const seen = nextRequest()
  const leaving = new AbortController()
  const headers = { 'idempotency-key': 'early-leaver' }
  const left = assert.rejects(account.post(streamed, { headers, signal: leaving.signal }))
  const received = await seen
  leaving.abort()
  await left
  word.resolve()
  await received.over
  await house.nothingHeld()
  const payloads = await payloadsOf(await repeat(account, 'early-leaver', streamed))
  assert.equal(usagesIn(payloads)[0]?.['cost'], 0.0028)
  await spentOnce(account)
})

test('a call that cost nothing leaves its key free: failed at the upstream, or refused here', async () => {
  const account = await house.account({ balance: '¥1' })
  for (const body of [whole, streamed]) {
    const key = newKey()
    upstream.next(failing(400), failing(500))
    assert.equal((await repeat(account, key, body)).status, 400)
    assert.equal((await repeat(account, key, body)).status, 503)
    // Nothing was said under this key, so another body is as good.
    assert.equal((await repeat(account, key, { ...body, temperature: 1 })).status, 200)
  }
  const poor = await house.account()
  assert.equal((await repeat(poor, 'poor')).status, 402)
  await poor.credit('¥1')
  assert.equal((await repeat(poor, 'poor')).status, 200)
})

test('a stream that broke off and was charged is what its key means: the same events and the same error', async () => {
  const account = await house.account({ balance: '¥1' })
  upstream.next(truncating(30, 'reset', sayingMany(100, usage)))
  const first = await payloadsOf(await repeat(account, 'broken', streamed))
  const asked = upstream.requests.length
  const again = await payloadsOf(await repeat(account, 'broken', streamed))
  assert.deepEqual(again, first)
  assert.equal(lastError(again).code, 'upstream_unavailable')
  assert.equal(upstream.requests.length, asked)
})

test('an answer larger than 1 MiB is charged once and not kept: 409 with the request’s id, and no sense in retrying', async () => {
  for (const body of [whole, streamed]) {
    const account = await house.account({ balance: '¥10' })
    const key = newKey()
    upstream.next(saying('x'.repeat(1024 * 1024), usage))
    const first = await repeat(account, key, body)
    assert.equal(first.status, 200)
    assert.ok((await first.text()).length > 1024 * 1024)
    const again = await repeat(account, key, body)
    assert.equal(again.status, 409)
    assert.equal(again.headers.get('x-should-retry'), 'false')
    const { code, message } = await refusalIn(again)
    assert.equal(code, 'idempotency_conflict')
    assert.ok(message.includes(first.headers.get('x-request-id') ?? '?'))
    await spentOnce(account, '10')
  }
})

test('an answer of nearly 1 MiB is kept', async () => {
  const account = await house.account({ balance: '¥1' })
  upstream.next(saying('é'.repeat(500 * 1024), usage))
  const first = await (await repeat(account, 'large', whole)).text()
  assert.ok((await (await repeat(account, 'large', whole)).text()) === first)
  await spentOnce(account)
})

test('repeating asks nothing of limits, caps or the balance', async () => {
  const account = await house.account({ balance: cost })
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

test('a key is its account’s: every key of the account may repeat with it, another account is another one', async () => {
  const account = await house.account({ balance: '¥1' })
  const other = await house.account({ balance: '¥1' })
  const first = await repeat(account, 'mine')
  await account.newKey()
  assert.equal((await repeat(account, 'mine')).headers.get('idempotent-replayed'), 'true')
  const theirs = await repeat(other, 'mine')
  assert.equal(theirs.headers.get('idempotent-replayed'), null)
  assert.notEqual(theirs.headers.get('x-request-id'), first.headers.get('x-request-id'))
  await spentOnce(account)
  await spentOnce(other)
})

test('a key of 1 to 255 visible characters is taken, any other is refused by name', async () => {
  const account = await house.account({ balance: '¥1' })
  assert.equal((await repeat(account, 'k'.repeat(255))).status, 200)
  for (const key of ['', 'k'.repeat(256), 'two words', 'schlüssel']) {
    const reply = await repeat(account, key)
    assert.equal(reply.status, 400)
    assert.equal((await refusalIn(reply)).param, 'Idempotency-Key')
  }
  await spentOnce(account)
})

test('other formats have it too: a message and its stream are told once more, and a key is its endpoint’s', async () => {
  const account = await house.account({ balance: '¥1' })
  for (const stream of [false, true]) {
    const body = ask('m', { stream })
    const headers = { 'idempotency-key': newKey() }
    const first = await send(account, body, { headers })
    const told = await first.text()
    assert.equal(first.status, 200, told)
    const again = await send(account, body, { headers })
    assert.equal(await again.text(), told)
    for (const name of ['request-id', 'x-request-id'])
      assert.equal(again.headers.get(name), first.headers.get(name), name)
    assert.equal((await account.post(body, { headers })).status, 422)
  }
})
