// @backend both (cluster in long runs)
/** Embeddings of providers with a format of their own, and requests with more inputs than a provider takes at once. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readError, waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Exchange, Script } from '../../support/upstream/exchange.ts'
import { respondWithError, respondWithJson } from '../../support/upstream/scripted-responses.ts'

interface Embeddings {
  readonly object: string
  readonly model: string
  readonly data: readonly { readonly index: number; readonly embedding: number[] | string }[]
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}
type Fields = Readonly<Record<string, unknown>>

const folder = process.env['RECORDINGS_DIR'] ?? ''
const skip = existsSync(join(folder, 'embeddings')) ? false : 'needs RECORDINGS_DIR'
const server = await sharedTestServer()
const account = await server.account({ balance: '100' })

/** The embedding of a text that is a number. */
const vectorOf = (text: unknown): number[] => [Number(text), 0.5]

/** Responses to requests for embeddings of numbers, in each format, with two tokens per text. */
const responders: Readonly<Record<string, (body: Fields) => object>> = {
  gemini: ({ requests }) => ({
    embeddings: (requests as { content: { parts: { text: string }[] } }[]).map(({ content }) => ({
      values: vectorOf(content.parts[0]?.text),
    })),
  }),
  vertex: ({ instances }) => ({
    predictions: (instances as { content: string }[]).map(({ content }) => ({
      embeddings: { values: vectorOf(content), statistics: { token_count: 2, truncated: false } },
    })),
  }),
  cohere: ({ texts }) => ({
    id: 'c-1',
    embeddings: { float: (texts as string[]).map(vectorOf) },
    meta: { billed_units: { input_tokens: 2 * (texts as string[]).length } },
  }),
  titan: ({ inputText }) => ({ embedding: vectorOf(inputText), inputTextTokenCount: 2 }),
  qwen: ({ input }) => ({
    object: 'list',
    data: [input].flat().map((text, index) => ({
      object: 'embedding',
      index,
      embedding: vectorOf(text),
    })),
    model: 'text-embedding-v4',
    usage: { prompt_tokens: 2 * [input].flat().length, total_tokens: 2 * [input].flat().length },
  }),
}

function respondIn(name: string): Script {
  return (exchange: Exchange) =>
    respondWithJson(200, responders[name]?.(exchange.request.json) ?? {})(exchange)
}

async function createModel(id: string, name: string, fields: { provider: string; model: string }) {
  const { provider, model } = fields
  const upstream = await server.upstream(respondIn(name), { provider, credential: 'api-key-0123456789' })
  await server.admin('POST', '/models', {
    id,
    operations: ['embeddings'],
    context_tokens: 8192,
    prices: { input: '0.001' },
    routes: [{ upstream: upstream.id, model }],
  })
  const embed = (body: Fields): Promise<Response> =>
    account.post({ model: id, ...body }, { path: '/v1/embeddings' })
  return { upstream, embed }
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

for (const { name, provider, model, path, calls, tokens, source } of [
  {
    name: 'gemini',
    provider: 'gemini',
    model: 'gemini-embedding-001',
    path: /\/models\/gemini-embedding-001:batchEmbedContents$/,
    calls: 3,
    tokens: null,
    source: 'estimate',
  },
  {
    name: 'vertex',
    provider: 'vertex',
    model: 'text-embedding-005',
    path: /\/models\/text-embedding-005:predict$/,
    calls: 1,
    tokens: 410,
    source: 'provider',
  },
  {
    name: 'cohere',
    provider: 'cohere',
    model: 'embed-v4.0',
    path: /\/embed$/,
    calls: 3,
    tokens: 410,
    source: 'provider',
  },
  {
    name: 'titan',
    provider: 'bedrock',
    model: 'amazon.titan-embed-text-v2:0',
    path: /\/model\/amazon\.titan-embed-text-v2(?:%3A|:)0\/invoke$/,
    calls: 205,
    tokens: 410,
    source: 'provider',
  },
  {
    name: 'qwen',
    provider: 'qwen',
    model: 'text-embedding-v4',
    path: /\/embeddings$/,
    calls: 21,
    tokens: 410,
    source: 'provider',
  },
] as const) {
  describe(`Embeddings of ${name}`, async () => {
    const { upstream, embed } = await createModel(`${name}-model`, name, { provider, model })

    test('205 texts – are sent in the calls that it needs, joined in order, and charged', async () => {
      const before = upstream.requests.length
      const response = await embed({ input: numbers(205) })
      assert.equal(response.status, 200, await response.clone().text())
      const body = (await response.json()) as Embeddings
      assert.deepEqual(
        body.data.map(({ index, embedding }) => [index, embedding]),
        numbers(205).map((text, index) => [index, vectorOf(text)]),
      )
      assert.deepEqual([body.object, upstream.requests.length - before], ['list', calls])
      for (const request of upstream.requests.slice(before)) assert.match(request.path, path)
      const record = await waitForRecord(account, response)
      assert.equal(record.usage_source, source)
      assert.equal(record.prompt_tokens, body.usage.prompt_tokens)
      if (tokens !== null) assert.equal(record.prompt_tokens, tokens)
    })

    test('one text, base64 and dimensions – are converted and sent', async () => {
      const response = await embed({ input: '7', encoding_format: 'base64', dimensions: 256 })
      const { data } = (await response.json()) as Embeddings
      assert.equal(data[0]?.embedding, Buffer.from(Float32Array.from([7, 0.5]).buffer).toString('base64'))
      assert.match(upstream.requests.at(-1)?.text ?? '', /[dD]imension\w*":256/)
    })

    test('a call that fails – decides the status, and nothing is charged', async () => {
      const balance = await account.balance()
      const last: Script = respondWithError(400, { error: { message: 'Too long.' }, message: 'Too long.' })
      if (calls === 1) upstream.next(last)
      else upstream.next(respondIn(name), last)
      const response = await embed({ input: numbers(205) })
      assert.equal(response.status, 400)
      assert.equal(await account.balance(), balance)
      assert.equal(await account.held(), '0')
    })

    if (name !== 'qwen')
      test('token ids – are 400, since the provider takes texts', async () => {
        const before = upstream.requests.length
        const response = await embed({ input: [[1, 2], [3]] })
        assert.deepEqual([response.status, (await readError(response)).param], [400, 'input'])
        assert.equal(upstream.requests.length, before)
      })
  })
}

describe('Recorded embeddings', async () => {
  const cohere = await createModel('recorded-cohere', 'cohere', { provider: 'cohere', model: 'embed-v4.0' })
  const vertex = await createModel('recorded-vertex', 'vertex', {
    provider: 'vertex',
    model: 'text-embedding-005',
  })
  for (const [name, { upstream, embed }, tokens] of [
    ['cohere-embedding', cohere, 10],
    ['google-vertex-embedding', vertex, 11],
  ] as const) {
    test(`${name} – comes as OpenAI’s list, and is charged`, { skip }, async () => {
      const recorded = readFileSync(join(folder, 'embeddings', `${name}.json`), 'utf8')
      upstream.next(respondWithJson(200, recorded))
      const response = await embed({ input: ['sunny day at the beach', 'rainy day in the city'] })
      const { data, usage, model } = (await response.json()) as Embeddings
      assert.deepEqual(usage, { prompt_tokens: tokens, total_tokens: tokens })
      assert.equal(model, `recorded-${name === 'cohere-embedding' ? 'cohere' : 'vertex'}`)
      assert.equal(data.length, 2)
      for (const { embedding } of data)
        assert.ok(recorded.includes(String(embedding[0])), String(embedding[0]))
      assert.equal((await waitForRecord(account, response)).prompt_tokens, tokens)
    })
  }
})
