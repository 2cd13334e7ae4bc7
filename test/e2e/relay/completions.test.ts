// @backend both (cluster in long runs)
/** `POST /v1/completions`: the legacy operation that editors complete code with. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { totalCost } from '../../support/client/parallel-requests.ts'
import { readError, waitForRecord } from '../../support/client/responses.ts'
import { chatRequest, readPayloads, type Account, type PostOptions } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Exchange, Script } from '../../support/upstream/exchange.ts'
import { neverRespond, pauseAfter } from '../../support/upstream/fault-injection.ts'
import { respondWith, respondWithEvents, respondWithJson } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { FREE_ABORTS_PER_HOUR: '1000' } })
const usage = { prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 }

function completionOf(fields: object): object {
  return { id: 'cmpl-1', object: 'text_completion', created: 7, model: 'instruct', ...fields }
}

function chunk(text: string, finish: string | null = null): string {
  return JSON.stringify(
    completionOf({ choices: [{ text, index: 0, logprobs: null, finish_reason: finish }], usage: null }),
  )
}

const whole = completionOf({
  choices: [{ text: 'The new holiday', index: 0, logprobs: null, finish_reason: 'length' }],
  usage,
})
const payloads = [
  chunk('The'),
  chunk(' new'),
  chunk(' holiday', 'length'),
  JSON.stringify(completionOf({ choices: [], usage })),
  '[DONE]',
]
const respond: Script = (exchange: Exchange) =>
  (exchange.request.json['stream'] === true ? respondWithEvents(payloads) : respondWithJson(200, whole))(
    exchange,
  )

const upstream = await server.upstream(respond)
const gemini = await server.upstream(respondWith('Never.'), { provider: 'gemini' })
const operations = ['completions']

/** Creates a model for completions. */
async function createModel(id: string, upstreamId: string, output = '0.008'): Promise<void> {
  await server.admin('POST', '/models', {
    id,
    operations,
    context_tokens: 8192,
    prices: { input: '0.002', output },
    routes: [{ upstream: upstreamId, model: id }],
  })
}

await createModel('instruct', upstream.id)
await createModel('translated', gemini.id)
await server.model('chatting', { upstreams: [upstream] })

function complete(account: Account, fields: object = {}, options: PostOptions = {}): Promise<Response> {
  const body = { model: 'instruct', prompt: 'Invent a holiday.', ...fields }
  return account.post(body, { path: '/v1/completions', ...options })
}

describe('Completions', () => {
  test('Request without max_tokens – is sent with 16, under its own path, and charged by the usage', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await complete(account)
    assert.equal(await response.text(), JSON.stringify(whole))
    const sent = upstream.requests.at(-1)
    assert.equal(sent?.path, '/v1/completions')
    assert.deepEqual(sent.json, { model: 'instruct', prompt: 'Invent a holiday.', max_tokens: 16 })
    const record = await waitForRecord(account, response)
    assert.deepEqual(
      [record.operation, record.prompt_tokens, record.completion_tokens, record.usage_source],
      ['completions', 14, 3, 'provider'],
    )
  })

  test('Stream – has the upstream’s chunks, with the usage only if it is asked for', async () => {
    const account = await server.account({ balance: '¥1' })
    const plain = await readPayloads(await complete(account, { stream: true }))
    assert.deepEqual(plain, [...payloads.slice(0, 3), '[DONE]'])
    const stream_options = { include_usage: true }
    const withUsage = await readPayloads(await complete(account, { stream: true, stream_options }))
    const last = JSON.parse(withUsage.at(-2) ?? '') as { usage: { cost: number } }
    assert.deepEqual(last.usage, { ...usage, cost: 0.000052 })
  })

  test('Lists of prompts, n and best_of – multiply what is held', async () => {
    for (const [fields, results] of [
      [{ prompt: ['a', 'b', 'c'] }, 3],
      [{ prompt: [[1, 2], [3]], n: 2 }, 4],
      [{ prompt: [1, 2, 3], n: 2, best_of: 5 }, 5],
    ] as const) {
      const account = await server.account({ balance: '¥1' })
      const asked = Promise.withResolvers<void>()
      upstream.next(async (exchange) => {
        await asked.promise
        return respond(exchange)
      })
      const before = upstream.requests.length
      const pending = complete(account, { ...fields, max_tokens: 10 })
      await waitUntil(() => upstream.requests.length > before, 'the request')
      const held = parseAmount(await account.held())
      const output = BigInt(results) * 10n * 8_000n
      assert.ok(held >= output && held < output + 100_000n, `${held} of ${output}`)
      asked.resolve()
      await (await pending).text()
    }
  })

  test('Other fields – pass unchanged, and so do the probabilities of a response', async () => {
    const account = await server.account({ balance: '¥1' })
    const fields = { suffix: '!', logprobs: 5, echo: false, stop: ['x'], user: 'u', logit_bias: { 7: 1 } }
    const logprobs = {
      tokens: ['The'],
      token_logprobs: [-0.5],
      top_logprobs: [{ The: -0.5 }],
      text_offset: [0],
    }
    const choices = [{ text: 'The', index: 0, logprobs, finish_reason: 'stop' }]
    const scored = completionOf({ choices, usage })
    upstream.next(respondWithJson(200, scored))
    const response = await complete(account, { ...fields, max_tokens: 0 })
    assert.equal(await response.text(), JSON.stringify(scored))
    const { model, prompt, max_tokens, ...sent } = upstream.requests.at(-1)?.json ?? {}
    assert.deepEqual([model, prompt, max_tokens], ['instruct', 'Invent a holiday.', 0])
    assert.deepEqual(sent, fields)
  })

  test('Echo of a long prompt – is held like output, and does not end the stream', async () => {
    const account = await server.account({ balance: '¥1' })
    const prompt = 'word '.repeat(2000)
    const echoed = { prompt_tokens: 2000, completion_tokens: 1, total_tokens: 2001 }
    const events = [chunk(prompt), chunk(' end', 'length')]
    const all = [...events, JSON.stringify(completionOf({ choices: [], usage: echoed })), '[DONE]']
    const isEchoed = Promise.withResolvers<void>()
    upstream.next(pauseAfter(1, isEchoed.promise, respondWithEvents(all)))
    const response = await complete(account, { prompt, echo: true, stream: true })
    let received = ''
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      received += text
      if (received.includes('word ')) isEchoed.resolve()
    }
    assert.equal(received, [...events, '[DONE]'].map((each) => `data: ${each}\n\n`).join(''))
    assert.equal(upstream.requests.at(-1)?.json['max_tokens'], 16)
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.outcome, record.completion_tokens, record.cost], ['ok', 1, '0.004008'])
  })

  test('Invalid fields – are 400 with their name', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const [fields, param] of [
      [{ prompt: undefined }, 'prompt'],
      [{ prompt: [] }, 'prompt'],
      [{ prompt: ['a', 1] }, 'prompt'],
      [{ max_tokens: -1 }, 'max_tokens'],
      [{ n: 3, best_of: 2 }, 'best_of'],
      [{ stream_options: {} }, 'stream_options'],
      [{ echo: 1 }, 'echo'],
    ] as const) {
      const response = await complete(account, fields)
      assert.deepEqual([response.status, (await readError(response)).param], [400, param])
    }
  })

  test('Model of another operation – is 404 naming the endpoint that works', async () => {
    const account = await server.account({ balance: '¥1' })
    const chat = await account.post(chatRequest('instruct'))
    const { code, message } = await readError(chat)
    assert.deepEqual([chat.status, code], [404, 'model_not_found'])
    assert.match(message, /`POST \/v1\/completions`/)
    const wrong = await complete(account, { model: 'chatting' })
    assert.equal(wrong.status, 404)
    assert.match((await readError(wrong)).message, /`POST \/v1\/chat\/completions`/)
  })

  test('Provider with chat only – is 400', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await complete(account, { model: 'translated' })
    assert.deepEqual([response.status, (await readError(response)).param], [400, 'model'])
  })

  test('100 callers against a balance for 10 – never overspend it', async () => {
    const account = await server.account({ balance: '0.0072' })
    await createModel('dear', upstream.id, '0.24')
    const fields = { model: 'dear', prompt: 'x', max_tokens: 3 }
    const responses = await Promise.all(Array.from({ length: 100 }, () => complete(account, fields)))
    await Promise.all(responses.map((response) => response.text()))
    const statuses = responses.map(({ status }) => status)
    const served = statuses.filter((status) => status === 200).length
    assert.equal(served + statuses.filter((status) => status === 402).length, 100)
    assert.ok(served >= 8, `${served} were served`)
    const cost = await totalCost(account)
    assert.ok(cost <= parseAmount('0.0072'), String(cost))
  })

  test('1,000 aborts – leave no hold, and cost at most the input', async () => {
    const account = await server.account({ balance: '¥1', tier: 'enterprise' })
    for (let round = 0; round < 10; round += 1) {
      upstream.next(...Array<Script>(100).fill(neverRespond))
      const before = upstream.requests.length
      const abort = new AbortController()
      const pending = Array.from({ length: 100 }, () =>
        complete(account, {}, { signal: abort.signal }).catch(() => null),
      )
      await waitUntil(() => upstream.requests.length >= before + 100, 'requests')
      abort.abort()
      await Promise.all(pending)
    }
    await waitUntil(async () => (await account.held()) === '0', 'no hold')
    assert.equal(await account.balance(), '1', 'no upstream had begun to respond')
  })
})
