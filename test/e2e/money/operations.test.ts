// @backend both (cluster in long runs)
/** The promises about money (M1 to M6), for the operations beside chat: many callers at once, kill -9, aborts. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { formatAmount, parseAmount } from '../../../src/lib/money.ts'
import {
  assertNeverNegative,
  sendConcurrentlyTo,
  totalCost,
  withStatus,
} from '../../support/client/parallel-requests.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { neverRespond } from '../../support/upstream/fault-injection.ts'
import {
  respondWithEmbeddings,
  respondWithEvents,
  respondWithJson,
  respondWithin,
} from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface OperationCase {
  readonly name: string
  readonly path: string
  /** Without the model. */
  readonly body: object
  readonly script: Script
  /** In nanos, at 2,000 per input token and 8,000 per output token. */
  readonly cost: bigint
  /** What the model is for. */
  readonly operation: 'embeddings' | 'completions' | 'chat'
  readonly speaks?: readonly string[]
}

const server = await sharedTestServer({ env: { WORKERS: '2', FREE_ABORTS_PER_HOUR: '1000' } })
const [input, output] = [10, 500]
const generationCost = BigInt(input) * 2000n + BigInt(output) * 8000n
const tokenIds = Array.from({ length: input }, (_, index) => index)

const completion = {
  id: 'cmpl-1',
  object: 'text_completion',
  created: 7,
  model: 'm',
  choices: [{ text: 'Hello!', index: 0, logprobs: null, finish_reason: 'length' }],
}

/** Writes what the request allows: a poor account's maximum is less than the asked one. */
const respondWithCompletion: Script = (exchange) => {
  const { json } = exchange.request
  const written = Math.min(output, Number(json['max_tokens']))
  const usage = { prompt_tokens: input, completion_tokens: written, total_tokens: input + written }
  if (json['stream'] !== true) return respondWithJson(200, { ...completion, usage })(exchange)
  const chunks = [completion, { ...completion, choices: [], usage }].map((chunk) => JSON.stringify(chunk))
  return respondWithEvents([...chunks, '[DONE]'])(exchange)
}

const message = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello!', annotations: [] }],
}

const respondNatively: Script = (exchange) => {
  const { json, path } = exchange.request
  if (path !== '/v1/responses') return respondWithin({ input, output })(exchange)
  const written = Math.min(output, Number(json['max_output_tokens']))
  return respondWithJson(200, {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    error: null,
    incomplete_details: null,
    output: [message],
    usage: { input_tokens: input, output_tokens: written, total_tokens: input + written },
  })(exchange)
}

const cases: readonly OperationCase[] = [
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    body: { input: Array.from({ length: 1000 }, (_, index) => index) },
    script: respondWithEmbeddings(1000),
    cost: 1000n * 2000n,
    operation: 'embeddings',
  },
  {
    name: 'completions',
    path: '/v1/completions',
    body: { prompt: tokenIds, max_tokens: output },
    script: respondWithCompletion,
    cost: generationCost,
    operation: 'completions',
  },
  {
    name: 'streamed completions',
    path: '/v1/completions',
    body: { prompt: tokenIds, max_tokens: output, stream: true },
    script: respondWithCompletion,
    cost: generationCost,
    operation: 'completions',
  },
  {
    name: 'responses passed through',
    path: '/v1/responses',
    body: { input: 'Say hello.', max_output_tokens: output },
    script: respondNatively,
    cost: generationCost,
    operation: 'chat',
    speaks: ['responses'],
  },
  {
    name: 'translated responses',
    path: '/v1/responses',
    body: { input: 'Say hello.', max_output_tokens: output },
    script: respondWithin({ input, output }),
    cost: generationCost,
    operation: 'chat',
    speaks: [],
  },
]

for (const { name, path, body: fields, script, cost, operation, speaks } of cases)
  describe(`Money of ${name}`, async () => {
    const upstream = await server.upstream(script, speaks && { speaks })
    const model = name.replaceAll(' ', '-')
    const body = { model, ...fields }
    const isStreaming = 'stream' in fields

    before(async () => {
      await server.admin('POST', '/models', {
        id: model,
        operations: [operation],
        context_tokens: 8192,
        prices: { input: '0.002', ...(operation !== 'embeddings' && { output: '0.008' }) },
        routes: [{ upstream: upstream.id, model }],
      })
      // Only then is the asked maximum held; the others hold their own.
      if (operation === 'chat') await server.showObedience(model, upstream)
    })

    test('100 callers against a balance for 10 – never overspend it', async () => {
      upstream.always(script)
      const balance = 10n * cost + cost / 2n
      const account = await server.account({ balance: formatAmount(balance) })
      const sent = sendConcurrentlyTo(account, `${server.url}${path}`, body, 100)
      const results = await assertNeverNegative(account, sent)
      const served = withStatus(results, 200)
      const rejected = withStatus(results, 402)
      assert.equal(served.length + rejected.length, 100)
      assert.ok(rejected.every(({ code }) => code === 'insufficient_quota'))
      const costs = (await account.requests({ limit: '1000' })).map((record) => parseAmount(record.cost))
      const paid = costs.reduce((sum, each) => sum + each, 0n)
      assert.ok(paid <= balance, `${paid}`)
      assert.equal(parseAmount(await account.balance()), balance - paid)
      // Streams begin with less than their maximum held, so that more of them share the balance.
      if (!isStreaming)
        assert.ok(costs.filter((each) => each === cost).length >= 9, `${served.length} were served: ${paid}`)
    })

    test('kill -9 between requests and within – each is charged at most once', async () => {
      upstream.always(script)
      const account = await server.account({ balance: '10' })
      const completed = new Set<string>()
      const running = { isActive: true }
      const callers = Array.from({ length: 16 }, async () => {
        while (running.isActive)
          try {
            const response = await account.post(body, { path })
            await response.text()
            assert.equal(response.status, 200)
            completed.add(response.headers.get('x-request-id') ?? '')
          } catch (error) {
            if (error instanceof assert.AssertionError) throw error
            running.isActive = false
          }
      })
      await waitUntil(() => completed.size >= 30, '30 completed requests')
      await server.kill()
      await Promise.all(callers)
      await server.restart()
      await server.assertNoOpenHolds()
      const records = await account.requests({ limit: '1000' })
      const costs = new Map(records.map((record) => [record.request_id, parseAmount(record.cost)]))
      assert.equal(costs.size, records.length, 'no request is recorded twice')
      for (const id of completed) assert.equal(costs.get(id), cost, id)
      for (const [id, charged] of costs) assert.ok(charged <= cost, `${id} costs ${charged}`)
      const paid = [...costs.values()].reduce((sum, charged) => sum + charged, 0n)
      assert.equal(parseAmount(await account.balance()), parseAmount('10') - paid)
    })

    test('30 callers leave before any content – nothing is charged, and no hold stays open', async () => {
      upstream.always(neverRespond)
      const account = await server.account({ balance: '10' })
      const earlier = upstream.requests.length
      const leaving = new AbortController()
      const calls = Array.from({ length: 30 }, () => account.post(body, { path, signal: leaving.signal }))
      await waitUntil(() => upstream.requests.length - earlier >= 30, '30 requests')
      assert.ok(parseAmount(await account.held()) >= 30n * cost)
      leaving.abort()
      for (const call of await Promise.allSettled(calls)) assert.equal(call.status, 'rejected')
      await server.assertNoOpenHolds()
      assert.equal(await account.balance(), '10')
      assert.equal(await totalCost(account), 0n)
    })
  })
