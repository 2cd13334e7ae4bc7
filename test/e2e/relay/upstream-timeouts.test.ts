// @backend both (cluster in long runs)
/** Slow upstreams: keep-alive comments for callers, and timeouts. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { finalError, waitForRecord, readError, streamedText } from '../../support/client/responses.ts'
import { blackhole } from '../../support/upstream/unreachable-addresses.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  neverRespond,
  hangAfterHeaders,
  pauseAfter,
  paceEvents,
  truncateAfter,
  delayBy,
  waitFor,
  formatEvents,
} from '../../support/upstream/fault-injection.ts'
import { respondWith, respondWithDeltas } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { STREAM_KEEP_ALIVE: '100ms' } })
/** Sends the headers of a non-streaming response at once and its body later. */
const slowBody: Script = async (exchange) => {
  exchange.head(200, { 'content-type': 'application/json' })
  if (!(await exchange.pause(700))) return
  await respondWith('At last.')({ ...exchange, head: () => undefined })
}
const usage = { input: 10, output: 4 }
const upstream = await server.upstream(respondWith('Hello!', usage))
await server.model('m', { upstreams: [upstream] })

const impatient = await server.upstream(respondWith('Hello!', usage), {
  timeouts: { connect_ms: 1000, first_token_ms: 1000, idle_ms: 1000, answer_ms: 1000 },
})
const other = await server.upstream(respondWith('Hello from the other!', usage))
await server.model('impatient', { upstreams: [impatient] })
await server.model('impatient-then-other', { upstreams: [impatient, other] })

describe('Upstream timeouts', () => {
  test('Silent upstream – comments keep the stream open, before and between tokens', async () => {
    const account = await server.account({ balance: '¥1' })
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const script = waitFor(
      first.promise,
      pauseAfter(3, second.promise, respondWith('one two three four', usage)),
    )
    upstream.next(
      formatEvents({ linesBefore: [': upstream comment'], linesInside: ['id: 7', 'retry: 10'] }, script),
    )
    const response = await account.post(chatRequest('m', { stream: true }))
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    let commentsInARow = 0
    const events: string[] = []
    for await (const event of readEvents(response)) {
      events.push(event)
      commentsInARow = event.startsWith(':') ? commentsInARow + 1 : 0
      if (commentsInARow === 3) (events.length === 3 ? first : second).resolve()
    }
    assert.equal(
      streamedText(events.filter((event) => event.startsWith('data: {')).map((event) => event.slice(6))),
      'one two three four',
    )
    assert.equal(events.at(-1), 'data: [DONE]')
    for (const event of events) assert.match(event, /^(?::[^\n]*|data: [^\n]*)$/)
    assert.ok(!events.some((event) => event.includes('upstream comment')))
  })

  for (const [name, script] of Object.entries({
    nothing: neverRespond,
    'only headers': hangAfterHeaders,
  })) {
    test(`Upstream that sends ${name} – times out and is replaced, or the request fails`, async () => {
      const account = await server.account({ balance: '¥1' })
      impatient.next(script, script, script, script)
      const assertReplaced = async (stream: boolean): Promise<void> => {
        const response = await account.post(chatRequest('impatient-then-other', { stream }))
        assert.match(await response.text(), /Hello/)
      }
      const assertFails = async (stream: boolean): Promise<void> => {
        const response = await account.post(chatRequest('impatient', { stream }))
        // A stream has started with comments, so the error is an event.
        if (stream) assert.equal(finalError(await readPayloads(response)).code, 'upstream_unavailable')
        else
          assert.deepEqual([response.status, (await readError(response)).code], [503, 'upstream_unavailable'])
        const record = await waitForRecord(account, response)
        assert.deepEqual([record.outcome, record.http_status, Number(record.cost)], ['failed', 503, 0])
      }
      await Promise.all([true, false].flatMap((stream) => [assertReplaced(stream), assertFails(stream)]))
    })
  }

  test('Stream that stalls after its first content – ends with an error, recorded as truncated', async () => {
    const account = await server.account({ balance: '¥1' })
    impatient.next(truncateAfter(3, 'hang', respondWithDeltas(9, usage)))
    const response = await account.post(chatRequest('impatient-then-other', { stream: true }))
    const payloads = await readPayloads(response)
    assert.equal(streamedText(payloads), ' w1 w2')
    assert.equal(finalError(payloads).code, 'upstream_unavailable')
    assert.equal((await waitForRecord(account, response)).outcome, 'truncated')
    await impatient.nextDisconnect()
  })

  test('Timeouts – measure silence, not the duration of a stream', async () => {
    const account = await server.account({ balance: '¥1' })
    impatient.next(paceEvents(respondWithDeltas(12, usage), 120))
    const payloads = await readPayloads(await account.post(chatRequest('impatient', { stream: true })))
    assert.equal(payloads.at(-1), '[DONE]')
  })

  test('Non-streaming response – may take the whole answer_ms of its upstream', async () => {
    const slow = await server.upstream(respondWith('At last.', usage), {
      timeouts: { first_token_ms: 100, idle_ms: 100, answer_ms: 30_000 },
    })
    await server.model('patient', { upstreams: [slow] })
    const account = await server.account({ balance: '¥1' })
    slow.next(delayBy(700, respondWith('At last.', usage)), slowBody)
    for (let call = 0; call < 2; call++) {
      const response = await account.post(chatRequest('patient'))
      assert.equal(response.status, 200)
      assert.match(await response.text(), /At last\./)
    }
  })

  test('Model with a shorter answer_ms – cuts a hanging response, and another upstream responds', async () => {
    const slow = await server.upstream(respondWith('Hello!', usage))
    const timeouts = { answer_ms: 300 }
    await server.admin('POST', '/models', {
      id: 'hurried',
      context_tokens: 4096,
      prices: { input: '0.001', output: '0.001' },
      routes: [
        { upstream: slow.id, model: 'hurried', priority: 1 },
        { upstream: other.id, model: 'hurried', priority: 2 },
      ],
      timeouts,
    })
    const shown = (await server.admin('GET', '/models/hurried')) as { timeouts: object }
    assert.deepEqual(shown.timeouts, { connect_ms: null, first_token_ms: null, idle_ms: null, ...timeouts })
    const account = await server.account({ balance: '¥1' })
    slow.next(neverRespond)
    const response = await account.post(chatRequest('hurried'))
    assert.match(await response.text(), /Hello from the other!/)
    const { attempts } = await waitForRecord(account, response)
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['failed', 'ok'],
    )
  })

  test('Address that accepts no connection – times out and another upstream is called', async (t) => {
    const hole = await blackhole()
    t.after(() => hole.close())
    const unreachable = await server.upstreamAt(hole.url, { timeouts: { connect_ms: 300 } })
    await server.model('hole', { upstreams: [unreachable, other] })
    const account = await server.account({ balance: '¥1' })
    const response = await account.post(chatRequest('hole'))
    assert.match(await response.text(), /Hello from the other!/)
    assert.equal((await waitForRecord(account, response)).attempts.length, 2)
  })
})
