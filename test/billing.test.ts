/** What a request costs when providers tell much, nothing or nonsense, when it is asked twice, and when many ask at once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { chunksOf, recordOf, usagesIn, wordsOf } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import { endless, failing, saying, words } from './support/upstream/scripted-responses.ts'
import type { Usage } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const upstream = await house.upstream(saying('Hello!'))
/** In nanos per token: 2,000 in, 8,000 out. */
const prices: [string, string] = ['0.002', '0.008']
await house.model('m', { upstreams: [upstream], prices, context_tokens: 8192, max_output_tokens: 1024 })

const both = [true, false]

/** Usage as told, and what of it is charged: input, output, and by whose word. "Say hello." is 3 tokens; 20 words of 71 characters are 18. */
const told: [name: string, usage: Usage, charged: [number, number, string]][] = [
  ['of zero is a bill of nothing', { input: 0, output: 0 }, [0, 0, 'provider']],
  ['of zero input is charged for its output', { input: 0, output: 7 }, [0, 7, 'provider']],
  ['that is absent is estimated', 'absent', [3, 18, 'estimate']],
  ['of null is estimated', null, [3, 18, 'estimate']],
  [
    'of no numbers is estimated',
    { raw: { prompt_tokens: 'ten', completion_tokens: -5 } },
    [3, 18, 'estimate'],
  ],
  [
    'of which only a part is in numbers is estimated',
    { raw: { prompt_tokens: '10', completion_tokens: 5, total_tokens: 15 } },
    [3, 18, 'estimate'],
  ],
  [
    'of numbers without end is bounded',
    { raw: { prompt_tokens: 1e300, completion_tokens: 2e9 } },
    [8192, 8192, 'provider'],
  ],
  [
    'of more searches than any answer takes is bounded',
    { raw: { prompt_tokens: 10, completion_tokens: 5, num_search_queries: 1e300 } },
    [10, 5, 'provider'],
  ],
  ['with more cached than all input is bounded', { input: 10, cached: 99, output: 5 }, [10, 5, 'provider']],
  [
    'with more reasoning than all output is bounded',
    { input: 10, output: 5, reasoning: 99 },
    [10, 5, 'provider'],
  ],
]

for (const [name, usage, [input, output, source]] of told) {
  test(`usage ${name}, whole and streamed`, async () => {
    for (const stream of both) {
      const account = await house.account({ balance: '¥1' })
      upstream.next(saying(words(20).join(''), usage))
      const reply = await account.post(question('m', { stream }))
      await reply.text()
      const record = await recordOf(account, reply)
      const cost = BigInt(input * 2000 + output * 8000)
      assert.deepEqual(
        [record.prompt_tokens, record.completion_tokens, record.usage_source],
        [input, output, source],
      )
      assert.equal(nanosOf(record.cost), cost)
      assert.equal(nanosOf(await account.balance()), nanosOf('1') - cost)
      assert.ok(record.cached_tokens <= input && record.reasoning_tokens <= output)
      assert.equal(record.usage_clamped, input > 8000 || record.searches === 1000)
    }
  })
}

test('usage beyond what the model can hold is flagged wherever the request is told', async () => {
  for (const stream of both) {
    const account = await house.account({ balance: '¥1' })
    upstream.next(saying('Hello!', { input: 8193, output: 5 }))
    const reply = await account.post(question('m', { stream }))
    await reply.text()
    const { request_id: id, ...record } = await recordOf(account, reply)
    assert.equal(record.usage_clamped, true)
    assert.equal(record.attempts[0]?.clamped, true)
    const shown = (await (await account.get(`/v1/requests/${id}`)).json()) as Record<string, unknown>
    assert.equal(shown['usage_clamped'], true)
    assert.equal('attempts' in shown, false)
  }
})

test('usage that is null at first and told at the end is what was told at the end', async () => {
  const account = await house.account({ balance: '¥1' })
  upstream.next(saying('Hello!', { input: 10, output: 5 }))
  const reply = await account.post(question('m', { stream: true, stream_options: { include_usage: true } }))
  assert.match(await reply.text(), /"usage":null/)
  assert.equal(nanosOf((await recordOf(account, reply)).cost), 60_000n)
})

test('a bill above what an account has takes the balance to zero, not below', async () => {
  for (const stream of both) {
    const account = await house.account({ balance: '¥0.001' })
    upstream.next(saying('Hello!', { input: 8000, output: 1000 }))
    const reply = await account.post(question('m', { stream }))
    assert.equal(reply.status, 200)
    await reply.text()
    assert.equal(Number(await account.balance()), 0)
    assert.equal((await account.post(question('m'))).status, 402)
  }
})

test('ten megabytes of image without usage are charged as an image, not as ten million characters', async () => {
  const url = `data:image/png;base64,${'iVBORw0K'.padEnd(10 * 1024 * 1024, 'A')}`
  const content = [
    { type: 'text', text: 'What is it?' },
    { type: 'image_url', image_url: { url } },
  ]
  for (const stream of both) {
    const account = await house.account({ balance: '¥0.1' })
    upstream.next(saying('A cat.', 'absent'))
    const reply = await account.post(question('m', { stream, messages: [{ role: 'user', content }] }))
    assert.equal(reply.status, 200)
    await reply.text()
    const { prompt_tokens: tokens } = await recordOf(account, reply)
    assert.ok(tokens >= 85 && tokens <= 2000, String(tokens))
  }
})

test('asking for what was answered, any number of times, costs nothing and changes no record', async () => {
  const account = await house.account({ balance: '¥1' })
  upstream.next(saying('Hello!', { input: 10, output: 5 }))
  const reply = await account.post(question('m'))
  const before = await recordOf(account, reply)
  for (let time = 0; time < 3; time++) {
    const told = await account.get(`/v1/requests/${before.request_id}`)
    assert.equal(((await told.json()) as { cost: string }).cost, before.cost)
    for (const path of ['/v1/models', '/v1/balance', '/v1/dashboard/billing/usage']) await account.get(path)
  }
  assert.equal(nanosOf(await account.balance()), nanosOf('1') - 60_000n)
  assert.deepEqual(await account.requests(), [before])
  assert.equal((await house.verify()).ok, true)
})

test('each answered call is charged once, each that fails not at all, whatever the upstreams tried before', async () => {
  const flaky = await house.upstream(failing(500))
  await house.model('flaky', { upstreams: [flaky, upstream], prices })
  const account = await house.account({ balance: '¥1' })
  upstream.always(saying('Hello!', { input: 10, output: 5 }))
  const replies = await Promise.all(Array.from({ length: 20 }, () => account.post(question('flaky'))))
  await Promise.all(replies.map((reply) => reply.text()))
  upstream.always(failing(500))
  for (const stream of both) assert.equal((await account.post(question('flaky', { stream }))).status, 503)
  upstream.always(saying('Hello!'))
  assert.equal(nanosOf(await account.balance()), nanosOf('1') - 20n * 60_000n)
  const costs = (await account.requests({ outcome: 'ok' })).map(({ cost }) => nanosOf(cost))
  assert.deepEqual(
    costs,
    Array.from({ length: 20 }, () => 60_000n),
  )
})

test('a hundred calls at once against a balance for five spend no more than the balance; the others are 402', async () => {
  // Each holds 1,000 output tokens at ¥0.008 per 1,000, and a few of input.
  const account = await house.account({ balance: '¥0.0402' })
  upstream.always(saying('Hello!', { input: 10, output: 1000 }))
  const asked = question('m', { max_tokens: 1000 })
  const watching = { over: false }
  const watch = (async () => {
    while (!watching.over) {
      const { available, balance } = await account.state()
      assert.ok(Number(available) >= 0 && Number(balance) >= 0, `${available} of ${balance}`)
    }
  })()
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const reply = await account.post(asked, { headers: { connection: 'close' } })
      await reply.text()
      return reply.status
    }),
  )
  watching.over = true
  await watch
  const served = statuses.filter((status) => status === 200).length
  assert.equal(statuses.filter((status) => status === 402).length, 100 - served)
  assert.ok(served >= 4 && served <= 5, `${served} were served`)
  assert.equal(nanosOf(await account.balance()), nanosOf('0.0402') - BigInt(served) * 8_020_000n)
})

test('a stream that outlives the balance ends as one that reached its maximum, says why, and has cost all there was', async () => {
  const account = await house.account({ balance: '¥0.01' })
  const forever = await house.upstream(endless(' more and more', 0))
  await house.model('forever', { upstreams: [forever], prices })
  const reply = await account.post(
    question('forever', { stream: true, stream_options: { include_usage: true } }),
  )
  const payloads = await payloadsOf(reply)
  assert.equal(payloads.at(-1), '[DONE]')
  const [last] = chunksOf(payloads).slice(-2)
  assert.equal(last?.choices?.[0]?.finish_reason, 'length')
  assert.equal(Reflect.get(Reflect.get(last ?? {}, 'sluice') as object, 'ended'), 'insufficient_quota')
  await forever.sawClose()
  const record = await recordOf(account, reply)
  assert.equal(record.outcome, 'ended')
  assert.deepEqual(
    usagesIn(payloads).map(({ cost }) => cost),
    [Number(record.cost)],
  )
  assert.equal(record.completion_tokens, Math.ceil(wordsOf(payloads).length / 4))
  const left = nanosOf(await account.balance())
  // Less than sixteen tokens are not worth another step.
  assert.ok(left >= 0n && left < 20n * 8000n, String(left))
})
