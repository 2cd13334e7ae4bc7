// @backend both
/** Whether routes obey the maximum of output tokens: learned from responses, shown to operators, and reset by them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
const account = await server.account({ balance: '100' })

interface Model {
  readonly routes: readonly { readonly upstream: string; readonly model: string; readonly maximum: string }[]
}

async function createRoute(name: string) {
  const upstream = await server.upstream(respondWith('Hi', { input: 1, output: 1 }))
  await server.model(name, { upstreams: [upstream], prices: ['0.002', '0.008'], max_output_tokens: 4096 })
  const routes = async () => (await server.admin<Model>('GET', `/models/${name}`)).routes
  const isState = (state: string): Promise<true> =>
    waitUntil(async () => (await routes()).every(({ maximum }) => maximum === state), state)
  const send = async (fields: object, output: number, finish = 'length'): Promise<void> => {
    upstream.next(respondWith('Hi', { input: 1, output }, { finish }))
    const response = await account.post(chatRequest(name, fields))
    assert.equal(response.status, 200, await response.text())
  }
  return { upstream, routes, isState, send }
}

describe('Maximum of a route', () => {
  for (const stream of [false, true]) {
    const name = stream ? 'streaming' : 'non-streaming'
    test(`${name} – unseen, then obeyed, then exceeded for good, after a restart too`, async () => {
      const { isState, send } = await createRoute(name)
      await send({ stream, max_tokens: 100 }, 100, 'stop')
      await send({ stream, max_tokens: 100 }, 40)
      await send({ stream }, 1000)
      await isState('unseen')
      await send({ stream, max_tokens: 100 }, 100)
      await isState('obeyed')
      await server.restart()
      await isState('obeyed')
      await send({ stream, max_tokens: 50, n: 2 }, 200)
      await isState('exceeded')
      await send({ stream, max_tokens: 100 }, 100)
      await server.restart()
      await isState('exceeded')
    })
  }

  test('exceeded – is counted, notified, and reset by an operator, which is audited', async () => {
    const { routes, isState, send, upstream } = await createRoute('reset')
    await send({ max_tokens: 10 }, 1000)
    await isState('exceeded')
    const counted = await waitUntil(async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text()
      return /sluice_maximums_exceeded_total\{[^}]*model="reset"[^}]*\} (\d+)/.exec(metrics) ?? undefined
    }, 'the count')
    assert.equal(counted[1], '1')
    const notices = await waitUntil(async () => {
      const { data } = await server.admin<{ data: { kind: string; text: string }[] }>(
        'GET',
        '/notices?audience=operator&language=en',
      )
      return data.find(({ kind, text }) => kind === 'maximum_exceeded' && text.includes('“reset”'))
    }, 'the notification')
    assert.match(notices.text, /hold the maximum of the model/)
    const path = `/upstreams/${upstream.id}/reset-maximum`
    assert.deepEqual(await server.admin('POST', path, { model: 'reset' }), { maximum: 'unseen' })
    await isState('unseen')
    const { data } = await server.admin<{ data: { action: string; detail: object }[] }>(
      'GET',
      `/audit?object=${upstream.id}`,
    )
    const audited = data.find(({ action }) => action === 'upstream.reset_maximum')
    assert.deepEqual(audited?.detail, { model: 'reset' })
    await server.admin('PATCH', '/models/reset', { routes: await routes() })
    await send({ max_tokens: 10 }, 10)
    await isState('obeyed')
  })

  test('A test of the upstream shows whether it obeys', async () => {
    const { isState, upstream } = await createRoute('tested')
    upstream.next(respondWith('One two three', { input: 1, output: 16 }, { finish: 'length' }))
    await server.admin('POST', `/upstreams/${upstream.id}/test`, { model: 'tested' })
    assert.partialDeepStrictEqual(upstream.requests.at(-1)?.json, { max_tokens: 16 })
    await isState('obeyed')
  })

  test('another address or provider of the upstream – forgets what was seen', async () => {
    const { isState, send, upstream } = await createRoute('moved')
    await send({ max_tokens: 10 }, 10)
    await isState('obeyed')
    await server.admin('PATCH', `/upstreams/${upstream.id}`, { weight: 3, base_url: upstream.url })
    await isState('obeyed')
    await server.admin('PATCH', `/upstreams/${upstream.id}`, { base_url: `${upstream.url}/other` })
    await isState('unseen')
    await server.admin('PATCH', `/upstreams/${upstream.id}`, { base_url: upstream.url })
    await send({ max_tokens: 10 }, 100)
    await isState('exceeded')
    await server.admin('PATCH', `/upstreams/${upstream.id}`, { provider: 'vllm' })
    await isState('unseen')
  })
})
