// @backend both (cluster in long runs)
/** Upstreams with other API formats: what the caller receives, and its cost to the nano. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'

import { assemble, readStreamPayloads } from '../../../src/providers/contract.fixture.ts'
import type { Chunk } from '../../../src/providers/provider.ts'
import type { Account } from '../../support/server/account.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { recordingsFolder, replay } from '../../support/upstream/provider-recordings.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import {
  respondWithEvents,
  respondWithError,
  respondWithJson,
  respondWith,
} from '../../support/upstream/scripted-responses.ts'

const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }

const server = await sharedTestServer()
let modelCount = 0

/** Adds a model with a name of its own, which the upstreams know as `family-model`. */
async function addModel(upstreams: readonly { name: string }[]): Promise<string> {
  const model = `family-model-${++modelCount}`
  const routes = upstreams.map(({ name }, index) => ({
    upstream: name,
    model: 'family-model',
    priority: index + 1,
  }))
  await server.model(model, { prices, upstreams: [], routes })
  return model
}

async function prepareProvider(
  provider: string,
  script: Script,
  fields: object = {},
): Promise<{ model: string; alice: Account; upstream: RegisteredUpstream }> {
  const upstream = await server.upstream(script, { provider, ...fields })
  const format = (['anthropic', 'bedrock', 'cohere', 'gemini'] as const).find((each) => each === provider)
  if (format) upstream.strict(format)
  return { model: await addModel([upstream]), alice: await server.account({ balance: '1' }), upstream }
}

async function readChunks(response: Response): Promise<Chunk[]> {
  const payloads = await readPayloads(response)
  assert.equal(payloads.at(-1), '[DONE]')
  return payloads.slice(0, -1).map((payload) => JSON.parse(payload) as Chunk)
}

/** The cost of 20 input tokens, some from the cache or written to it, and 4 output tokens at the prices above. */
function expectedCost(cached: number, written: number): string {
  const nanos = (20 - cached - written) * 2000 + cached * 200 + written * 2500 + 4 * 8000
  return (nanos / 1e9).toFixed(9).replace(/0+$/, '')
}

const cases = [
  { provider: 'anthropic', cost: expectedCost(8, 3), path: '/v1/messages' },
  {
    provider: 'gemini',
    cost: expectedCost(8, 0),
    path: /^\/v1\/models\/family-model:(streamG|g)enerateContent/,
  },
  { provider: 'cohere', cost: expectedCost(0, 0), path: '/v1/chat' },
  { provider: 'bedrock', cost: expectedCost(8, 3), path: /^\/v1\/model\/family-model\/converse/ },
  { provider: 'azure', cost: expectedCost(8, 0), path: '/v1/chat/completions' },
]

describe('Provider API formats', () => {
  for (const { provider, cost, path } of cases) {
    test(`${provider} – returns the OpenAI format, streaming or not, billed by the provider’s usage`, async () => {
      const { model, alice, upstream } = await prepareProvider(provider, replay(provider, 'text'))

      const nonStreaming = await alice.post(chatRequest(model))
      assert.equal(nonStreaming.headers.get('x-sluice-cost'), cost)
      const completion = assemble([(await nonStreaming.json()) as Chunk])
      assert.deepEqual([completion.text, completion.finishes[0]?.reason], ['Hello, world.', 'stop'])

      const response = await alice.post(
        chatRequest(model, { stream: true, stream_options: { include_usage: true } }),
      )
      const chunks = await readChunks(response)
      const stream = assemble(chunks)
      assert.deepEqual([stream.text, stream.finishes[0]?.reason], ['Hello, world.', 'stop'])
      assert.equal(stream.usages.length, 1)
      assert.equal(String(stream.usages[0]?.['cost']), String(Number(cost)))
      assert.deepEqual(chunks.at(-1)?.['choices'], [])

      const withoutUsage = assemble(await readChunks(await alice.post(chatRequest(model, { stream: true }))))
      assert.deepEqual([withoutUsage.text, withoutUsage.usages.length], ['Hello, world.', 0])

      for (const record of await alice.requests()) {
        assert.deepEqual([record.cost, record.usage_source, record.outcome], [cost, 'provider', 'ok'])
      }
      assert.equal(await alice.balance(), (1 - 3 * Number(cost)).toFixed(9).replace(/0+$/, ''))
      for (const { path: requested } of upstream.requests) {
        if (typeof path === 'string') assert.equal(requested, path)
        else assert.match(requested, path)
      }
    })
  }

  test('Anthropic stream with an error after its first content – is recorded as truncated', async () => {
    const payloads = readStreamPayloads(recordingsFolder('anthropic'), 'text').slice(0, 4)
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const script = respondWithEvents([...payloads, JSON.stringify(overloaded)])
    const { model, alice } = await prepareProvider('anthropic', script)
    const last = (await readPayloads(await alice.post(chatRequest(model, { stream: true })))).at(-1)
    assert.match(last ?? '', /"error"/)
    const [record] = await alice.requests()
    assert.deepEqual([record?.outcome, record?.usage_source], ['truncated', 'estimate'])
  })

  test('Anthropic upstream overloaded before its first content – is replaced unnoticed', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const first = await server.upstream(respondWithEvents([JSON.stringify(overloaded)]), {
      provider: 'anthropic',
    })
    const second = await server.upstream(replay('gemini', 'text'), { provider: 'gemini' })
    second.strict('gemini')
    const model = await addModel([first, second])
    const alice = await server.account({ balance: '1' })
    const completion = assemble(await readChunks(await alice.post(chatRequest(model, { stream: true }))))
    assert.equal(completion.text, 'Hello, world.')
  })

  test('Unsupported feature – goes to the next upstream, or returns 400 with the field name', async () => {
    const anthropic = await server.upstream(replay('anthropic', 'text'), { provider: 'anthropic' })
    const openai = await server.upstream(respondWith('Twice.'))
    await server.model('both', { prices, upstreams: [anthropic, openai] })
    await server.model('alone', { prices, upstreams: [anthropic] })
    const alice = await server.account({ balance: '1' })

    assert.equal((await alice.post(chatRequest('both', { n: 2 }))).status, 200)
    const rejected = await alice.post(chatRequest('alone', { n: 2 }))
    assert.equal(rejected.status, 400)
    assert.equal(((await rejected.json()) as { error: { param: string } }).error.param, 'n')
    assert.equal(anthropic.requests.length, 0)
  })

  test('Gemini – its retryDelay becomes Retry-After, and a rejected key of ours returns 503', async () => {
    const { model, alice, upstream } = await prepareProvider(
      'gemini',
      respondWithError(429, {
        error: {
          code: 429,
          message: 'You exceeded your current quota.',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }],
        },
      }),
    )
    const busy = await alice.post(chatRequest(model))
    assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '35'])

    const reason = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }
    const error = { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details: [reason] }
    upstream.next(respondWithError(400, { error }), respondWithError(400, [{ error }]))
    assert.equal((await alice.post(chatRequest(model))).status, 503)
    assert.equal((await alice.post(chatRequest(model, { stream: true }))).status, 503)
  })

  test('Upstream without credit or with a wrong key – returns 503 for every error format', async () => {
    const alice = await server.account({ balance: '1' })
    const noCredit =
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.'
    const cases: [provider: string, Script][] = [
      [
        'anthropic',
        respondWithError(400, { type: 'error', error: { type: 'invalid_request_error', message: noCredit } }),
      ],
      [
        'openai',
        respondWithError(429, { error: { message: 'You exceeded your quota.', code: 'insufficient_quota' } }),
      ],
      ['qwen', respondWithError(400, { error: { message: 'Access denied.', code: 'Arrearage' } })],
      ['xai', respondWithError(400, { code: 'invalid', error: 'Incorrect API key provided: xx***.' })],
      [
        'bedrock',
        respondWithError(403, { message: 'The security token included in the request is invalid.' }),
      ],
    ]
    for (const [provider, script] of cases) {
      const upstream = await server.upstream(script, { provider })
      await server.model(provider, { prices, upstreams: [upstream] })
      assert.equal((await alice.post(chatRequest(provider))).status, 503, provider)
    }
  })

  test('Multi-part credential and exchanged token – never appear in responses or the log', async () => {
    const secret = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY'
    const credential = `AKIAIOSFODNN7EXAMPLE:${secret}`
    const script = respondWithError(400, {
      message: `Bad request, signed with ${secret} of AKIAIOSFODNN7EXAMPLE.`,
    })
    const { model, alice } = await prepareProvider('bedrock', script, { credential })
    const response = await alice.post(chatRequest(model))
    const text = await response.text()
    assert.equal(response.status, 400)
    for (const part of [secret, 'AKIAIOSFODNN7EXAMPLE']) {
      assert.ok(!text.includes(part) && !server.log.join('\n').includes(part), text)
    }
    const fields = { provider: 'vertex', credential: `{"private_key": ${secret}` }
    const invalid = await server.upstreamAt('http://127.0.0.1:9/v1', fields)
    await server.model('invalid', { prices, upstreams: [invalid] })
    assert.equal((await alice.post(chatRequest('invalid'))).status, 503)
    assert.ok(!server.log.join('\n').includes(secret))
  })

  test('Vertex token – is fetched once, reused, and renewed after it is rejected', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    let issuedTokens = 0
    const script: Script = (exchange) => {
      if (!exchange.request.path.endsWith('/token')) return replay('gemini', 'text')(exchange)
      issuedTokens += 1
      return respondWithJson(200, {
        access_token: `token-${issuedTokens}`,
        expires_in: 3599,
        token_type: 'Bearer',
      })(exchange)
    }
    const upstream = await server.upstream(script)
    upstream.strict('gemini')
    const key = {
      type: 'service_account',
      project_id: 'a-project',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: 'relay@a-project.iam.gserviceaccount.com',
      token_uri: `${upstream.url}/token`,
    }
    const vertex = { provider: 'vertex', credential: JSON.stringify(key) }
    const { name } = await server.upstreamAt(upstream.url, vertex)
    const model = await addModel([{ name }])
    const alice = await server.account({ balance: '1' })
    const tokens = (): unknown[] => upstream.requests.map(({ headers }) => headers.authorization ?? null)

    assert.equal((await alice.post(chatRequest(model))).status, 200)
    assert.equal((await alice.post(chatRequest(model, { stream: true }))).status, 200)
    assert.deepEqual(tokens(), [null, 'Bearer token-1', 'Bearer token-1'])
    assert.equal(
      upstream.requests[1]?.path,
      '/v1/projects/a-project/locations/global/publishers/google/models/family-model:generateContent',
    )
    const [head = '', claims = ''] = (
      new URLSearchParams(upstream.requests[0]?.text).get('assertion') ?? ''
    ).split('.')
    assert.match(Buffer.from(head, 'base64url').toString(), /RS256/)
    assert.match(Buffer.from(claims, 'base64url').toString(), /cloud-platform/)

    upstream.next(respondWithError(401))
    assert.equal((await alice.post(chatRequest(model))).status, 503)
    assert.equal((await alice.post(chatRequest(model))).status, 200)
    assert.deepEqual(tokens().slice(3), ['Bearer token-1', null, 'Bearer token-2'])

    // Two concurrent requests share one token request; after a failed one the next request tries again.
    upstream.next(
      respondWithError(403),
      respondWithError(400, { error: 'invalid_grant', error_description: 'No such account.' }),
    )
    assert.equal((await alice.post(chatRequest(model))).status, 503)
    assert.equal((await alice.post(chatRequest(model))).status, 503)
    const responses = await Promise.all([1, 2].map(() => alice.post(chatRequest(model))))
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    )
    assert.deepEqual(tokens().slice(6), ['Bearer token-2', null, null, 'Bearer token-3', 'Bearer token-3'])
  })
})
