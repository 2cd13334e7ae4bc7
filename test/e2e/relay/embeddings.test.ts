// @backend both (cluster in long runs)
/** `POST /v1/embeddings` with upstreams that have OpenAI's format. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { totalCost } from '../../support/client/parallel-requests.ts'
import { readError, waitForNewestRecord, waitForRecord } from '../../support/client/responses.ts'
import type { Account, PostOptions } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { neverRespond } from '../../support/upstream/fault-injection.ts'
import { respondWith, respondWithError, respondWithJson } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

interface Embeddings {
  readonly data: readonly { readonly index: number; readonly embedding: number[] | string }[]
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}

const server = await sharedTestServer()
const vectors = [
  [0.5, -0.25, 1.5],
  [-1, 0.125, 8],
]
const usage = { prompt_tokens: 12, total_tokens: 12 }
const toBase64 = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')

function listOf(embeddings: readonly (number[] | string)[], fields: object = { usage }): object {
  const data = embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding }))
  return { object: 'list', data, model: 'embedder', ...fields }
}

const whole = listOf(vectors)
const upstream = await server.upstream(respondWithJson(200, whole))
const claude = await server.upstream(respondWith('Never.'), { provider: 'anthropic' })
const other = await server.upstream(respondWithJson(200, whole))

async function createModel(id: string, upstreams: readonly string[], fields: object = {}): Promise<void> {
  await server.admin('POST', '/models', {
    id,
    operations: ['embeddings'],
    context_tokens: 8192,
    prices: { input: '0.002' },
    routes: upstreams.map((each, index) => ({ upstream: each, model: id, priority: index })),
    ...fields,
  })
}

await createModel('embedder', [upstream.id])
await createModel('two', [upstream.id, other.id])
await createModel('translated', [claude.id])

function embed(account: Account, fields: object = {}, options: PostOptions = {}): Promise<Response> {
  const body = { model: 'embedder', input: ['one', 'two'], ...fields }
  return account.post(body, { path: '/v1/embeddings', ...options })
}

describe('Embeddings', () => {
  test('Response in the asked form – passes as it came, and only its input is charged', async () => {
    const account = await server.account({ balance: '¥1' })
    const response = await embed(account, { dimensions: 3, user: 'u' })
    assert.equal(await response.text(), JSON.stringify(whole))
    assert.equal(response.headers.get('x-sluice-cost'), '0.000024')
    const sent = upstream.requests.at(-1)
    assert.equal(sent?.path, '/v1/embeddings')
    assert.deepEqual(sent.json, { model: 'embedder', input: ['one', 'two'], dimensions: 3, user: 'u' })
    const record = await waitForRecord(account, response)
    assert.deepEqual(
      [record.operation, record.prompt_tokens, record.completion_tokens, record.usage_source],
      ['embeddings', 12, 0, 'provider'],
    )
  })

  test('Form that the upstream ignores – is converted, both ways, in the order of the input', async () => {
    const account = await server.account({ balance: '¥1' })
    const read = async (fields: object): Promise<Embeddings> =>
      (await (await embed(account, fields)).json()) as Embeddings
    const encoded = await read({ encoding_format: 'base64' })
    assert.deepEqual(
      encoded.data.map(({ embedding }) => embedding),
      vectors.map(toBase64),
    )
    upstream.next(respondWithJson(200, listOf(vectors.map(toBase64))))
    const decoded = await read({ encoding_format: 'float' })
    assert.deepEqual(
      decoded.data.map(({ embedding }) => embedding),
      vectors,
    )
    const [first, second] = (whole as Embeddings).data
    upstream.next(respondWithJson(200, { ...whole, data: [second, first] }))
    const ordered = await read({})
    assert.deepEqual(
      ordered.data.map(({ index }) => index),
      [0, 1],
    )
    assert.deepEqual(ordered.usage, usage)
  })

  test('Upstream with collect_stream – is asked as any other', async () => {
    const collecting = await server.upstream(respondWithJson(200, whole), { collect_stream: true })
    await createModel('collecting', [collecting.id])
    const account = await server.account({ balance: '¥1' })
    const response = await embed(account, { model: 'collecting', encoding_format: 'base64' })
    const { data } = (await response.json()) as Embeddings
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      vectors.map(toBase64),
    )
    assert.equal(collecting.requests.at(-1)?.json['stream'], undefined)
  })

  test('Upstream without a usage – is charged by the estimate, which the response states', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWithJson(200, listOf(vectors.slice(1), {})))
    const response = await embed(account, { input: 'x'.repeat(400) })
    const body = (await response.json()) as Embeddings
    assert.deepEqual(body.usage, { prompt_tokens: 100, total_tokens: 100 })
    const record = await waitForRecord(account, response)
    assert.deepEqual([record.usage_source, record.prompt_tokens, record.cost], ['estimate', 100, '0.0002'])
  })

  test('Usage with only the total – is charged, and completed for the caller', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWithJson(200, listOf(vectors, { usage: { total_tokens: 7 } })))
    const response = await embed(account)
    assert.deepEqual(((await response.json()) as Embeddings).usage, { prompt_tokens: 7, total_tokens: 7 })
    assert.equal((await waitForRecord(account, response)).prompt_tokens, 7)
  })

  test('Token ids – are held exactly', async () => {
    const account = await server.account({ balance: '¥1' })
    const asked = Promise.withResolvers<void>()
    upstream.next(async (exchange) => {
      await asked.promise
      return respondWithJson(200, whole)(exchange)
    })
    const before = upstream.requests.length
    const pending = embed(account, { input: [Array(100).fill(7), Array(50).fill(123_456)] })
    await waitUntil(() => upstream.requests.length > before, 'the request')
    assert.equal(await account.held(), '0.0003')
    asked.resolve()
    await (await pending).text()
  })

  test('Invalid fields – are 400 with their name', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const [fields, param] of [
      [{ input: undefined }, 'input'],
      [{ input: '' }, 'input'],
      [{ input: [] }, 'input'],
      [{ input: ['a', ''] }, 'input'],
      [{ input: Array(2049).fill('a') }, 'input'],
      [{ input: Array(40).fill(Array(8000).fill(1)) }, 'input'],
      [{ input: [[1], Array(8193).fill(1)] }, 'input[1]'],
      [{ input: Array(8193).fill(1) }, 'input'],
      [{ encoding_format: 'int8' }, 'encoding_format'],
      [{ stream: true }, 'stream'],
      [{ service_tier: 'priority' }, 'service_tier'],
      [{ model: 'translated' }, 'model'],
    ] as const) {
      const response = await embed(account, fields)
      assert.deepEqual([response.status, (await readError(response)).param], [400, param])
    }
    const record = (await account.requests()).find(({ model }) => model === 'translated')
    assert.equal(Number(record?.cost ?? 0), 0)
  })

  test('Longest lists of token ids, and texts of any length – are sent', async () => {
    const account = await server.account({ balance: '¥1' })
    for (const input of [
      [[1], Array(8192).fill(1)],
      ['x', 'x'.repeat(500_000)],
    ])
      assert.equal((await embed(account, { input })).status, 200)
  })

  test('Text that is too long for the upstream – is its 400, and free', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWithError(400))
    assert.equal((await embed(account, { input: ['x'.repeat(500_000), 'y'] })).status, 400)
    assert.deepEqual([await account.held(), await account.balance()], ['0', '1'])
  })

  test('Fallback model – serves no embeddings', async () => {
    await createModel('alone', [upstream.id], { fallbacks: ['two'] })
    const account = await server.account({ balance: '¥1' })
    upstream.next(respondWithError(500))
    const response = await embed(account, { model: 'alone' })
    assert.equal(response.status, 503)
    assert.equal((await waitForRecord(account, response)).attempts.length, 1)
  })

  test('Upstream that fails – is replaced by another route of the same model', async () => {
    const account = await server.account({ balance: '¥1' })
    const scripts = [
      respondWithError(500),
      respondWithJson(200, { object: 'list' }),
      respondWithJson(200, listOf(vectors.slice(1))),
    ]
    upstream.next(...scripts)
    for (let call = 0; call < scripts.length; call += 1) {
      const response = await embed(account, { model: 'two' })
      assert.equal(response.status, 200)
      assert.equal((await waitForRecord(account, response)).attempts.length, 2)
    }
  })

  test('100 callers against a balance for 10 – never overspend it', async () => {
    await createModel('dear', [upstream.id], { prices: { input: '1' } })
    const account = await server.account({ balance: '0.12' })
    const ids = Array(12).fill(1) as number[]
    const responses = await Promise.all(
      Array.from({ length: 100 }, () =>
        embed(account, { model: 'dear', input: [ids.slice(6), ids.slice(6)] }),
      ),
    )
    await Promise.all(responses.map((response) => response.text()))
    const served = responses.filter(({ status }) => status === 200).length
    assert.equal(served + responses.filter(({ status }) => status === 402).length, 100)
    assert.ok(served >= 8, `${served} were served`)
    assert.ok((await totalCost(account)) <= parseAmount('0.12'))
  })

  test('Caller that disconnects – holds nothing any more', async () => {
    const account = await server.account({ balance: '¥1' })
    upstream.next(neverRespond)
    const abort = new AbortController()
    const before = upstream.requests.length
    const left = assert.rejects(embed(account, {}, { signal: abort.signal }), { name: 'AbortError' })
    await waitUntil(() => upstream.requests.length > before, 'the request')
    abort.abort()
    await left
    assert.equal((await waitForNewestRecord(account)).outcome, 'aborted')
    assert.equal(await account.held(), '0')
  })
})
