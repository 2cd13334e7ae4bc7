// @backend both (cluster in long runs)
/** Streams of the Responses API: how they end, what they cost, and what a repeated or abandoned request gets. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import {
  assembleResponse,
  checkResponse,
  parseResponsesEvents,
  postResponses,
  responsesRequest,
  textOf,
  type ResponsesEvent,
} from '../../support/client/responses-api.ts'
import type { Account } from '../../support/server/account.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { failAfter, neverRespond, pauseAfter, truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondEndlessly,
  respondWith,
  respondWithDeltas,
  respondWithError,
  respondWithEvents,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { STREAM_KEEP_ALIVE: '100ms' } })
const usage = { input: 1000, output: 100 }
const prices: [string, string] = ['0.002', '0.008']
const cost = '0.0028'
const upstream = await server.upstream(respondWith('One two three', usage))
await server.model('m', { upstreams: [upstream], prices })
const streamed = (fields: object = {}): object => responsesRequest('m', { stream: true, ...fields })

async function readStream(account: Account, body: object): Promise<[ResponsesEvent[], Response]> {
  const response = await postResponses(account, body)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  return [parseResponsesEvents(await response.text()), response]
}

/** The last two events: the error, and the failed response. */
function failureOf(events: readonly ResponsesEvent[]): { code: string; texts: string[]; usage: unknown } {
  const [error, failed] = events.slice(-2)
  assert.deepEqual([error?.type, failed?.type], ['error', 'response.failed'])
  const response = checkResponse(failed?.response)
  assert.equal(response.status, 'failed')
  assert.equal(response.error?.code, error?.error?.code)
  return { code: response.error?.code ?? '', texts: response.output.map(textOf), usage: response.usage }
}

describe('Responses API streams', () => {
  test('Complete stream – is settled before its last event, which has the billed usage', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await postResponses(account, streamed())
    const blocks: string[] = []
    for await (const block of readEvents(response)) {
      blocks.push(`${block}\n\n`)
      if (!block.startsWith('event: response.completed')) continue
      assert.equal(await account.held(), '0')
      assert.equal(parseAmount(await account.balance()), parseAmount('1') - parseAmount(cost))
    }
    assert.equal(blocks.at(-1), 'data: [DONE]\n\n')
    const { output, usage: billed } = assembleResponse(parseResponsesEvents(blocks.join('')))
    assert.deepEqual(output.map(textOf), ['One two three'])
    assert.deepEqual([billed?.['input_tokens'], billed?.['output_tokens']], [1000, 100])
    assert.equal((await waitForRecord(account, response)).cost, cost)
  })

  test('Upstream without usage – the response has the estimate that is billed', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWith('One two three', 'absent'))
    const [events, response] = await readStream(account, streamed())
    const record = await waitForRecord(account, response)
    assert.equal(record.usage_source, 'estimate')
    const { usage: billed } = assembleResponse(events)
    assert.deepEqual(
      [billed?.['input_tokens'], billed?.['output_tokens']],
      [record.prompt_tokens, record.completion_tokens],
    )
    assert.ok(record.prompt_tokens > 0)
  })

  test('Response at its maximum – is incomplete, streaming or not', async () => {
    const account = await server.account({ balance: '¥1' })
    const script = respondWith('One two', usage, { finish: 'length' })
    upstream.next(script, script)
    const [events] = await readStream(account, streamed({ max_output_tokens: 16 }))
    const whole = await postResponses(account, responsesRequest('m', { max_output_tokens: 16 }))
    for (const response of [assembleResponse(events), checkResponse(await whole.json())]) {
      assert.equal(response.status, 'incomplete')
      assert.deepEqual(response['incomplete_details'], { reason: 'max_output_tokens' })
      assert.deepEqual(
        response.output.map(({ status }) => status),
        ['incomplete'],
      )
    }
    assert.equal(upstream.requests.at(-1)?.json['max_tokens'], 16)
  })

  for (const [how, script] of Object.entries({
    'is truncated': truncateAfter(3, 'reset', respondWith('One two three', usage)),
    'reports an error': failAfter(
      3,
      { message: 'Overloaded', type: 'server_error' },
      respondWith('One two three', usage),
    ),
  })) {
    test(`Stream that ${how} – ends with the error and the failed response, charged as received`, async () => {
      const account = await server.account({ balance: '¥1' })
      upstream.next(script)
      const [events, response] = await readStream(account, streamed())
      const failure = failureOf(events)
      assert.equal(failure.code, 'upstream_unavailable')
      const record = await waitForRecord(account, response)
      assert.deepEqual([record.outcome, record.usage_source], ['truncated', 'estimate'])
      assert.ok(record.completion_tokens > 0)
      assert.equal((failure.usage as { output_tokens: number }).output_tokens, record.completion_tokens)
    })
  }

  test('Failed attempt – leaves no trace in the stream of the next upstream', async () => {
    const account = await server.account({ balance: '¥1' })
    const first = await server.upstream(truncateAfter(1, 'reset', respondWith('Never seen', usage)))
    await server.model('two', { upstreams: [first, upstream], prices })
    const [events] = await readStream(account, { ...streamed(), model: 'two' })
    assert.deepEqual(assembleResponse(events).output.map(textOf), ['One two three'])
    assert.equal(events.filter(({ type }) => type === 'response.created').length, 1)
  })

  test('Silence – repeats response.in_progress after fifteen comments, with a number of its own', async () => {
    const account = await server.account({ balance: '1' })
    const resumed = Promise.withResolvers<void>()
    upstream.next(pauseAfter(2, resumed.promise, respondWithDeltas(3)))
    const blocks: string[] = []
    for await (const block of readEvents(await postResponses(account, streamed()))) {
      blocks.push(block)
      if (blocks.filter((each) => each.includes('"type":"response.in_progress"')).length === 2)
        resumed.resolve()
    }
    const events = parseResponsesEvents(blocks.map((block) => `${block}\n\n`).join(''))
    const repeated = events.findLast(({ type }) => type === 'response.in_progress')
    assert.equal(repeated?.response?.status, 'in_progress')
    assert.equal(blocks.filter((block) => block.startsWith(':')).length, 15)
    assembleResponse(events)
  })

  test('No upstream responds – is an HTTP error; after a keep-alive comment, a failed response', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWithError(500))
    assert.equal((await postResponses(account, streamed())).status, 503)
    const fail = Promise.withResolvers<void>()
    upstream.next(async (exchange) => {
      await fail.promise
      await respondWithError(500)(exchange)
    })
    let text = ''
    for await (const block of readEvents(await postResponses(account, streamed()))) {
      if (block.startsWith(':')) fail.resolve()
      text += `${block}\n\n`
    }
    const events = parseResponsesEvents(text)
    assert.equal(events.length, 2)
    assert.equal(failureOf(events).code, 'upstream_unavailable')
  })

  test('Silent upstream – comments keep the stream open', async () => {
    const account = await server.account({ balance: '¥1' })
    const resume = Promise.withResolvers<void>()
    upstream.next(pauseAfter(3, resume.promise, respondWith('One two', usage)))
    let text = ''
    for await (const block of readEvents(await postResponses(account, streamed()))) {
      if (block.startsWith(':')) resume.resolve()
      text += `${block}\n\n`
    }
    assert.deepEqual(assembleResponse(parseResponsesEvents(text)).output.map(textOf), ['One two'])
  })

  test('Stream that exhausts the balance – fails with insufficient_quota, and its numbers continue', async () => {
    const account = await server.account({ balance: '¥0.01' })
    const forever = await server.upstream(respondEndlessly(' more and more', 0))
    await server.model('forever', { upstreams: [forever], prices })
    const [events, response] = await readStream(account, responsesRequest('forever', { stream: true }))
    await forever.nextDisconnect()
    const failure = failureOf(events)
    assert.equal(failure.code, 'insufficient_quota')
    assert.match(events.at(-3)?.type ?? '', /output_text\.delta$/)
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.outcome, record.usage_source], ['ended', 'estimate'])
    const delivered = events.map(({ delta = '' }) => delta).join('')
    assert.equal(record.completion_tokens, Math.ceil(delivered.length / 4))
    assert.equal((failure.usage as { output_tokens: number }).output_tokens, record.completion_tokens)
  })

  test('Stored stream that exhausted the balance – is replayed with the same numbers', async () => {
    const account = await server.account({ balance: '¥0.01' })
    const forever = await server.upstream(respondEndlessly(' more and more', 0))
    await server.model('stored', { upstreams: [forever], prices })
    const options = { headers: { 'idempotency-key': 'endless' } }
    const body = responsesRequest('stored', { stream: true })
    const received = await (await postResponses(account, body, options)).text()
    // A comment may come while the next tokens are held.
    const first = received.replaceAll(/^: .*\n\n/gm, '')
    assert.equal(failureOf(parseResponsesEvents(first)).code, 'insufficient_quota')
    assert.equal(await (await postResponses(account, body, options)).text(), first)
  })

  test('First chunk above the balance – fails without output', async () => {
    const account = await server.account({ balance: '¥0.001' })
    const delta = { role: 'assistant', content: 'x'.repeat(4000) }
    const chunk = JSON.stringify({ id: 'one', choices: [{ index: 0, delta, finish_reason: null }] })
    upstream.next(truncateAfter(1, 'hang', respondWithEvents([chunk, chunk])))
    const [events] = await readStream(account, streamed({ max_output_tokens: 4000 }))
    const { code, texts } = failureOf(events)
    assert.deepEqual([code, texts], ['insufficient_quota', []])
  })

  test('Low balance – lowers the maximum; without one, none is sent', async () => {
    const rich = await server.account({ balance: '¥10' })
    assert.equal((await postResponses(rich, responsesRequest('m'))).status, 200)
    assert.equal(upstream.requests.at(-1)?.json['max_tokens'], undefined)
    const poor = await server.account({ balance: '¥0.02' })
    assert.equal((await postResponses(poor, responsesRequest('m', { max_output_tokens: 4000 }))).status, 200)
    const lowered = Number(upstream.requests.at(-1)?.json['max_tokens'])
    assert.ok(lowered >= 2400 && lowered < 2500, String(lowered))
  })

  test('Maximum that the balance has lowered – fails the stream that reaches it, and no other', async () => {
    const poor = await server.account({ balance: '¥0.02' })
    const respondWithOutput =
      (share: number): Script =>
      (exchange) => {
        const output = Math.floor(Number(exchange.request.json['max_tokens']) * share)
        return respondWith('One two', { input: 1, output }, { finish: 'length' })(exchange)
      }
    upstream.next(respondWithOutput(0.1), respondWithOutput(1))
    const body = streamed({ max_output_tokens: 4000 })
    assert.equal(assembleResponse((await readStream(poor, body))[0]).status, 'incomplete')
    const [events] = await readStream(poor, body)
    assert.deepEqual(failureOf(events).texts, ['One two'])
    assert.equal(failureOf(events).code, 'insufficient_quota')
  })

  for (const stream of [true, false]) {
    test(`Idempotency-Key (${stream ? 'stream' : 'non-streaming'}) – replays the response, charged once`, async () => {
      const account = await server.account({ balance: '¥1' })
      upstream.next(respondWithDeltas(50, usage))
      const options = { headers: { 'idempotency-key': 'same' } }
      const first = await postResponses(account, streamed({ stream }), options)
      const text = await first.text()
      const again = await postResponses(account, streamed({ stream }), options)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
      assert.equal(await again.text(), text)
      assert.equal(parseAmount(await account.balance()), parseAmount('1') - parseAmount(cost))
    })
  }

  test('Disconnected caller – pays for the delivered tokens; before the first content, nothing', async () => {
    const account = await server.account({ balance: '¥1' })
    const endless = await server.upstream(respondEndlessly(' more', 2))
    const hanging = await server.upstream(neverRespond)
    await server.model('endless', { upstreams: [endless], prices })
    await server.model('hanging', { upstreams: [hanging], prices })
    const disconnect = new AbortController()
    const { signal } = disconnect
    const response = await postResponses(account, responsesRequest('endless', { stream: true }), { signal })
    let read = 0
    for await (const _event of readEvents(response)) if (++read === 30) break
    disconnect.abort()
    await endless.nextDisconnect()
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.outcome, record.usage_source], ['aborted', 'estimate'])
    assert.ok(record.completion_tokens >= 20 && Number(record.cost) > 0)

    const leaving = new AbortController()
    const early = await postResponses(account, responsesRequest('hanging', { stream: true }), {
      signal: leaving.signal,
    })
    leaving.abort()
    await hanging.nextDisconnect()
    const left = await waitForRecord(account, early)
    assert.deepEqual([left.outcome, Number(left.cost)], ['aborted', 0])
  })
})
