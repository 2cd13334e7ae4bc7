// @backend both (cluster in long runs)
/** Embeddings of more inputs than a provider takes at once: several calls at the same time. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { waitForNewestRecord, waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Exchange, Script } from '../../support/upstream/exchange.ts'
import { neverRespond, waitFor } from '../../support/upstream/fault-injection.ts'
import { respondWithError, respondWithJson } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const account = await server.account({ balance: '100' })

/** One-dimensional embeddings of texts that are numbers. */
const respond: Script = (exchange: Exchange) => {
  const inputs = exchange.request.json['input'] as string[]
  const data = inputs.map((text, index) => ({ object: 'embedding', index, embedding: [Number(text)] }))
  const usage = { prompt_tokens: inputs.length, total_tokens: inputs.length }
  return respondWithJson(200, { object: 'list', data, model: 'text-embedding-v4', usage })(exchange)
}

// Qwen takes ten texts a call.
const upstream = await server.upstream(respond, { provider: 'qwen', timeouts: { answer_ms: 2000 } })
await server.admin('POST', '/models', {
  id: 'batched',
  operations: ['embeddings'],
  context_tokens: 8192,
  prices: { input: '0.001' },
  routes: [{ upstream: upstream.id, model: 'text-embedding-v4' }],
})

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

const bodyWith = (count: number) => ({ model: 'batched', input: numbers(count) })
const path = '/v1/embeddings'
const embed = (count: number): Promise<Response> => account.post(bodyWith(count), { path })

/** Waits until this many more requests have arrived; returns them. */
async function arrived(before: number, count: number) {
  await waitUntil(() => upstream.requests.length >= before + count, `${count} calls`)
  return upstream.requests.slice(before)
}

describe('Calls of one request', () => {
  test('Four at the same time – another follows each response; inputs decide the order', async () => {
    const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>())
    upstream.next(...gates.map(({ promise }) => waitFor(promise, respond)))
    const before = upstream.requests.length
    const pending = embed(55)
    assert.equal((await arrived(before, 4)).length, 4)
    gates[3]?.resolve()
    assert.equal((await arrived(before, 5)).length, 5)
    for (const { resolve } of gates.toReversed()) resolve()
    const response = await pending
    const { data, usage } = (await response.json()) as {
      data: { index: number; embedding: number[] }[]
      usage: object
    }
    assert.deepEqual(
      data.map(({ index, embedding }) => [index, embedding]),
      numbers(55).map((text, index) => [index, [Number(text)]]),
    )
    assert.deepEqual(usage, { prompt_tokens: 55, total_tokens: 55 })
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.prompt_tokens, record.attempts.length], [55, 1])
  })

  test('One that fails – cancels the others, decides the status and costs nothing', async () => {
    const balance = await account.balance()
    const before = upstream.requests.length
    const others = Promise.withResolvers<void>()
    const failing = waitFor(others.promise, respondWithError(400))
    upstream.next(respond, neverRespond, failing, neverRespond, neverRespond)
    const pending = embed(95)
    const calls = await arrived(before, 5)
    others.resolve()
    const response = await pending
    assert.equal(response.status, 400)
    await Promise.all(calls.map(({ over }) => over))
    assert.equal(calls.filter(({ abortedAt }) => abortedAt !== null).length, 3)
    assert.equal(upstream.requests.length, before + 5, 'no call follows a failure')
    assert.equal((await waitForRecord(account, response)).cost, '0')
    assert.deepEqual([await account.balance(), await account.held()], [balance, '0'])
  })

  test('Caller that disconnects – cancels all, and holds nothing any more', async () => {
    const account = await server.account({ balance: '1' })
    upstream.next(...Array<Script>(4).fill(neverRespond))
    const before = upstream.requests.length
    const abort = new AbortController()
    const left = assert.rejects(account.post(bodyWith(45), { path, signal: abort.signal }), {
      name: 'AbortError',
    })
    const calls = await arrived(before, 4)
    abort.abort()
    await left
    await Promise.all(calls.map(({ over }) => over))
    assert.ok(calls.every(({ abortedAt }) => abortedAt !== null))
    assert.equal((await waitForNewestRecord(account)).outcome, 'aborted')
    assert.equal(await account.held(), '0')
  })

  test('Time-out – applies to each call, not to all together', async () => {
    const slow: Script = async (exchange) => (await exchange.pause(500)) && respond(exchange)
    upstream.next(...Array<Script>(20).fill(slow))
    assert.equal((await embed(200)).status, 200, 'five rounds take longer than the time-out')
    upstream.next(respond, neverRespond)
    assert.equal((await embed(20)).status, 503)
  })

  test('Garbage among good responses – is a failure of the upstream, and free', async () => {
    const balance = await account.balance()
    for (const script of [
      respondWithJson(200, '{"data":['),
      respondWithJson(200, { object: 'list', data: [] }),
    ]) {
      upstream.next(respond, script)
      assert.equal((await embed(25)).status, 503)
    }
    assert.equal(await account.balance(), balance)
  })
})
