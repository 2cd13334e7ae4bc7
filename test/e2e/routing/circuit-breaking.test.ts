// @backend both
/** Circuit breaking: when an upstream is taken out of rotation, how it comes back, and that callers cannot trigger it. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readPayloads, chatRequest, type Account } from '../../support/server/account.ts'
import { parseChunks, waitForRecord } from '../../support/client/responses.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { truncateAfter, waitFor } from '../../support/upstream/fault-injection.ts'
import {
  respondWithError,
  respondWithJson,
  respondWith,
  respondWithDeltas,
} from '../../support/upstream/scripted-responses.ts'
import { runInParallel } from '../../long/failover-load.ts'
import { upstreamHealth } from '../../support/server/upstream-health.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const usage = { input: 10, output: 5 }
const healthy = respondWith('Hello!', usage)

/** A model with two upstreams, the first of which has the higher priority. */
async function createModel(
  first: Script,
): Promise<{ model: string; first: RegisteredUpstream; second: RegisteredUpstream }> {
  const upstreams = [await server.upstream(first), await server.upstream(healthy)] as const
  const model = `model-${upstreams[0].id}`
  await server.model(model, { upstreams: [...upstreams] })
  return { model, first: upstreams[0], second: upstreams[1] }
}

async function sendRequests(account: Account, model: string, times = 1): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const response = await account.post(chatRequest(model))
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
}

const creditText = 'Your credit balance is too low to access the API.'
const callerErrors: Record<string, Script> = {
  'an unknown model': respondWithError(404, { error: { message: 'The model `x` does not exist' } }),
  'a prompt above the context length': respondWithError(400, {
    error: { message: 'maximum context length is 8192 tokens' },
  }),
  'a 400 about credit': respondWithError(400, { error: { message: creditText } }),
  'a body above the size limit': respondWithError(413),
  'an invalid value': respondWithError(422),
  'an error with status 200': respondWithJson(200, { error: { message: creditText, code: 400 } }),
}

describe('Circuit breaking', () => {
  test('Healthy upstreams – each request takes one attempt and the circuit is closed', async () => {
    const { model, first, second } = await createModel(healthy)
    const account = await server.account({ balance: '¥1' })
    await sendRequests(account, model, 40)
    assert.deepEqual([first.requests.length, second.requests.length], [40, 0])
    const health = await waitUntil(async () => {
      const found = await upstreamHealth(server, first.id)
      return found.requests === 40 ? found : undefined
    }, 'the requests of both workers')
    assert.equal(health.state, 'closed')
    assert.equal(health.error_rate, 0)
    assert.equal(health.why, '')
    assert.ok((health.latency_ms ?? -1) >= 0)
    assert.ok(Date.parse(health.since) <= Date.now())
  })

  test('Failing upstream – opens its circuit, and gets its share again after it recovers', async () => {
    const { model, first } = await createModel(respondWithError(500))
    const account = await server.account({ balance: '¥1' })
    await sendRequests(account, model, 30)
    assert.ok(first.requests.length <= 7, `called ${first.requests.length} times`)
    const down = await upstreamHealth(server, first.id)
    assert.equal(down.state, 'open')
    assert.equal(down.error_rate, 1)
    assert.match(down.why, /500/)
    assert.ok(down.next_probe_at !== null)
    first.always(healthy)
    await waitUntil(async () => {
      await sendRequests(account, model)
      return (await upstreamHealth(server, first.id)).state === 'closed'
    }, 'the first upstream in rotation')
    const before = first.requests.length
    await sendRequests(account, model, 10)
    assert.equal(first.requests.length - before, 10, 'its full share')
    for (const message of ['circuit opened', 'circuit closed']) {
      await waitUntil(
        () => server.log.some((line) => line.includes(message) && line.includes(first.name)),
        message,
      )
    }
  })

  test('Half-open circuit – one request probes, the others do not wait, across two workers', async () => {
    const { model, first, second } = await createModel(respondWithError(503))
    const account = await server.account({ balance: '¥1' })
    await sendRequests(account, model, 8)
    const { next_probe_at: due } = await upstreamHealth(server, first.id)
    await waitUntil(() => Date.now() > Date.parse(due ?? ''), 'the time of the probe')
    const [firstBefore, secondBefore] = [first.requests.length, second.requests.length]
    const resume = Promise.withResolvers<void>()
    first.always(waitFor(resume.promise, healthy))
    const all = runInParallel({ requests: 20, concurrency: 20 }, () => sendRequests(account, model))
    await waitUntil(() => second.requests.length - secondBefore === 19, '19 requests to the other upstream')
    assert.equal(first.requests.length - firstBefore, 1)
    assert.equal((await upstreamHealth(server, first.id)).state, 'half-open')
    resume.resolve()
    await all
    await waitUntil(
      async () => (await upstreamHealth(server, first.id)).state === 'closed',
      'the circuit closed',
    )
  })

  test('All circuits open – the least bad upstream is still called, so it can recover', async () => {
    const { model, first, second } = await createModel(respondWithError(500))
    second.always(respondWithError(500))
    const account = await server.account({ balance: '¥1' })
    for (let count = 0; count < 12; count += 1) {
      const requestsBefore = first.requests.length + second.requests.length
      assert.equal((await account.post(chatRequest(model))).status, 503)
      assert.ok(first.requests.length + second.requests.length > requestsBefore, 'no 503 without an attempt')
    }
    second.always(healthy)
    await sendRequests(account, model)
  })

  test('Forwarded content – no upstream receives the request again after the first content', async () => {
    const { model, first, second } = await createModel(truncateAfter(3, 'reset', respondWithDeltas(9, usage)))
    const account = await server.account({ balance: '¥1' })
    const responses = await runInParallel({ requests: 30, concurrency: 6 }, async (number) => {
      const text = `request ${number}`
      const messages = [{ role: 'user', content: text }]
      const response = await account.post({ ...chatRequest(model, { stream: true }), messages })
      const payloads = await readPayloads(response)
      return { text, isBroken: parseChunks(payloads).some(({ error }) => error) }
    })
    const broken = responses.filter(({ isBroken }) => isBroken)
    assert.ok(
      broken.length >= 5 && broken.length <= 12,
      `${broken.length} were truncated before the circuit opened`,
    )
    for (const { text } of responses) {
      const received = [first, second].flatMap(({ requests }) =>
        requests.filter((each) => each.text.includes(`"${text}"`)),
      )
      assert.equal(received.length, 1)
    }
  })

  for (const [name, script] of Object.entries(callerErrors)) {
    test(`Requests that cause ${name} – do not affect the upstream for others`, async () => {
      const { model, first, second } = await createModel(healthy)
      const [offender, other] = [
        await server.account({ balance: '¥1' }),
        await server.account({ balance: '¥1' }),
      ]
      first.always(script)
      second.always(script)
      await runInParallel({ requests: 30, concurrency: 6 }, async () => {
        const response = await offender.post(chatRequest(model))
        assert.ok(response.status >= 400 && response.status < 500, String(response.status))
        await response.arrayBuffer()
      })
      first.always(healthy)
      second.always(healthy)
      const before = first.requests.length
      await sendRequests(other, model, 10)
      assert.equal(first.requests.length - before, 10)
      for (const { id } of [first, second]) {
        const { state, credentials } = await upstreamHealth(server, id)
        assert.deepEqual([state, credentials[0]?.state], ['closed', 'closed'])
      }
    })
  }

  test('429 from an upstream – opens the circuit for its Retry-After, for this model only', async () => {
    const { model, first, second } = await createModel(
      respondWithError(429, undefined, { 'retry-after': '300' }),
    )
    await server.model(`other-${model}`, { upstreams: [first, second] })
    const account = await server.account({ balance: '¥1' })
    await sendRequests(account, model, 5)
    assert.equal(first.requests.length, 1)
    const busy = await upstreamHealth(server, first.id, model)
    assert.equal(busy.state, 'open')
    assert.match(busy.why, /Rate limited/)
    const waitMs = Date.parse(busy.next_probe_at ?? '') - Date.now()
    assert.ok(waitMs > 200_000 && waitMs <= 300_000, `${waitMs} ms`)
    first.always(healthy)
    await sendRequests(account, `other-${model}`, 3)
    assert.equal(first.requests.length, 4)
  })

  test('One request – calls each upstream once and at most three in all', async () => {
    const scripts = [
      respondWithError(401),
      respondWithError(402),
      respondWithError(429),
      respondWithError(500),
      healthy,
    ]
    const upstreams: RegisteredUpstream[] = []
    for (const script of scripts) upstreams.push(await server.upstream(script))
    await server.model('taxonomy', { upstreams })
    const account = await server.account({ balance: '¥1' })
    const response = await account.post(chatRequest('taxonomy'))
    assert.equal(response.status, 503)
    const { attempts } = await waitForRecord(account, response)
    assert.deepEqual(
      attempts.map(({ http_status: status }) => status),
      [401, 402, 429],
    )
    assert.deepEqual(
      upstreams.map(({ requests }) => requests.length),
      [1, 1, 1, 0, 0],
    )
    await sendRequests(account, 'taxonomy')
  })
})
