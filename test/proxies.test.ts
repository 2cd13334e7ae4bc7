/** Upstreams behind a proxy, and what upstreams say they have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connectProxy, socksProxy } from '../src/lib/http-client/proxy.fixture.ts'
import { providerNames } from '../src/providers/registry.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failing, json, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const prices: [string, string] = ['0.002', '0.002']

interface Trial {
  readonly ok: boolean
  readonly status: number | null
  readonly message: string
}
interface Told extends Trial {
  readonly models: readonly string[]
}

test('an upstream with a proxy is called through it, whole and streamed, and never around it', async (t) => {
  const bob = await house.account({ balance: '1' })
  for (const open of [connectProxy, socksProxy]) {
    const scheme = open === connectProxy ? 'http' : 'socks5'
    const upstream = await house.upstream(saying('Hello!'))
    const played = await open(t, { toPort: Number(new URL(upstream.url).port), login: 'ann:proxy-canary' })
    const proxy = `${scheme}://ann:proxy-canary@127.0.0.1:${played.port}`
    const changed = await house.admin<{ proxy: string }>('PATCH', `/upstreams/${upstream.id}`, { proxy })
    assert.ok(!JSON.stringify(changed).includes('canary'))
    const model = `by-${scheme}`
    await house.model(model, { prices, upstreams: [upstream] })

    const whole = await bob.post(question(model))
    assert.equal(whole.status, 200, await whole.clone().text())
    const streamed = await payloadsOf(await bob.post(question(model, { stream: true })))
    assert.equal(streamed.at(-1), '[DONE]')
    assert.ok(played.asked.length > 0 && played.asked.every((asked) => asked.endsWith(`:${upstream.port}`)))
    assert.equal(upstream.requests.length, 2)

    const id = encodeURIComponent(upstream.id)
    const right = await house.admin<Trial>('POST', `/upstreams/${id}/test`, { model })
    assert.ok(right.ok, right.message)
    await house.admin('PATCH', `/upstreams/${id}`, { proxy: proxy.replace('canary', 'wrong') })
    const wrong = await house.admin<Trial>('POST', `/upstreams/${id}/test`, { model })
    assert.equal(wrong.ok, false)
    assert.match(wrong.message, /proxy/)
    assert.equal((await bob.post(question(model))).status, 503)
    assert.equal(upstream.requests.length, 3)
  }
  assert.equal(await bob.held(), '0')
})

test('an upstream tells which models it has, in the list of its dialect', async () => {
  const body = { object: 'list', data: [{ id: 'model-b' }, { id: 'model-a' }, { id: 'model-a' }] }
  const models = [
    { name: 'models/gemini-x', supportedGenerationMethods: ['generateContent'] },
    { name: 'models/embedder', supportedGenerationMethods: ['embedContent'] },
  ]
  const cases = [
    ['openai-compatible', body, '/v1/models', ['model-a', 'model-b']],
    ['anthropic', body, '/v1/models?limit=1000', ['model-a', 'model-b']],
    ['gemini', { models }, '/v1/models?pageSize=1000', ['gemini-x']],
    ['cohere', { models: [{ name: 'command-x' }] }, '/v1/models?endpoint=chat&page_size=1000', ['command-x']],
  ] as const
  for (const [provider, list, path, names] of cases) {
    const upstream = await house.upstream(json(200, list), { provider })
    const told = await house.admin<Told>('POST', `/upstreams/${upstream.id}/fetch-models`)
    assert.deepEqual([told.ok, told.models], [true, names], told.message)
    assert.deepEqual(
      upstream.requests.map((request) => [request.method, request.path]),
      [['GET', path]],
    )
  }
})

test('a list of models that cannot be had is told in words, without the credential', async () => {
  const refusing = await house.upstream(failing(401, { error: { message: 'Bad key sk-canary' } }), {
    credential: 'sk-canary',
  })
  const told = await house.admin<Told>('POST', `/upstreams/${refusing.id}/fetch-models`)
  assert.deepEqual([told.ok, told.status, told.models], [false, 401, []])
  assert.doesNotMatch(told.message, /sk-canary/)

  const garbled = await house.upstream(json(200, { models: 'none' }))
  const unread = await house.admin<Told>('POST', `/upstreams/${garbled.id}/fetch-models`)
  assert.deepEqual([unread.ok, unread.models], [false, []])

  const silent = await house.upstream(saying('x'), {
    provider: 'bedrock',
    credential: 'AKIA:secret:eu-west-1',
  })
  const without = await house.admin<Told>('POST', `/upstreams/${silent.id}/fetch-models`)
  assert.deepEqual([without.ok, silent.requests.length], [false, 0])
})

test('an upstream to which no route leads yet is tried by asking for its list; one that has no list wants a model named', async () => {
  const fresh = await house.upstream(json(200, { data: [{ id: 'model-a' }] }))
  const trial = await house.admin<Trial>('POST', `/upstreams/${fresh.id}/test`)
  assert.deepEqual([trial.ok, trial.status], [true, 200])
  assert.deepEqual(
    fresh.requests.map((request) => [request.method, request.path]),
    [['GET', '/v1/models']],
  )
  const dead = await house.upstream(failing(401, { error: { message: 'Bad key.' } }))
  assert.partialDeepStrictEqual(await house.admin<Trial>('POST', `/upstreams/${dead.id}/test`), {
    ok: false,
    status: 401,
  })
  const bedrock = { provider: 'bedrock', credential: 'AKIA:secret:eu-west-1' }
  const { id } = await house.upstream(saying('x'), bedrock)
  await assert.rejects(house.admin('POST', `/upstreams/${id}/test`), /400|model/)
})

test('every provider is offered with its title and address', async () => {
  const { data } = await house.admin<{ data: { name: string; title: string }[] }>('GET', '/providers')
  assert.deepEqual(
    data.map(({ name }) => name),
    providerNames,
  )
  assert.ok(data.every(({ title }) => title.length > 0))
})
