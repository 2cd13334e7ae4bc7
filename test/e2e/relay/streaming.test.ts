// @backend both
/** Streams as callers, providers and the ledger see them: usage, cost, and callers that disconnect. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import {
  parseChunks,
  waitForNewestRecord,
  waitForRecord,
  reportedUsage,
  streamedText,
} from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  neverRespond,
  hangAfterHeaders,
  pauseAfter,
  paceEvents,
  delayBy,
  waitFor,
} from '../../support/upstream/fault-injection.ts'
import {
  rejectStreamOptions,
  respondWith,
  respondWithDeltas,
  numberedWords,
} from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const usage = { input: 1000, output: 100 }
const upstream = await server.upstream(respondWith('Hello, world!', usage))
/** In nanos per token: 2,000 in, 8,000 out. */
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const streamed = chatRequest('m', { stream: true })
const withUsage = chatRequest('m', { stream: true, stream_options: { include_usage: true } })
const expectedCost = parseAmount('0.0028')

/** A second is what the documentation promises; a machine that is ten times slower may need more. */
const promptlyMs = 10_000

describe('Streaming', () => {
  test('Disconnected caller – is charged once for the delivered tokens; the upstream is closed', async () => {
    const account = await server.account({ balance: '¥1' })
    const never = Promise.withResolvers<void>()
    upstream.next(pauseAfter(401, never.promise, respondWithDeltas(1000, usage)))
    const disconnect = new AbortController()
    const response = await account.post(streamed, { signal: disconnect.signal })
    let deltas = 0
    for await (const event of readEvents(response)) if (event.includes('" w') && ++deltas === 200) break
    const leftMs = performance.now()
    disconnect.abort()
    assert.ok(((await upstream.nextDisconnect()).abortedAt ?? Infinity) - leftMs < promptlyMs)
    never.resolve()

    const record = await waitForRecord(account, response)
    assert.equal(record.outcome, 'aborted')
    assert.equal(record.usage_source, 'estimate')
    assert.equal(record.prompt_tokens, Math.ceil('Say hello.'.length / 4))
    const minimum = Math.ceil(numberedWords(200).join('').length / 4) - 64
    const maximum = Math.ceil(numberedWords(400).join('').length / 4)
    const charged = record.completion_tokens
    assert.ok(charged >= minimum && charged <= maximum, `${minimum} ≤ ${charged} ≤ ${maximum}`)
    const cost = BigInt(record.prompt_tokens) * 2000n + BigInt(charged) * 8000n
    assert.equal(parseAmount(record.cost), cost)
    assert.equal(parseAmount(await account.balance()), parseAmount('1') - cost)
    assert.equal((await account.requests()).length, 1)
  })

  for (const [name, script] of Object.entries({
    'sends nothing': neverRespond,
    'sends only headers': hangAfterHeaders,
  })) {
    test(`Caller disconnects while the upstream ${name} – it is closed, no other is called`, async () => {
      const silent = await server.upstream(script)
      const other = await server.upstream(respondWith('Too late.'))
      await server.model(`silent-${silent.id}`, { upstreams: [silent, other] })
      const account = await server.account({ balance: '¥1' })
      for (const stream of [true, false]) {
        const disconnect = new AbortController()
        const body = chatRequest(`silent-${silent.id}`, { stream })
        const outcome = assert.rejects(
          account.post(body, { signal: disconnect.signal }).then((response) => response.text()),
          { name: 'AbortError' },
        )
        await silent.nextRequest()
        const leftMs = performance.now()
        disconnect.abort()
        await outcome
        assert.ok(((await silent.nextDisconnect()).abortedAt ?? Infinity) - leftMs < promptlyMs)
        await server.assertNoOpenHolds()
      }
      assert.equal(other.requests.length, 0)
      assert.equal(silent.requests.length, 2)
      assert.equal((await waitForNewestRecord(account)).outcome, 'aborted')
      assert.equal(await account.balance(), '1')
    })
  }

  test('on_abort: drain – reads on after a disconnect and bills the provider’s usage', async () => {
    const draining = await server.upstream(respondWith(''), { on_abort: 'drain' })
    await server.model('drained', { upstreams: [draining] })
    for (const stream of [true, false]) {
      const account = await server.account({ balance: '¥1' })
      const resume = Promise.withResolvers<void>()
      // Slow enough that the relay notices the disconnect before the end.
      const script = respondWithDeltas(100, usage)
      draining.next(
        stream
          ? pauseAfter(20, resume.promise, paceEvents(script, 3))
          : waitFor(resume.promise, delayBy(250, script)),
      )
      const disconnect = new AbortController()
      const pending = account.post(chatRequest('drained', { stream }), { signal: disconnect.signal })
      await draining.nextRequest()
      if (stream) for await (const event of readEvents(await pending)) if (event.includes(' w5"')) break
      disconnect.abort()
      if (!stream) await assert.rejects(pending, { name: 'AbortError' })
      resume.resolve()

      const record = await waitForNewestRecord(account)
      assert.deepEqual([record.outcome, record.usage_source], ['aborted', 'provider'])
      assert.deepEqual([record.prompt_tokens, record.completion_tokens], [usage.input, usage.output])
    }
  })

  for (const options of [
    {},
    { stream_options: null },
    { stream_options: {} },
    { stream_options: { include_usage: false } },
  ]) {
    test(`Request with ${JSON.stringify(options)} – usage is requested upstream and hidden from the caller`, async () => {
      const account = await server.account({ balance: '¥1' })
      const response = await account.post({ ...streamed, ...options })
      const payloads = await readPayloads(response)

      const forwarded = upstream.requests.at(-1)?.json['stream_options']
      assert.deepEqual(forwarded, { include_usage: true })
      assert.equal(payloads.at(-1), '[DONE]')
      const chunks = parseChunks(payloads)
      assert.ok(chunks.every((chunk) => chunk.choices?.length === 1 && !chunk.usage))
      assert.equal(chunks.at(-1)?.choices?.[0]?.finish_reason, 'stop')
      assert.equal(streamedText(payloads), 'Hello, world!')
      const record = await waitForRecord(account, response)
      assert.deepEqual([record.outcome, record.usage_source, record.finish], ['ok', 'provider', 'stop'])
      assert.equal(parseAmount(record.cost), expectedCost)
    })
  }

  test('Stream with include_usage – ends with finish chunk, usage chunk with cost, and [DONE]', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await account.post(withUsage)
    const payloads = await readPayloads(response)

    assert.equal(payloads.at(-1), '[DONE]')
    const [finish, last] = parseChunks(payloads).slice(-2)
    assert.equal(finish?.choices?.[0]?.finish_reason, 'stop')
    assert.deepEqual(last?.choices, [])
    assert.deepEqual([last?.usage?.['prompt_tokens'], last?.usage?.['completion_tokens']], [1000, 100])
    assert.equal(last?.usage?.['cost'], 0.0028)
    assert.equal(parseChunks(payloads).filter((chunk) => chunk.usage).length, 1)
  })

  test('Tokens longer than estimated – do not end the stream at max_tokens', async () => {
    const account = await server.account({ balance: '¥1' })
    const resume = Promise.withResolvers<void>()
    upstream.next(pauseAfter(101, resume.promise, respondWithDeltas(101, { input: 10, output: 20 })))
    const response = await account.post({ ...streamed, max_tokens: 20 })
    let read = ''
    for await (const event of readEvents(response)) {
      read += event
      if (event.includes('" w100"')) resume.resolve()
    }
    assert.match(read, /\[DONE\]$/)
    assert.equal((await waitForRecord(account, response)).completion_tokens, 20)
  })

  for (const status of [400, 422]) {
    test(`Upstream that rejects stream_options with ${status} – is retried once without, then always`, async () => {
      const old = await server.upstream(rejectStreamOptions(respondWith('Hello, old friend!', usage), status))
      await server.model(`old-${status}`, { upstreams: [old] })
      const account = await server.account({ balance: '¥1' })
      for (const body of [{ stream: true }, { stream: true, stream_options: { include_usage: true } }]) {
        const response = await account.post(chatRequest(`old-${status}`, body))
        const payloads = await readPayloads(response)
        assert.equal(streamedText(payloads), 'Hello, old friend!')
        assert.equal(payloads.at(-1), '[DONE]')
        const record = await waitForRecord(account, response)
        assert.deepEqual([record.usage_source, record.completion_tokens], ['estimate', 5])
        const reported = reportedUsage(payloads)
        assert.deepEqual(
          reported.map((each) => [each['completion_tokens'], each['cost']]),
          'stream_options' in body ? [[5, Number(record.cost)]] : [],
        )
      }
      assert.deepEqual(
        old.requests.map(({ json }) => 'stream_options' in json),
        [true, false, false],
      )
    })
  }
})
