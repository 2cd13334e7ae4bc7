// @backend both (cluster in long runs)
/** Completions at providers that have them elsewhere: Mistral, as code between a prompt and a suffix, and DeepSeek. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readError, waitForNewestRecord, waitForRecord } from '../../support/client/responses.ts'
import { readPayloads, type Account, type PostOptions } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Exchange, Script } from '../../support/upstream/exchange.ts'
import { hangAfterHeaders, truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondWithError,
  respondWithEvents,
  respondWithJson,
} from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface Completion {
  readonly object: string
  readonly model: string
  readonly choices: readonly object[]
  readonly usage?: object | null
}

const server = await sharedTestServer()
const usage = { prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 }
const identity = { id: 'fim-1', created: 7, model: 'codestral-latest' }

const whole = {
  ...identity,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', tool_calls: null, content: '  return 1\n' },
      finish_reason: 'stop',
    },
  ],
  usage,
}

function chunk(content: unknown, finish: string | null = null, fields: object = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: finish }]
  return JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices, ...fields })
}

const payloads = [
  chunk(''),
  chunk('  return'),
  chunk([{ type: 'text', text: ' 1' }]),
  chunk('', 'model_length', { usage }),
  '[DONE]',
]
const respond: Script = (exchange: Exchange) =>
  (exchange.request.json['stream'] === true ? respondWithEvents(payloads) : respondWithJson(200, whole))(
    exchange,
  )

const upstream = await server.upstream(respond, { provider: 'mistral' })

async function createModel(id: string, upstreamId: string): Promise<void> {
  await server.admin('POST', '/models', {
    id,
    operations: ['completions'],
    context_tokens: 32_768,
    prices: { input: '0.002', output: '0.008' },
    routes: [{ upstream: upstreamId, model: 'codestral-latest' }],
  })
}

await createModel('codestral', upstream.id)

function complete(account: Account, fields: object = {}, options: PostOptions = {}): Promise<Response> {
  const body = { model: 'codestral', prompt: 'def one():\n', suffix: '\nprint(one())', ...fields }
  return account.post(body, { path: '/v1/completions', ...options })
}

const texts = (list: readonly string[]): unknown[] =>
  list.filter((each) => each !== '[DONE]').flatMap((each) => (JSON.parse(each) as Completion).choices)

describe('Completions of Mistral', () => {
  test('Response – is one of completions, and is charged by the usage', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await complete(account, { stop: ['\n\n'], seed: 5, temperature: 0.2, user: 'u', n: 1 })
    assert.deepEqual(await response.json(), {
      ...identity,
      model: 'codestral',
      object: 'text_completion',
      choices: [{ text: '  return 1\n', index: 0, logprobs: null, finish_reason: 'stop' }],
      usage,
    })
    const sent = upstream.requests.at(-1)
    assert.equal(sent?.path, '/v1/fim/completions')
    assert.deepEqual(sent.json, {
      model: 'codestral-latest',
      prompt: 'def one():\n',
      suffix: '\nprint(one())',
      temperature: 0.2,
      stop: ['\n\n'],
      random_seed: 5,
      max_tokens: 16,
      stream: false,
    })
    const record = await waitForRecord(account, response)
    assert.deepEqual(
      [record.operation, record.prompt_tokens, record.completion_tokens, record.usage_source, record.cost],
      ['completions', 14, 3, 'provider', '0.000052'],
    )
  })

  test('Stream – has chunks of completions, with the usage only if it is asked for', async () => {
    const account = await server.account({ balance: '¥1' })
    const expected = ['', '  return', ' 1', ''].map((text, position) => ({
      text,
      index: 0,
      logprobs: null,
      finish_reason: position === 3 ? 'length' : null,
    }))
    const plain = await readPayloads(await complete(account, { stream: true }))
    assert.deepEqual(texts(plain), expected)
    assert.ok(plain.every((each) => each === '[DONE]' || each.includes('"text_completion"')))
    assert.ok(!plain.some((each) => each.includes('prompt_tokens')))
    const stream_options = { include_usage: true }
    const response = await complete(account, { stream: true, stream_options })
    const withUsage = await readPayloads(response)
    assert.deepEqual(texts(withUsage), expected)
    const last = JSON.parse(withUsage.at(-2) ?? '') as Completion
    assert.deepEqual(last.usage, { ...usage, cost: 0.000052 })
    assert.equal(upstream.requests.at(-1)?.json['stream_options'], undefined)
    assert.equal((await waitForRecord(account, response)).completion_tokens, 3)
  })

  test('Request without a suffix – continues the prompt, which may be a list of one', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await complete(account, { suffix: null, prompt: ['x = '], max_tokens: 9 })
    assert.equal(response.status, 200)
    const sent = upstream.requests.at(-1)
    assert.equal(sent?.path, '/v1/fim/completions')
    const expected = { model: 'codestral-latest', prompt: 'x = ', max_tokens: 9, stream: false }
    assert.deepEqual(sent.json, expected)
  })

  test('What Mistral does not have – is 400 naming the field, before the call', async () => {
    const account = await server.account({ balance: '¥1' })
    const before = upstream.requests.length
    for (const [fields, param] of [
      [{ prompt: ['a', 'b'] }, 'prompt'],
      [{ prompt: [1, 2] }, 'prompt'],
      [{ n: 2 }, 'n'],
      [{ best_of: 2 }, 'best_of'],
      [{ echo: true }, 'echo'],
      [{ logprobs: 0 }, 'logprobs'],
    ] as const) {
      const response = await complete(account, fields)
      assert.deepEqual([response.status, (await readError(response)).param], [400, param])
    }
    assert.equal(upstream.requests.length, before)
    assert.deepEqual([await account.held(), await account.balance()], ['0', '1'])
  })

  test('Failures – are those of any upstream, and free', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const [script, status] of [
      [respondWithError(400), 400],
      [respondWithJson(200, { object: 'list' }), 503],
      [respondWithJson(200, 'no JSON'), 503],
    ] as const) {
      upstream.next(script)
      assert.equal((await complete(account)).status, status)
    }
    assert.equal(await account.balance(), '1')
  })

  test('Stream that is cut – has no [DONE], and costs what was sent', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(truncateAfter(3, 'reset', respondWithEvents(payloads)))
    const received = await readPayloads(await complete(account, { stream: true }))
    assert.ok(!received.includes('[DONE]'))
    const record = await waitForNewestRecord(account)
    assert.deepEqual([record.outcome, record.usage_source], ['truncated', 'estimate'])
    assert.equal(await account.held(), '0')
  })

  test('Caller that disconnects – cancels the call, and holds nothing any more', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(hangAfterHeaders)
    const before = upstream.requests.length
    const abort = new AbortController()
    const left = assert.rejects(complete(account, { stream: true }, { signal: abort.signal }))
    await waitUntil(() => upstream.requests.length > before, 'the request')
    abort.abort()
    await left
    await upstream.requests.at(-1)?.over
    assert.equal((await waitForNewestRecord(account)).outcome, 'aborted')
    assert.equal(await account.held(), '0')
  })
})

describe('Completions of DeepSeek', () => {
  for (const base of ['/v1', '', '/beta'])
    test(`Base URL with the path “${base}” – they are sent to /beta`, async () => {
      const account = await server.account({ balance: '¥1' })
      const completion = { ...whole, object: 'text_completion', choices: [{ text: '1', index: 0 }] }
      const deepseek = await server.upstream(respondWithJson(200, completion))
      const { id } = await server.upstreamAt(new URL(deepseek.url).origin + base, { provider: 'deepseek' })
      const model = `deepseek${base.replace('/', '-')}`
      await createModel(model, id)
      const response = await complete(account, { model })
      assert.equal(response.status, 200)
      const sent = deepseek.requests.at(-1)
      assert.equal(sent?.path, '/beta/completions')
      assert.deepEqual([sent.json['suffix'], sent.json['max_tokens']], ['\nprint(one())', 16])
    })
})
