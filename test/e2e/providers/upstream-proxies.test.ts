// @backend both (cluster in long runs)
/** Upstreams behind a proxy, the models that an upstream offers, and the list of providers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startConnectProxy, startSocksProxy } from '../../../src/lib/http-client/proxy.fixture.ts'
import { providerNames } from '../../../src/providers/registry.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWithError, respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const prices: [string, string] = ['0.002', '0.002']

interface TestCallResult {
  readonly ok: boolean
  readonly status: number | null
  readonly message: string
}
interface ModelList extends TestCallResult {
  readonly models: readonly string[]
}

describe('Upstream proxies', () => {
  test('Upstream with a proxy – is called only through it, streaming or not', async (t) => {
    const bob = await server.account({ balance: '1' })
    for (const startProxy of [startConnectProxy, startSocksProxy]) {
      const scheme = startProxy === startConnectProxy ? 'http' : 'socks5'
      const upstream = await server.upstream(respondWith('Hello!'))
      const proxyServer = await startProxy(t, {
        toPort: Number(new URL(upstream.url).port),
        login: 'ann:proxy-canary',
      })
      const proxy = `${scheme}://ann:proxy-canary@127.0.0.1:${proxyServer.port}`
      const changed = await server.admin<{ proxy: string }>('PATCH', `/upstreams/${upstream.id}`, { proxy })
      assert.ok(!JSON.stringify(changed).includes('canary'))
      const model = `by-${scheme}`
      await server.model(model, { prices, upstreams: [upstream] })

      const response = await bob.post(chatRequest(model))
      assert.equal(response.status, 200, await response.clone().text())
      const streamed = await readPayloads(await bob.post(chatRequest(model, { stream: true })))
      assert.equal(streamed.at(-1), '[DONE]')
      assert.ok(
        proxyServer.targets.length > 0 &&
          proxyServer.targets.every((target) => target.endsWith(`:${upstream.port}`)),
      )
      assert.equal(upstream.requests.length, 2)

      const id = encodeURIComponent(upstream.id)
      const success = await server.admin<TestCallResult>('POST', `/upstreams/${id}/test`, { model })
      assert.ok(success.ok, success.message)
      await server.admin('PATCH', `/upstreams/${id}`, { proxy: proxy.replace('canary', 'wrong') })
      const failure = await server.admin<TestCallResult>('POST', `/upstreams/${id}/test`, { model })
      assert.equal(failure.ok, false)
      assert.match(failure.message, /proxy/)
      assert.equal((await bob.post(chatRequest(model))).status, 503)
      assert.equal(upstream.requests.length, 3)
    }
    assert.equal(await bob.held(), '0')
  })
})

describe('Upstream model lists', () => {
  test('Model list of an upstream – is read in the format of its provider', async () => {
    const body = { object: 'list', data: [{ id: 'model-b' }, { id: 'model-a' }, { id: 'model-a' }] }
    const models = [
      { name: 'models/gemini-x', supportedGenerationMethods: ['generateContent'] },
      { name: 'models/embedder', supportedGenerationMethods: ['embedContent'] },
    ]
    const cases = [
      ['openai-compatible', body, '/v1/models', ['model-a', 'model-b']],
      ['anthropic', body, '/v1/models?limit=1000', ['model-a', 'model-b']],
      ['gemini', { models }, '/v1/models?pageSize=1000', ['gemini-x']],
      [
        'cohere',
        { models: [{ name: 'command-x' }] },
        '/v1/models?endpoint=chat&page_size=1000',
        ['command-x'],
      ],
    ] as const
    for (const [provider, list, path, names] of cases) {
      const upstream = await server.upstream(respondWithJson(200, list), { provider })
      const result = await server.admin<ModelList>('POST', `/upstreams/${upstream.id}/fetch-models`)
      assert.deepEqual([result.ok, result.models], [true, names], result.message)
      assert.deepEqual(
        upstream.requests.map((request) => [request.method, request.path]),
        [['GET', path]],
      )
    }
  })

  test('Failed model list – reports the error without the credential', async () => {
    const rejecting = await server.upstream(
      respondWithError(401, { error: { message: 'Bad key sk-canary' } }),
      {
        credential: 'sk-canary',
      },
    )
    const result = await server.admin<ModelList>('POST', `/upstreams/${rejecting.id}/fetch-models`)
    assert.deepEqual([result.ok, result.status, result.models], [false, 401, []])
    assert.doesNotMatch(result.message, /sk-canary/)

    const malformed = await server.upstream(respondWithJson(200, { models: 'none' }))
    const unreadable = await server.admin<ModelList>('POST', `/upstreams/${malformed.id}/fetch-models`)
    assert.deepEqual([unreadable.ok, unreadable.models], [false, []])

    const bedrock = await server.upstream(respondWith('x'), {
      provider: 'bedrock',
      credential: 'AKIA:secret:eu-west-1',
    })
    const unsupported = await server.admin<ModelList>('POST', `/upstreams/${bedrock.id}/fetch-models`)
    assert.deepEqual([unsupported.ok, bedrock.requests.length], [false, 0])
  })

  test('Test of an upstream without a route – requests its model list, or needs a model name', async () => {
    const fresh = await server.upstream(respondWithJson(200, { data: [{ id: 'model-a' }] }))
    const result = await server.admin<TestCallResult>('POST', `/upstreams/${fresh.id}/test`)
    assert.deepEqual([result.ok, result.status], [true, 200])
    assert.deepEqual(
      fresh.requests.map((request) => [request.method, request.path]),
      [['GET', '/v1/models']],
    )
    const rejecting = await server.upstream(respondWithError(401, { error: { message: 'Bad key.' } }))
    assert.partialDeepStrictEqual(
      await server.admin<TestCallResult>('POST', `/upstreams/${rejecting.id}/test`),
      {
        ok: false,
        status: 401,
      },
    )
    const bedrockSettings = { provider: 'bedrock', credential: 'AKIA:secret:eu-west-1' }
    const { id } = await server.upstream(respondWith('x'), bedrockSettings)
    await assert.rejects(server.admin('POST', `/upstreams/${id}/test`), /400|model/)
  })

  test('List of providers – has every provider with its title', async () => {
    const { data } = await server.admin<{ data: { name: string; title: string }[] }>('GET', '/providers')
    assert.deepEqual(
      data.map(({ name }) => name),
      providerNames,
    )
    assert.ok(data.every(({ title }) => title.length > 0))
  })
})
