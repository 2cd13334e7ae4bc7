// @backend both
/** The cost of a request: with valid, missing or invalid usage, after failed attempts, and under concurrency. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { parseChunks, waitForRecord, reportedUsage, streamedText } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  respondEndlessly,
  respondWithError,
  respondWith,
  numberedWords,
} from '../../support/upstream/scripted-responses.ts'
import type { Usage } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const upstream = await server.upstream(respondWith('Hello!'))
/** In nanos per token: 2,000 in, 8,000 out. */
const prices: [string, string] = ['0.002', '0.008']
await server.model('m', { upstreams: [upstream], prices, context_tokens: 8192, max_output_tokens: 1024 })

const modes = [true, false]

/** Reported usage and what is charged: input, output, and the source. "Say hello." is 3 tokens; 20 words of 71 characters are 18. */
const usageCases: [name: string, usage: Usage, charged: [number, number, string]][] = [
  ['of zero – costs nothing', { input: 0, output: 0 }, [0, 0, 'provider']],
  ['with zero input and an output – has its input estimated', { input: 0, output: 7 }, [3, 7, 'estimate']],
  ['that is absent – is estimated', 'absent', [3, 18, 'estimate']],
  ['of null – is estimated', null, [3, 18, 'estimate']],
  [
    'without numbers – is estimated',
    { raw: { prompt_tokens: 'ten', completion_tokens: -5 } },
    [3, 18, 'estimate'],
  ],
  [
    'with numbers as text – is read',
    { raw: { prompt_tokens: '10', completion_tokens: 5, total_tokens: 15 } },
    [10, 5, 'provider'],
  ],
  [
    'with only some numbers – is estimated',
    { raw: { prompt_tokens: 'ten', completion_tokens: 5, total_tokens: 15 } },
    [3, 18, 'estimate'],
  ],
  [
    'with searches that cost nothing – is charged without them',
    { raw: { prompt_tokens: 10, completion_tokens: 5, num_search_queries: 1e300 } },
    [10, 5, 'provider'],
  ],
  [
    'with more cached than input tokens – is bounded',
    { input: 10, cached: 99, output: 5 },
    [10, 5, 'provider'],
  ],
  [
    'with more reasoning than output tokens – is bounded',
    { input: 10, output: 5, reasoning: 99 },
    [10, 5, 'provider'],
  ],
]

describe('Billing', () => {
  for (const [name, usage, [input, output, source]] of usageCases) {
    test(`Usage ${name}, streaming or not`, async () => {
      for (const stream of modes) {
        const account = await server.account({ balance: '¥1' })
        upstream.next(respondWith(numberedWords(20).join(''), usage))
        const response = await account.post(chatRequest('m', { stream }))
        await response.text()
        const record = await waitForRecord(account, response)
        const cost = BigInt(input * 2000 + output * 8000)
        assert.deepEqual(
          [record.prompt_tokens, record.completion_tokens, record.usage_source],
          [input, output, source],
        )
        assert.equal(parseAmount(record.cost), cost)
        assert.equal(parseAmount(await account.balance()), parseAmount('1') - cost)
        assert.ok(record.cached_tokens <= input && record.reasoning_tokens <= output)
        assert.equal(record.usage_clamped, record.searches === 1000)
      }
    })
  }

  test('Usage above the model’s context – is flagged in every record of the request', async () => {
    for (const stream of modes) {
      const account = await server.account({ balance: '¥1' })
      upstream.next(respondWith('Hello!', { input: 8193, output: 5 }))
      const response = await account.post(chatRequest('m', { stream }))
      await response.text()
      const { request_id: id, ...record } = await waitForRecord(account, response)
      assert.equal(record.usage_clamped, true)
      assert.equal(record.attempts[0]?.clamped, true)
      const ownRecord = (await (await account.get(`/v1/requests/${id}`)).json()) as Record<string, unknown>
      assert.equal(ownRecord['usage_clamped'], true)
      assert.equal('attempts' in ownRecord, false)
    }
  })

  test('Usage that is null at first and reported at the end – is charged as reported', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWith('Hello!', { input: 10, output: 5 }))
    const response = await account.post(
      chatRequest('m', { stream: true, stream_options: { include_usage: true } }),
    )
    assert.match(await response.text(), /"usage":null/)
    assert.equal(parseAmount((await waitForRecord(account, response)).cost), 60_000n)
  })

  test('Bill above the balance – takes the balance to zero, not below', async () => {
    for (const stream of modes) {
      const account = await server.account({ balance: '¥0.001' })
      upstream.next(respondWith('Hello!', { input: 500, output: 1000 }))
      const response = await account.post(chatRequest('m', { stream }))
      assert.equal(response.status, 200)
      await response.text()
      assert.equal(Number(await account.balance()), 0)
      assert.equal((await account.post(chatRequest('m'))).status, 402)
    }
  })

  test('10 MB image without usage – is charged as an image, not as text', async () => {
    const url = `data:image/png;base64,${'iVBORw0K'.padEnd(10 * 1024 * 1024, 'A')}`
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url } },
    ]
    for (const stream of modes) {
      const account = await server.account({ balance: '¥0.1' })
      upstream.next(respondWith('A cat.', 'absent'))
      const response = await account.post(chatRequest('m', { stream, messages: [{ role: 'user', content }] }))
      assert.equal(response.status, 200)
      await response.text()
      const { prompt_tokens: tokens } = await waitForRecord(account, response)
      assert.ok(tokens >= 85 && tokens <= 2000, String(tokens))
    }
  })

  test('Reading a request record repeatedly – costs nothing and changes no record', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWith('Hello!', { input: 10, output: 5 }))
    const response = await account.post(chatRequest('m'))
    const before = await waitForRecord(account, response)
    for (let time = 0; time < 3; time++) {
      const record = await account.get(`/v1/requests/${before.request_id}`)
      assert.equal(((await record.json()) as { cost: string }).cost, before.cost)
      for (const path of ['/v1/models', '/v1/balance', '/v1/dashboard/billing/usage']) await account.get(path)
    }
    assert.equal(parseAmount(await account.balance()), parseAmount('1') - 60_000n)
    assert.deepEqual(await account.requests(), [before])
    assert.equal((await server.verify()).ok, true)
  })

  test('Each successful request – is charged once, whatever attempts failed before', async () => {
    const flaky = await server.upstream(respondWithError(500))
    await server.model('flaky', { upstreams: [flaky, upstream], prices })
    const account = await server.account({ balance: '¥1' })
    upstream.always(respondWith('Hello!', { input: 10, output: 5 }))
    const responses = await Promise.all(Array.from({ length: 20 }, () => account.post(chatRequest('flaky'))))
    await Promise.all(responses.map((response) => response.text()))
    upstream.always(respondWithError(500))
    for (const stream of modes)
      assert.equal((await account.post(chatRequest('flaky', { stream }))).status, 503)
    upstream.always(respondWith('Hello!'))
    assert.equal(parseAmount(await account.balance()), parseAmount('1') - 20n * 60_000n)
    const costs = (await account.requests({ outcome: 'ok' })).map(({ cost }) => parseAmount(cost))
    assert.deepEqual(
      costs,
      Array.from({ length: 20 }, () => 60_000n),
    )
  })

  test('100 concurrent requests with a balance for five – at most five are served, others get 402', async () => {
    // Each request holds 1,000 output tokens at ¥0.008 per 1,000, and a few input tokens.
    const account = await server.account({ balance: '¥0.0402' })
    await server.model('for-five', { upstreams: [upstream], prices })
    await server.showObedience('for-five', upstream)
    upstream.always(respondWith('Hello!', { input: 10, output: 1000 }))
    const body = chatRequest('for-five', { max_tokens: 1000 })
    const polling = { isStopped: false }
    const polled = (async () => {
      while (!polling.isStopped) {
        const { available, balance } = await account.state()
        assert.ok(Number(available) >= 0 && Number(balance) >= 0, `${available} of ${balance}`)
      }
    })()
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const response = await account.post(body, { headers: { connection: 'close' } })
        await response.text()
        return response.status
      }),
    )
    polling.isStopped = true
    await polled
    const served = statuses.filter((status) => status === 200).length
    assert.equal(statuses.filter((status) => status === 402).length, 100 - served)
    assert.ok(served >= 4 && served <= 5, `${served} were served`)
    // The fifth asks for a little less than 1,000 tokens, and is not charged for more.
    const lowered = parseAmount(await account.balance()) - parseAmount('0.0402') + BigInt(served) * 8_020_000n
    assert.ok(lowered >= 0n && lowered < 20n * 8000n, String(lowered))
  })

  test('Stream that exhausts the balance – ends with finish_reason length and the reason', async () => {
    const account = await server.account({ balance: '¥0.01' })
    const forever = await server.upstream(respondEndlessly(' more and more', 0))
    await server.model('forever', { upstreams: [forever], prices })
    const response = await account.post(
      chatRequest('forever', { stream: true, stream_options: { include_usage: true } }),
    )
    const payloads = await readPayloads(response)
    assert.equal(payloads.at(-1), '[DONE]')
    const [last] = parseChunks(payloads).slice(-2)
    assert.equal(last?.choices?.[0]?.finish_reason, 'length')
    assert.equal(Reflect.get(Reflect.get(last ?? {}, 'sluice') as object, 'ended'), 'insufficient_quota')
    await forever.nextDisconnect()
    const record = await waitForRecord(account, response)
    assert.equal(record.outcome, 'ended')
    assert.deepEqual(
      reportedUsage(payloads).map(({ cost }) => cost),
      [Number(record.cost)],
    )
    assert.equal(record.completion_tokens, Math.ceil(streamedText(payloads).length / 4))
    const remaining = parseAmount(await account.balance())
    // The hold is not extended for fewer than sixteen tokens.
    assert.ok(remaining >= 0n && remaining < 20n * 8000n, String(remaining))
  })
})
