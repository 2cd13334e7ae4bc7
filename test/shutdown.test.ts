/** The end of a relay, asked for or not: what runs is finished or paid for to the mark, and nothing is lost or doubled. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { estimateOf } from '../src/relay/request/token-estimate.ts'
import { payloadsOf, question } from './support/server/account.ts'
import type { RequestRecord } from './support/server/account.ts'
import { eventsOf, lastError, refusalIn, wordsOf } from './support/client/responses.ts'
import { openHouse } from './support/server/test-server.ts'
import { mute, pausingAfter, truncating, waitingFor } from './support/upstream/fault-injection.ts'
import { saying, sayingMany, words } from './support/upstream/scripted-responses.ts'

const usage = { input: 100, output: 50 }
const streamed = question('m', { stream: true })

/** The words that come out of a stream until it breaks off; `onWord` is told each. */
async function wordsUntilTheEnd(reply: Response, onWord: (word: string) => void): Promise<string> {
  let text = ''
  try {
    for await (const event of eventsOf(reply)) {
      if (!event.startsWith('data: {')) continue
      const word = wordsOf([event.slice('data: '.length)])
      text += word
      onWord(word)
    }
  } catch {
    // The connection was cut: that is the story.
  }
  return text
}

test('after SIGTERM it is not ready at once, still answers for a while, finishes what runs, and exits with 0', async (t) => {
  const house = await openHouse(t, { env: { DRAIN_DELAY: '600ms' } })
  const word = Promise.withResolvers<void>()
  const upstream = await house.upstream(pausingAfter(4, word.promise, sayingMany(50, usage)))
  await house.model('m', { upstreams: [upstream] })
  const slow = await house.upstream(waitingFor(word.promise, saying('At last.', usage)))
  await house.model('slow', { upstreams: [slow] })
  const account = await house.account({ balance: '¥1' })
  const streams = await Promise.all(Array.from({ length: 10 }, () => account.post(streamed)))
  const whole = account.post(question('slow'))
  await slow.sawRequest()

  const exit = house.stop()
  const askedMs = performance.now()
  while ((await fetch(`${house.url}/readyz`)).status === 200) assert.ok(performance.now() - askedMs < 10_000)
  const notReady = await fetch(`${house.url}/readyz`)
  assert.deepEqual([notReady.status, notReady.headers.get('retry-after')], [503, '1'])
  assert.equal((await refusalIn(notReady)).code, 'service_unavailable')
  assert.equal((await fetch(`${house.url}/healthz`)).status, 200)
  upstream.next(saying('Late, but welcome.', usage))
  const late = await account.post(streamed)
  assert.equal(late.headers.get('connection'), 'close')
  assert.match(await late.text(), /\[DONE\]/)
  while (
    await fetch(`${house.url}/healthz`).then(
      () => true,
      () => false,
    )
  )
    await delay(20)
  word.resolve()

  for (const reply of streams) {
    const payloads = await payloadsOf(reply)
    assert.equal(wordsOf(payloads), words(50).join(''))
    assert.equal(payloads.at(-1), '[DONE]')
  }
  assert.match(await (await whole).text(), /At last\./)
  assert.deepEqual(await exit, { code: 0, signal: null })

  await house.restart()
  await house.nothingHeld()
  const records = await account.requests()
  assert.deepEqual(new Set(records.map(({ outcome }) => outcome)), new Set(['ok']))
  assert.equal(records.length, 12)
  assert.equal(Number(await account.balance()), 1 - (12 * 0.002 * 150) / 1000)
})

test('what does not finish within the grace ends with an error event, is charged for what came, and the exit is still 0', async (t) => {
  const house = await openHouse(t, { env: { DRAIN_GRACE: '300ms' } })
  const upstream = await house.upstream(truncating(11, 'hang', sayingMany(50, usage)))
  await house.model('m', { upstreams: [upstream] })
  const silence = await house.upstream(mute)
  await house.model('mute', { upstreams: [silence] })
  const account = await house.account({ balance: '¥1' })
  const reply = await account.post(streamed)
  const silent = account.post(question('mute'))
  await Promise.all([upstream.sawRequest(), silence.sawRequest()])
  const exit = house.stop()

  const payloads = await payloadsOf(reply)
  assert.equal(wordsOf(payloads), words(10).join(''))
  assert.equal(lastError(payloads).code, 'service_unavailable')
  assert.equal((await silent).status, 503)
  assert.deepEqual(await exit, { code: 0, signal: null })

  await house.restart()
  await house.nothingHeld()
  const [ended] = await account.requests({ outcome: 'ended' })
  assert.equal(ended?.completion_tokens, estimateOf(words(10).join('')))
  assert.equal(Number(ended.cost).toFixed(9), (((3 + ended.completion_tokens) * 0.002) / 1000).toFixed(9))
})

function chargedOnce(records: RequestRecord[], count: number): void {
  assert.equal(records.length, count)
  assert.equal(new Set(records.map(({ request_id: id }) => id)).size, count)
}

test('after kill -9 each stream is charged for what was delivered, less 64 tokens at most, and what was done stays done', async (t) => {
  const house = await openHouse(t, { env: { WORKERS: '2' } })
  /** After so many events the streams fall silent; the first has no word. */
  const pauses = [30, 90, 200, 400, 700]
  const upstream = await house.upstream(saying('Done.', usage))
  await house.model('m', { upstreams: [upstream] })
  const account = await house.account({ balance: '¥1' })
  for (let call = 0; call < 3; call++) await (await account.post(question('m'))).text()
  for (const count of pauses) upstream.next(truncating(count, 'hang', sayingMany(1000, usage)))
  const received = pauses.map((count) => words(count - 1))
  let missing = received.flat().length
  const allCame = Promise.withResolvers<void>()
  const reading = pauses.map(async () => {
    const reply = await account.post(streamed)
    const text = await wordsUntilTheEnd(reply, (word) => {
      if (word !== '' && --missing === 0) allCame.resolve()
    })
    return { id: reply.headers.get('x-request-id') ?? '', words: text }
  })
  await allCame.promise
  await house.kill()
  const delivered = await Promise.all(reading)
  const restartedMs = performance.now()
  await house.restart()
  assert.ok(performance.now() - restartedMs < 25_000)

  await house.nothingHeld()
  const records = await account.requests()
  chargedOnce(records, 3 + pauses.length)
  for (const { id, words: text } of delivered) {
    const record = records.find((each) => each.request_id === id)
    const charged = record?.completion_tokens ?? 0
    // All that was received had been delivered.
    assert.ok(received.some((each) => each.join('') === text))
    const [least, most] = [estimateOf(text) - 64, estimateOf(text)]
    assert.ok(least <= charged && charged <= most, `${least} ≤ ${charged} ≤ ${most}`)
    assert.deepEqual([record?.usage_source, record?.outcome], ['estimate', 'ended'])
    assert.deepEqual([record?.http_status, record?.upstream], [200, upstream.id])
  }
  const paid = records.reduce((sum, { cost }) => sum + Number(cost), 0)
  assert.equal(Number(await account.balance()).toFixed(9), (1 - paid).toFixed(9))
  assert.equal((await account.post(question('m'))).status, 200)
})

test('killed again and again among running calls, each completed call is charged once and nothing stays held', async (t) => {
  const house = await openHouse(t, { env: { WORKERS: '2' } })
  await house.model('m', { upstreams: [await house.upstream(saying('Done.', usage))] })
  const account = await house.account({ balance: '¥10' })
  const completed = new Set<string>()
  for (const lifeMs of [60, 150]) {
    const living = { on: true }
    const callers = Array.from({ length: 16 }, async (_, index) => {
      while (living.on) {
        try {
          const reply = await account.post(index % 2 === 0 ? question('m') : streamed)
          const text = await reply.text()
          if (index % 2 === 0 || text.includes('[DONE]'))
            completed.add(reply.headers.get('x-request-id') ?? '')
        } catch {
          living.on = false
        }
      }
    })
    await delay(lifeMs)
    await house.kill()
    await Promise.all(callers)
    await house.restart()
  }
  await house.nothingHeld()
  const charged = new Map<string, string>()
  let page: { data: RequestRecord[]; next: string | null } = { data: [], next: '' }
  while (page.next !== null) {
    page = await house.admin('GET', `/requests?limit=100${page.next === '' ? '' : `&cursor=${page.next}`}`)
    for (const { request_id: id, cost } of page.data) {
      assert.ok(!charged.has(id), id)
      charged.set(id, cost)
    }
  }
  for (const id of completed) assert.equal(charged.get(id), '0.0003', id)
  const paid = [...charged.values()].reduce((sum, cost) => sum + Number(cost), 0)
  assert.equal(Number(await account.balance()).toFixed(9), (10 - paid).toFixed(9))
})

test('the last minute is remembered over kill -9, by journal and not by checkpoint', async (t) => {
  const own = await openHouse(t)
  const short = question('m', { max_tokens: 10 })
  const up = await own.upstream(saying('Hello!', { input: 10, output: 400 }))
  await own.model('m', { upstreams: [up] })
  const account = await own.account({ balance: '1' })
  await account.change({ limits: { rpm: 4, tpm: 1000 } })
  for (let call = 0; call < 2; call += 1) assert.equal((await account.post(short)).status, 200)
  await own.kill()
  await own.restart()
  const reply = await account.post(question('m', { max_tokens: 500 }))
  assert.equal(reply.status, 429, 'two answers of 410 tokens are counted')
  for (const status of [200, 429]) assert.equal((await account.post(short)).status, status)
  await own.nothingHeld()
})
