/** Streamed answers as callers, providers and the ledger see them: their shape, their usage, who leaves, silence, odd bytes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { chunksOf, eventsOf, newestRecord, recordOf, usagesIn, wordsOf } from './support/client/responses.ts'
import { shareHouse } from './support/server/test-server.ts'
import {
  mute,
  muteAfterHeaders,
  pausingAfter,
  slow,
  waiting,
  waitingFor,
} from './support/upstream/fault-injection.ts'
import { refusingStreamOptions, saying, sayingMany, words } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const usage = { input: 1000, output: 100 }
const upstream = await house.upstream(saying('Hello, world!', usage))
/** In nanos per token: 2,000 in, 8,000 out. */
await house.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const streamed = question('m', { stream: true })
const withUsage = question('m', { stream: true, stream_options: { include_usage: true } })
const priceOfUsage = nanosOf('0.0028')

test('a caller who leaves is charged once, for the prompt and what was delivered, and the upstream is closed', async () => {
  const account = await house.account({ balance: '¥1' })
  const never = Promise.withResolvers<void>()
  upstream.next(pausingAfter(401, never.promise, sayingMany(1000, usage)))
  const leaving = new AbortController()
  const reply = await account.post(streamed, { signal: leaving.signal })
  let deltas = 0
  for await (const event of eventsOf(reply)) if (event.includes('" w') && ++deltas === 200) break
  const leftMs = performance.now()
  leaving.abort()
  assert.ok(((await upstream.sawClose()).abortedAt ?? Infinity) - leftMs < 1000)
  never.resolve()

  const record = await recordOf(account, reply)
  assert.equal(record.outcome, 'aborted')
  assert.equal(record.usage_source, 'estimate')
  assert.equal(record.prompt_tokens, Math.ceil('Say hello.'.length / 4))
  const least = Math.ceil(words(200).join('').length / 4) - 64
  const most = Math.ceil(words(400).join('').length / 4)
  const charged = record.completion_tokens
  assert.ok(charged >= least && charged <= most, `${least} ≤ ${charged} ≤ ${most}`)
  const cost = BigInt(record.prompt_tokens) * 2000n + BigInt(charged) * 8000n
  assert.equal(nanosOf(record.cost), cost)
  assert.equal(nanosOf(await account.balance()), nanosOf('1') - cost)
  assert.equal((await account.requests()).length, 1)
})

for (const [name, script] of Object.entries({
  'says nothing at all': mute,
  'only sends headers': muteAfterHeaders,
})) {
  test(`when a caller leaves an upstream that ${name}, it is closed at once and nobody else is asked`, async () => {
    const silent = await house.upstream(script)
    const other = await house.upstream(saying('Too late.'))
    await house.model(`silent-${silent.id}`, { upstreams: [silent, other] })
    const account = await house.account({ balance: '¥1' })
    for (const stream of [true, false]) {
      const leaving = new AbortController()
      const asked = question(`silent-${silent.id}`, { stream })
      const outcome = assert.rejects(
        account.post(asked, { signal: leaving.signal }).then((reply) => reply.text()),
        { name: 'AbortError' },
      )
      await silent.sawRequest()
      const leftMs = performance.now()
      leaving.abort()
      await outcome
      assert.ok(((await silent.sawClose()).abortedAt ?? Infinity) - leftMs < 1000)
      await house.nothingHeld()
    }
    assert.equal(other.requests.length, 0)
    assert.equal(silent.requests.length, 2)
    assert.equal((await newestRecord(account)).outcome, 'aborted')
    assert.equal(await account.balance(), '1')
  })
}

test('where the operator says so, what its caller has left is read on, and billed as the provider says', async () => {
  const patient = await house.upstream(saying(''), { on_abort: 'drain' })
  await house.model('drained', { upstreams: [patient] })
  for (const stream of [true, false]) {
    const account = await house.account({ balance: '¥1' })
    const word = Promise.withResolvers<void>()
    // Slow enough that the relay learns of the caller who left before the end.
    const script = sayingMany(100, usage)
    patient.next(
      stream
        ? pausingAfter(20, word.promise, slow(script, 3))
        : waitingFor(word.promise, waiting(250, script)),
    )
    const leaving = new AbortController()
    const asked = account.post(question('drained', { stream }), { signal: leaving.signal })
    await patient.sawRequest()
    if (stream) for await (const event of eventsOf(await asked)) if (event.includes(' w5"')) break
    leaving.abort()
    if (!stream) await assert.rejects(asked, { name: 'AbortError' })
    word.resolve()

    const record = await newestRecord(account)
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
  test(`with ${JSON.stringify(options)} the provider is asked for usage, the bill is its own, and the caller sees none`, async () => {
    const account = await house.account({ balance: '¥1' })
    const reply = await account.post({ ...streamed, ...options })
    const payloads = await payloadsOf(reply)

    const asked = upstream.requests.at(-1)?.json['stream_options']
    assert.deepEqual(asked, { include_usage: true })
    assert.equal(payloads.at(-1), '[DONE]')
    const chunks = chunksOf(payloads)
    assert.ok(chunks.every((chunk) => chunk.choices?.length === 1 && !chunk.usage))
    assert.equal(chunks.at(-1)?.choices?.[0]?.finish_reason, 'stop')
    assert.equal(wordsOf(payloads), 'Hello, world!')
    const record = await recordOf(account, reply)
    assert.deepEqual([record.outcome, record.usage_source, record.finish], ['ok', 'provider', 'stop'])
    assert.equal(nanosOf(record.cost), priceOfUsage)
  })
}

test('who asks for usage gets the finish, then one chunk without choices with usage and cost, then [DONE]', async () => {
  const account = await house.account({ balance: '¥1' })
  const reply = await account.post(withUsage)
  const payloads = await payloadsOf(reply)

  assert.equal(payloads.at(-1), '[DONE]')
  const [finish, last] = chunksOf(payloads).slice(-2)
  assert.equal(finish?.choices?.[0]?.finish_reason, 'stop')
  assert.deepEqual(last?.choices, [])
  assert.deepEqual([last?.usage?.['prompt_tokens'], last?.usage?.['completion_tokens']], [1000, 100])
  assert.equal(last?.usage?.['cost'], 0.0028)
  assert.equal(chunksOf(payloads).filter((chunk) => chunk.usage).length, 1)
})

test('a provider whose tokens are longer than the estimate thinks is not held back at the maximum', async () => {
  const account = await house.account({ balance: '¥1' })
  const word = Promise.withResolvers<void>()
  upstream.next(pausingAfter(101, word.promise, sayingMany(101, { input: 10, output: 20 })))
  const reply = await account.post({ ...streamed, max_tokens: 20 })
  let read = ''
  for await (const event of eventsOf(reply)) {
    read += event
    if (event.includes('" w100"')) word.resolve()
  }
  assert.match(read, /\[DONE\]$/)
  assert.equal((await recordOf(account, reply)).completion_tokens, 20)
})

for (const status of [400, 422]) {
  test(`an upstream that refuses stream_options with ${status} is asked once more without, and remembered`, async () => {
    const old = await house.upstream(refusingStreamOptions(saying('Hello, old friend!', usage), status))
    await house.model(`old-${status}`, { upstreams: [old] })
    const account = await house.account({ balance: '¥1' })
    for (const body of [{ stream: true }, { stream: true, stream_options: { include_usage: true } }]) {
      const reply = await account.post(question(`old-${status}`, body))
      const payloads = await payloadsOf(reply)
      assert.equal(wordsOf(payloads), 'Hello, old friend!')
      assert.equal(payloads.at(-1), '[DONE]')
      const record = await recordOf(account, reply)
      assert.deepEqual([record.usage_source, record.completion_tokens], ['estimate', 5])
      const told = usagesIn(payloads)
      assert.deepEqual(
        told.map((each) => [each['completion_tokens'], each['cost']]),
        'stream_options' in body ? [[5, Number(record.cost)]] : [],
      )
    }
    assert.deepEqual(
      old.requests.map(({ json }) => 'stream_options' in json),
      [true, false, false],
    )
  })
}
