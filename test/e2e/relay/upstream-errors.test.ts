// @backend both (cluster in long runs)
/** Errors between relay and upstream, and what callers, the ledger and the next upstream see of them. */

import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { finalError, waitForRecord, readError, streamedText } from '../../support/client/responses.ts'
import {
  brokenTls,
  connectionRefusedUrl,
  unresolvableUrl,
} from '../../support/upstream/unreachable-addresses.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { RegisteredUpstream } from '../../support/server/test-server.ts'
import {
  resetAfterBytes,
  failAfter,
  respondWithGarbage,
  resetConnection,
  truncateAfter,
} from '../../support/upstream/fault-injection.ts'
import {
  respondWithError,
  respondWithErrorInside200,
  respondWithJson,
  respondWithRedirect,
  respondWith,
  respondWithDeltas,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const usage = { input: 10, output: 5 }
const healthy = respondWith('Hello from the first!', usage)
const primary = await server.upstream(healthy)
beforeEach(() => void primary.always(healthy))
const secondary = await server.upstream(respondWith('Hello from the second!', usage))
await server.model('alone', { upstreams: [primary] })
await server.model('both', { upstreams: [primary, secondary] })
/** The cost of the responses above at ¥0.002 per 1,000 tokens. */
const price = parseAmount('0.00003')

/** Counts the requests to the upstream from now on. */
function countRequests(upstream: RegisteredUpstream): () => number {
  const before = upstream.requests.length
  return () => upstream.requests.length - before
}

const [nonStreaming, streaming, both] = [[false], [true], [false, true]]
/** Failures before the first content, for streaming requests and others. */
const earlyFailures: Record<string, [Script, boolean[]]> = {
  'resets the connection': [resetConnection, both],
  'returns 500': [respondWithError(500), both],
  'returns 401': [respondWithError(401), both],
  'returns 429': [respondWithError(429, undefined, { 'retry-after': '7' }), both],
  'returns 404': [respondWithError(404), both],
  redirects: [respondWithRedirect('http://127.0.0.1:1/v1'), both],
  'returns garbage': [respondWithGarbage, both],
  'returns an error with status 200': [respondWithErrorInside200(), both],
  'ends before its first content': [truncateAfter(1, 'end', respondWith('x')), streaming],
  'resets before its first content': [truncateAfter(1, 'reset', respondWith('x')), streaming],
  'resets within a non-streaming body': [resetAfterBytes(40, respondWith('x'.repeat(500))), nonStreaming],
}

const relayErrors: Record<string, Script> = {
  ...Object.fromEntries(
    [401, 402, 403, 500, 502, 503, 529].map((status) => [String(status), respondWithError(status)]),
  ),
  '302': respondWithRedirect('http://127.0.0.1:1/v1'),
  '204': respondWithJson(204, ''),
  'no response': resetConnection,
  'JSON of another shape': respondWithJson(200, '[1, 2]'),
  'a web page': respondWithJson(200, '<html>Hello</html>', { 'content-type': 'text/html' }),
}

describe('Upstream errors', () => {
  for (const how of ['end', 'reset'] as const) {
    test(`Stream without its end (${how}) – ends with an error event and is recorded as truncated`, async () => {
      const account = await server.account({ balance: '¥1' })
      primary.next(truncateAfter(4, how, respondWithDeltas(9, usage)))
      const secondaryRequests = countRequests(secondary)
      const response = await account.post(chatRequest('both', { stream: true }))
      const payloads = await readPayloads(response)

      assert.equal(streamedText(payloads), ' w1 w2 w3')
      const error = finalError(payloads)
      assert.deepEqual([error.type, error.code], ['server_error', 'upstream_unavailable'])
      assert.equal(secondaryRequests(), 0, 'no retry after the first content')
      const record = await waitForRecord(account, response)
      assert.deepEqual([record.outcome, record.usage_source], ['truncated', 'estimate'])
      assert.deepEqual([record.prompt_tokens, record.completion_tokens], [3, 3])
      assert.equal(parseAmount(record.cost), 12_000n)
      assert.equal(parseAmount(await account.balance()), parseAmount('1') - 12_000n)
    })
  }

  test('Error event within a stream – ends it with our error, without the upstream’s message', async () => {
    const account = await server.account({ balance: '¥1' })
    primary.next(
      failAfter(3, { message: 'sk-upstream is out of credit', code: 'broken' }, respondWithDeltas(9)),
    )
    const payloads = await readPayloads(await account.post(chatRequest('alone', { stream: true })))
    assert.equal(streamedText(payloads), ' w1 w2')
    assert.equal(finalError(payloads).code, 'upstream_unavailable')
    assert.ok(!payloads.at(-1)?.includes('credit'))
  })

  for (const [name, [script, modes]] of Object.entries(earlyFailures)) {
    test(`Upstream that ${name} – is replaced without the caller noticing`, async () => {
      const account = await server.account({ balance: '¥1' })
      for (const stream of modes) {
        // A new upstream each time: one that has failed is skipped for a while.
        const down = await server.upstream(script)
        const model = `with-${down.id}`
        await server.model(model, { upstreams: [down, secondary] })
        const response = await account.post(chatRequest(model, { stream }))
        assert.equal(response.status, 200)
        const text = stream ? streamedText(await readPayloads(response)) : await response.text()
        assert.match(text, /Hello from the second!/)
        const record = await waitForRecord(account, response)
        assert.deepEqual(
          [record.outcome, record.upstream, parseAmount(record.cost)],
          ['ok', secondary.id, price],
        )
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

  test('Many failing upstreams – three are called, once each, in order', async () => {
    const five = []
    for (let count = 0; count < 5; count++) five.push(await server.upstream(respondWithError(500)))
    await server.model('five', { upstreams: five })
    const account = await server.account({ balance: '¥1' })
    const response = await account.post(chatRequest('five'))
    assert.equal(response.status, 503)
    const { attempts } = await waitForRecord(account, response)
    assert.deepEqual(
      attempts.map((attempt) => attempt.upstream),
      five.slice(0, 3).map(({ id }) => id),
    )
    assert.deepEqual(
      five.map(({ requests }) => requests.length),
      [1, 1, 1, 0, 0],
    )
  })

  test('Error with status 200 from the only upstream – becomes an error status and costs nothing', async () => {
    const account = await server.account({ balance: '¥1' })
    const errors: [Record<string, unknown>, number, string][] = [
      [{ message: 'overloaded' }, 503, 'upstream_unavailable'],
      [{ message: 'slow down', code: 429 }, 429, 'rate_limit_exceeded'],
      [{ message: 'no such image', status: 400 }, 400, 'invalid_request'],
    ]
    for (const [error, status, code] of errors) {
      for (const stream of [true, false]) {
        primary.next(respondWithErrorInside200(error))
        const response = await account.post(chatRequest('alone', { stream }))
        assert.equal(response.status, status)
        assert.equal((await readError(response)).code, code)
        const record = await waitForRecord(account, response)
        assert.deepEqual([record.outcome, record.http_status, Number(record.cost)], ['failed', status, 0])
      }
    }
    assert.equal(await account.balance(), '1')
  })

  for (const status of [400, 404, 413, 422]) {
    test(`Upstream's ${status} – reaches the caller with message, field and code, without secrets`, async () => {
      const account = await server.account({ balance: '¥1' })
      const message = 'The image at sk-upstream is too large.'
      const error = { message, type: 'invalid_request_error', param: 'messages[0]', code: 'image_too_large' }
      primary.next(respondWithError(status, { error }))
      const response = await account.post(chatRequest('alone', { stream: status === 404 }))
      assert.equal(response.status, status)
      assert.deepEqual(await readError(response), {
        ...error,
        message: 'The image at [removed] is too large.',
      })
      assert.equal(await account.balance(), '1')
    })
  }

  for (const status of [400, 413, 422]) {
    test(`Upstream that returns ${status} – is not replaced by another`, async () => {
      const account = await server.account({ balance: '¥1' })
      primary.next(respondWithError(status))
      const secondaryRequests = countRequests(secondary)
      assert.equal((await account.post(chatRequest('both'))).status, status)
      assert.equal(secondaryRequests(), 0)
    })
  }

  for (const [name, script] of Object.entries(relayErrors)) {
    test(`${name} from the only upstream – returns 503 with Retry-After and costs nothing`, async () => {
      const account = await server.account({ balance: '¥1' })
      primary.always(script)
      for (const stream of [false, true]) {
        const response = await account.post(chatRequest('alone', { stream }))
        assert.equal(response.status, 503)
        assert.ok(Number(response.headers.get('retry-after')) >= 1)
        assert.ok(Number(response.headers.get('retry-after-ms')) >= 1)
        assert.notEqual(response.headers.get('x-should-retry'), 'false')
        const error = await readError(response)
        assert.deepEqual(
          [error.type, error.code, error.param],
          ['server_error', 'upstream_unavailable', null],
        )
      }
      assert.equal(await account.balance(), '1')
    })
  }

  test('Upstream’s 429 – returns 429 with its Retry-After', async () => {
    const account = await server.account({ balance: '¥1' })
    primary.next(respondWithError(429, undefined, { 'retry-after': '7' }))
    const response = await account.post(chatRequest('alone'))
    assert.equal(response.status, 429)
    assert.deepEqual(
      [response.headers.get('retry-after'), response.headers.get('retry-after-ms')],
      ['7', '7000'],
    )
    const error = await readError(response)
    assert.deepEqual([error.type, error.code], ['rate_limit_error', 'rate_limit_exceeded'])
  })

  test('Unreachable addresses – return 503, leave no holds and cost nothing', async (t) => {
    const tls = await brokenTls()
    t.after(() => tls.close())
    const account = await server.account({ balance: '¥1' })
    for (const [index, url] of [await connectionRefusedUrl(), unresolvableUrl, tls.url].entries()) {
      await server.model(`nowhere-${index}`, { upstreams: [await server.upstreamAt(url)] })
      for (const stream of [false, true]) {
        const response = await account.post(chatRequest(`nowhere-${index}`, { stream }))
        assert.equal(response.status, 503, url)
        assert.equal((await readError(response)).code, 'upstream_unavailable')
      }
    }
    await server.assertNoOpenHolds()
    assert.equal(await account.balance(), '1')
  })
})
