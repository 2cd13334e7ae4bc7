// @backend both
/** Graceful shutdown and kill -9: running requests finish or are charged to their mark; nothing is lost or duplicated. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { estimateTokens } from '../../../src/relay/request/token-estimate.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import type { RequestRecord } from '../../support/server/account.ts'
import { readEvents } from '../../support/client/event-streams.ts'
import { finalError, readError, streamedText } from '../../support/client/responses.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { neverRespond, pauseAfter, truncateAfter, waitFor } from '../../support/upstream/fault-injection.ts'
import { respondWith, respondWithDeltas, numberedWords } from '../../support/upstream/scripted-responses.ts'
import { scriptedDelay, waitUntil } from '../../support/wait.ts'

/** Long enough for some requests before the listener closes, and for running ones to finish after that. */
const server = await sharedTestServer({ env: { WORKERS: '2', DRAIN_DELAY: '2s', DRAIN_GRACE: '2s' } })
const usage = { input: 100, output: 50 }
let modelCount = 0

/** Adds a model with a name of its own, served by this upstream. */
async function addModel(upstream: RegisteredUpstream): Promise<string> {
  const model = `model-${++modelCount}`
  await server.model(model, { upstreams: [upstream] })
  return model
}

function streamRequest(model: string): object {
  return chatRequest(model, { stream: true })
}

/** Reads the text of a stream until it breaks, and passes each word to `onWord`. */
async function readWords(response: Response, onWord: (word: string) => void): Promise<string> {
  let text = ''
  try {
    for await (const event of readEvents(response)) {
      if (!event.startsWith('data: {')) continue
      const word = streamedText([event.slice('data: '.length)])
      text += word
      onWord(word)
    }
  } catch {
    // The connection is cut, as the test expects.
  }
  return text
}

function assertUnique(records: RequestRecord[], count: number): void {
  assert.equal(records.length, count)
  assert.equal(new Set(records.map(({ request_id: id }) => id)).size, count)
}

describe('Shutdown', () => {
  test('SIGTERM – /readyz fails at once, running requests finish, exit code 0', async () => {
    const resume = Promise.withResolvers<void>()
    const upstream = await server.upstream(pauseAfter(4, resume.promise, respondWithDeltas(50, usage)))
    const model = await addModel(upstream)
    const slow = await server.upstream(waitFor(resume.promise, respondWith('At last.', usage)))
    const slowModel = await addModel(slow)
    const account = await server.account({ balance: '¥1' })
    const streams = await Promise.all(Array.from({ length: 10 }, () => account.post(streamRequest(model))))
    const nonStreaming = account.post(chatRequest(slowModel))
    await slow.nextRequest()

    const exit = server.stop()
    const stoppedAtMs = performance.now()
    // Each connection leads to one of the two workers, which begin to drain one after the other.
    for (let inARow = 0; inARow < 10;) {
      assert.ok(performance.now() - stoppedAtMs < 60_000)
      inARow = (await fetch(`${server.url}/readyz`)).status === 503 ? inARow + 1 : 0
    }
    const notReady = await fetch(`${server.url}/readyz`)
    assert.deepEqual([notReady.status, notReady.headers.get('retry-after')], [503, '1'])
    assert.equal((await readError(notReady)).code, 'service_unavailable')
    for (const path of ['/healthz', '/openapi.json', '/console/']) {
      const { headers } = await fetch(`${server.url}${path}`)
      assert.equal(headers.get('connection'), 'close', path)
    }
    upstream.next(respondWith('Late, but welcome.', usage))
    const late = await account.post(streamRequest(model))
    assert.equal(late.headers.get('connection'), 'close')
    assert.match(await late.text(), /\[DONE\]/)
    await waitUntil(
      () =>
        fetch(`${server.url}/healthz`).then(
          () => false,
          () => true,
        ),
      'the port to be closed',
    )
    resume.resolve()

    for (const response of streams) {
      const payloads = await readPayloads(response)
      assert.equal(streamedText(payloads), numberedWords(50).join(''))
      assert.equal(payloads.at(-1), '[DONE]')
    }
    assert.match(await (await nonStreaming).text(), /At last\./)
    assert.deepEqual(await exit, { code: 0, signal: null })

    await server.restart()
    await server.assertNoOpenHolds()
    const records = await account.requests()
    assert.deepEqual(new Set(records.map(({ outcome }) => outcome)), new Set(['ok']))
    assert.equal(records.length, 12)
    assert.equal(Number(await account.balance()), 1 - (12 * 0.002 * 150) / 1000)
  })

  test('Start – the port opens when the relay is ready, so no request gets a 503', async () => {
    await server.kill()
    const readStatus = (): Promise<number> =>
      fetch(`${server.url}/readyz`).then(
        ({ status }) => status,
        () => 0,
      )
    const statuses = new Set<number>()
    const start = { isOver: false }
    const started = server.restart().finally(() => (start.isOver = true))
    while (!start.isOver) statuses.add(await readStatus())
    await started
    statuses.add(await readStatus())
    assert.deepEqual([...statuses], [0, 200])
  })

  test('DRAIN_GRACE exceeded – streams end with an error, are charged, and exit code is 0', async () => {
    const upstream = await server.upstream(truncateAfter(11, 'hang', respondWithDeltas(50, usage)))
    const model = await addModel(upstream)
    const silentUpstream = await server.upstream(neverRespond)
    const silentModel = await addModel(silentUpstream)
    const account = await server.account({ balance: '¥1' })
    const response = await account.post(streamRequest(model))
    const silent = account.post(chatRequest(silentModel))
    await Promise.all([upstream.nextRequest(), silentUpstream.nextRequest()])
    const exit = server.stop()

    const payloads = await readPayloads(response)
    assert.equal(streamedText(payloads), numberedWords(10).join(''))
    assert.equal(finalError(payloads).code, 'service_unavailable')
    assert.equal((await silent).status, 503)
    assert.deepEqual(await exit, { code: 0, signal: null })

    await server.restart()
    await server.assertNoOpenHolds()
    const [ended] = await account.requests({ outcome: 'ended' })
    assert.equal(ended?.completion_tokens, estimateTokens(numberedWords(10).join('')))
    assert.equal(Number(ended.cost).toFixed(9), (((3 + ended.completion_tokens) * 0.002) / 1000).toFixed(9))
  })

  test('kill -9 – each stream is charged as delivered, less at most 64 tokens', async () => {
    /** The streams stall after this many events; the first event has no word. */
    const pauses = [30, 90, 200, 400, 700]
    const upstream = await server.upstream(respondWith('Done.', usage))
    const model = await addModel(upstream)
    const account = await server.account({ balance: '¥1' })
    for (let call = 0; call < 3; call++) await (await account.post(chatRequest(model))).text()
    for (const count of pauses) upstream.next(truncateAfter(count, 'hang', respondWithDeltas(1000, usage)))
    const received = pauses.map((count) => numberedWords(count - 1))
    let missing = received.flat().length
    const allReceived = Promise.withResolvers<void>()
    const reads = pauses.map(async () => {
      const response = await account.post(streamRequest(model))
      const text = await readWords(response, (word) => {
        if (word !== '' && --missing === 0) allReceived.resolve()
      })
      return { id: response.headers.get('x-request-id') ?? '', text }
    })
    await allReceived.promise
    await server.kill()
    const delivered = await Promise.all(reads)
    await server.restart()

    await server.assertNoOpenHolds()
    const records = await account.requests()
    assertUnique(records, 3 + pauses.length)
    for (const { id, text } of delivered) {
      const record = records.find((each) => each.request_id === id)
      const charged = record?.completion_tokens ?? 0
      // The client received everything that the upstream sent.
      assert.ok(received.some((each) => each.join('') === text))
      const [minimum, maximum] = [estimateTokens(text) - 64, estimateTokens(text)]
      assert.ok(minimum <= charged && charged <= maximum, `${minimum} ≤ ${charged} ≤ ${maximum}`)
      assert.deepEqual([record?.usage_source, record?.outcome], ['estimate', 'ended'])
      assert.deepEqual([record?.http_status, record?.upstream], [200, upstream.id])
    }
    const paid = records.reduce((sum, { cost }) => sum + Number(cost), 0)
    assert.equal(Number(await account.balance()).toFixed(9), (1 - paid).toFixed(9))
    assert.equal((await account.post(chatRequest(model))).status, 200)
  })

  test('Repeated kill -9 – each completed request is charged once and no hold stays open', async () => {
    const model = await addModel(await server.upstream(respondWith('Done.', usage)))
    const account = await server.account({ balance: '¥10' })
    const completed = new Set<string>()
    for (const lifeMs of [60, 150]) {
      const running = { isActive: true }
      const callers = Array.from({ length: 16 }, async (_, index) => {
        while (running.isActive) {
          try {
            const response = await account.post(index % 2 === 0 ? chatRequest(model) : streamRequest(model))
            const text = await response.text()
            if (index % 2 === 0 || text.includes('[DONE]'))
              completed.add(response.headers.get('x-request-id') ?? '')
          } catch {
            running.isActive = false
          }
        }
      })
      await scriptedDelay(lifeMs)
      await server.kill()
      await Promise.all(callers)
      await server.restart()
    }
    await server.assertNoOpenHolds()
    const charged = new Map<string, string>()
    let page: { data: RequestRecord[]; next: string | null } = { data: [], next: '' }
    while (page.next !== null) {
      page = await server.admin(
        'GET',
        `/requests?account=${account.id}&limit=100${page.next === '' ? '' : `&cursor=${page.next}`}`,
      )
      for (const { request_id: id, cost } of page.data) {
        assert.ok(!charged.has(id), id)
        charged.set(id, cost)
      }
    }
    for (const id of completed) assert.equal(charged.get(id), '0.0003', id)
    const paid = [...charged.values()].reduce((sum, cost) => sum + Number(cost), 0)
    assert.equal(Number(await account.balance()).toFixed(9), (10 - paid).toFixed(9))
  })

  test('Rate limit windows – are restored from the journal after kill -9', async () => {
    const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 400 }))
    const model = await addModel(upstream)
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { rpm: 4, tpm: 1000 } })
    const short = chatRequest(model)
    for (let call = 0; call < 2; call += 1) assert.equal((await account.post(short)).status, 200)
    const long = chatRequest(model, { max_tokens: 500 })
    // A node of a cluster that is killed before Redis has the actual tokens leaves the reserved ones in the window.
    await waitUntil(async () => {
      const { headers } = await account.post(long)
      return headers.get('x-ratelimit-remaining-tokens') === '180'
    }, 'actual tokens in the window')
    await server.kill()
    await server.restart()
    const response = await account.post(long)
    assert.equal(response.status, 429, 'two responses of 410 tokens are counted')
    for (const status of [200, 429]) assert.equal((await account.post(short)).status, status)
  })
})
