/** What goes wrong between relay and upstream, and what callers, the ledger and the next upstream see of it. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { lastError, recordOf, refusalIn, wordsOf } from './support/client/responses.ts'
import { brokenTls, connectionRefusedUrl, unresolvableUrl } from './support/upstream/unreachable-addresses.ts'
import type { Script } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import type { KnownUpstream } from './support/server/test-server.ts'
import { cutOff, failingAfter, garbage, hangingUp, truncating } from './support/upstream/fault-injection.ts'
import {
  failing,
  failingInside,
  json,
  redirecting,
  saying,
  sayingMany,
} from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const usage = { input: 10, output: 5 }
const usual = saying('Hello from the first!', usage)
const primary = await house.upstream(usual)
beforeEach(() => void primary.always(usual))
const secondary = await house.upstream(saying('Hello from the second!', usage))
await house.model('alone', { upstreams: [primary] })
await house.model('both', { upstreams: [primary, secondary] })
/** What the answers above cost at ¥0.002 per 1,000 tokens. */
const price = nanosOf('0.00003')

/** Counts the calls that reach the upstream from now on. */
function callsSince(upstream: KnownUpstream): () => number {
  const before = upstream.requests.length
  return () => upstream.requests.length - before
}

for (const how of ['end', 'reset'] as const) {
  test(`a stream that stops without its end (${how}) ends with an error, never as done, and is told as truncated`, async () => {
    const account = await house.account({ balance: '¥1' })
    primary.next(truncating(4, how, sayingMany(9, usage)))
    const seconds = callsSince(secondary)
    const reply = await account.post(question('both', { stream: true }))
    const payloads = await payloadsOf(reply)

    assert.equal(wordsOf(payloads), ' w1 w2 w3')
    const error = lastError(payloads)
    assert.deepEqual([error.type, error.code], ['server_error', 'upstream_unavailable'])
    assert.equal(seconds(), 0, 'nobody is asked again after the first word')
    const record = await recordOf(account, reply)
    assert.deepEqual([record.outcome, record.usage_source], ['truncated', 'estimate'])
    assert.deepEqual([record.prompt_tokens, record.completion_tokens], [3, 3])
    assert.equal(nanosOf(record.cost), 12_000n)
    assert.equal(nanosOf(await account.balance()), nanosOf('1') - 12_000n)
  })
}

test('an error event in the middle of a stream ends it with an error of the format, without the words of the upstream', async () => {
  const account = await house.account({ balance: '¥1' })
  primary.next(failingAfter(3, { message: 'sk-upstream is out of credit', code: 'broken' }, sayingMany(9)))
  const payloads = await payloadsOf(await account.post(question('alone', { stream: true })))
  assert.equal(wordsOf(payloads), ' w1 w2')
  assert.equal(lastError(payloads).code, 'upstream_unavailable')
  assert.ok(!payloads.at(-1)?.includes('credit'))
})

const [whole, streamed, either] = [[false], [true], [false, true]]
/** Ways to fail before the first content, for whole answers and streams. */
const early: Record<string, [Script, boolean[]]> = {
  'hangs up': [hangingUp, either],
  'answers 500': [failing(500), either],
  'answers 401': [failing(401), either],
  'answers 429': [failing(429, undefined, { 'retry-after': '7' }), either],
  'answers 404': [failing(404), either],
  redirects: [redirecting('http://127.0.0.1:1/v1'), either],
  'answers garbage': [garbage, either],
  'tells an error under 200': [failingInside(), either],
  'ends before its first content': [truncating(1, 'end', saying('x')), streamed],
  'breaks off before its first content': [truncating(1, 'reset', saying('x')), streamed],
  'breaks off in the middle of a whole answer': [cutOff(40, saying('x'.repeat(500))), whole],
}

for (const [name, [script, manners]] of Object.entries(early)) {
  test(`an upstream that ${name} is replaced, and the caller notices nothing`, async () => {
    const account = await house.account({ balance: '¥1' })
    for (const stream of manners) {
      // One of its own: an upstream that has failed is not asked for a while.
      const down = await house.upstream(script)
      const model = `with-${down.id}`
      await house.model(model, { upstreams: [down, secondary] })
      const reply = await account.post(question(model, { stream }))
      assert.equal(reply.status, 200)
      const text = stream ? wordsOf(await payloadsOf(reply)) : await reply.text()
      assert.match(text, /Hello from the second!/)
      const record = await recordOf(account, reply)
      assert.deepEqual([record.outcome, record.upstream, nanosOf(record.cost)], ['ok', secondary.id, price])
      assert.deepEqual(
        record.attempts.map((attempt) => [attempt.upstream, attempt.outcome]),
        [
          [down.id, 'failed'],
          [secondary.id, 'ok'],
        ],
      )
    }
  })
}

test('of many upstreams that fail, three are asked, each once, in their order', async () => {
  const five = []
  for (let count = 0; count < 5; count++) five.push(await house.upstream(failing(500)))
  await house.model('five', { upstreams: five })
  const account = await house.account({ balance: '¥1' })
  const reply = await account.post(question('five'))
  assert.equal(reply.status, 503)
  const { attempts } = await recordOf(account, reply)
  assert.deepEqual(
    attempts.map((attempt) => attempt.upstream),
    five.slice(0, 3).map(({ id }) => id),
  )
  assert.deepEqual(
    five.map(({ requests }) => requests.length),
    [1, 1, 1, 0, 0],
  )
})

test('an error under 200 that nobody can make good is a real error, and costs nothing', async () => {
  const account = await house.account({ balance: '¥1' })
  const insides: [Record<string, unknown>, number, string][] = [
    [{ message: 'overloaded' }, 503, 'upstream_unavailable'],
    [{ message: 'slow down', code: 429 }, 429, 'rate_limit_exceeded'],
    [{ message: 'no such image', status: 400 }, 400, 'invalid_request'],
  ]
  for (const [error, status, code] of insides) {
    for (const stream of [true, false]) {
      primary.next(failingInside(error))
      const reply = await account.post(question('alone', { stream }))
      assert.equal(reply.status, status)
      assert.equal((await refusalIn(reply)).code, code)
      const record = await recordOf(account, reply)
      assert.deepEqual([record.outcome, record.http_status, Number(record.cost)], ['failed', status, 0])
    }
  }
  assert.equal(await account.balance(), '1')
})

for (const status of [400, 404, 413, 422]) {
  test(`an upstream's ${status} is the caller's, with its words, its field and its code, without our secrets`, async () => {
    const account = await house.account({ balance: '¥1' })
    const message = 'The image at sk-upstream is too large.'
    const error = { message, type: 'invalid_request_error', param: 'messages[0]', code: 'image_too_large' }
    primary.next(failing(status, { error }))
    const reply = await account.post(question('alone', { stream: status === 404 }))
    assert.equal(reply.status, status)
    assert.deepEqual(await refusalIn(reply), { ...error, message: 'The image at [removed] is too large.' })
    assert.equal(await account.balance(), '1')
  })
}

for (const status of [400, 413, 422]) {
  test(`what an upstream refuses with ${status} is not asked of another`, async () => {
    const account = await house.account({ balance: '¥1' })
    primary.next(failing(status))
    const seconds = callsSince(secondary)
    assert.equal((await account.post(question('both'))).status, status)
    assert.equal(seconds(), 0)
  })
}

const ours: Record<string, Script> = {
  ...Object.fromEntries(
    [401, 402, 403, 500, 502, 503, 529].map((status) => [String(status), failing(status)]),
  ),
  '302': redirecting('http://127.0.0.1:1/v1'),
  '204': json(204, ''),
  'no answer': hangingUp,
  'JSON of another shape': json(200, '[1, 2]'),
  'a web page': json(200, '<html>Hello</html>', { 'content-type': 'text/html' }),
}

for (const [name, script] of Object.entries(ours)) {
  test(`${name} from the only upstream becomes 503 upstream_unavailable, to be tried again, at no cost`, async () => {
    const account = await house.account({ balance: '¥1' })
    primary.always(script)
    for (const stream of [false, true]) {
      const reply = await account.post(question('alone', { stream }))
      assert.equal(reply.status, 503)
      assert.ok(Number(reply.headers.get('retry-after')) >= 1)
      assert.ok(Number(reply.headers.get('retry-after-ms')) >= 1)
      assert.notEqual(reply.headers.get('x-should-retry'), 'false')
      const error = await refusalIn(reply)
      assert.deepEqual([error.type, error.code, error.param], ['server_error', 'upstream_unavailable', null])
    }
    assert.equal(await account.balance(), '1')
  })
}

test('an upstream that is too busy is a 429 with the time that it names', async () => {
  const account = await house.account({ balance: '¥1' })
  primary.next(failing(429, undefined, { 'retry-after': '7' }))
  const reply = await account.post(question('alone'))
  assert.equal(reply.status, 429)
  assert.deepEqual([reply.headers.get('retry-after'), reply.headers.get('retry-after-ms')], ['7', '7000'])
  const error = await refusalIn(reply)
  assert.deepEqual([error.type, error.code], ['rate_limit_error', 'rate_limit_exceeded'])
})

test('addresses that lead nowhere are 503, hold nothing and cost nothing', async (t) => {
  const tls = await brokenTls()
  t.after(() => tls.close())
  const account = await house.account({ balance: '¥1' })
  for (const [index, url] of [await connectionRefusedUrl(), unresolvableUrl, tls.url].entries()) {
    await house.model(`nowhere-${index}`, { upstreams: [await house.upstreamAt(url)] })
    for (const stream of [false, true]) {
      const reply = await account.post(question(`nowhere-${index}`, { stream }))
      assert.equal(reply.status, 503, url)
      assert.equal((await refusalIn(reply)).code, 'upstream_unavailable')
    }
  }
  await house.nothingHeld()
  assert.equal(await account.balance(), '1')
})
