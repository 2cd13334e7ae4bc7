// @backend both
/** Where a route renames a model, responses carry the caller's name, in every format, unless the route exposes the upstream's. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { readError } from '../../support/client/responses.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  parseMessagesEvents,
  postMessages,
  readMessagesError,
  respondWithMessage,
} from '../../support/upstream/anthropic-messages.ts'
import { respondWith, respondWithError } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const openai = await server.upstream(respondWith('Hi there.', undefined, { model: 'real-2026' }))
const anthropic = await server.upstream(respondWithMessage(['Hi', ' there'], { model: 'claude' }), {
  provider: 'anthropic',
})
const alice = await server.account({ balance: '1' })

let models = 0
/** Creates a model that the upstream calls by another name. */
async function renamedModel(upstream: RegisteredUpstream, route: object = {}): Promise<string> {
  const id = `sold-${++models}`
  const routes = [{ upstream: upstream.name, model: 'real-model', ...route }]
  await server.model(id, { upstreams: [upstream], routes })
  return id
}

/** The models that responses in both formats name, streamed and not. */
async function namesIn(id: string): Promise<Set<unknown>> {
  const names = new Set<unknown>()
  const add = ({ model }: { model?: unknown }): unknown => names.add(model)
  add((await (await alice.post(chatRequest(id))).json()) as object)
  const options = { stream: true, stream_options: { include_usage: true } }
  const payloads = await readPayloads(await alice.post(chatRequest(id, options)))
  for (const payload of payloads.slice(0, -1)) add(JSON.parse(payload) as object)
  assert.equal(payloads.at(-1), '[DONE]')
  add((await (await postMessages(alice, messagesRequest(id))).json()) as object)
  const stream = await postMessages(alice, messagesRequest(id, { stream: true }))
  add(parseMessagesEvents(await stream.text())[0]?.message ?? {})
  return names
}

describe('Model renaming', () => {
  for (const [title, upstream, theirs] of [
    ['An OpenAI upstream', openai, 'real-2026'],
    ['An Anthropic upstream', anthropic, 'claude'],
  ] as const) {
    test(`${title} – its name appears nowhere, unless the route exposes it`, async () => {
      const hidden = await renamedModel(upstream)
      assert.deepEqual([...(await namesIn(hidden))], [hidden])
      assert.equal(upstream.requests.at(-1)?.json['model'], 'real-model')
      const exposed = await renamedModel(upstream, { expose_model: true })
      assert.deepEqual([...(await namesIn(exposed))], [theirs])
      await server.model(`same-${theirs}`, { upstreams: [upstream] })
      assert.deepEqual([...(await namesIn(`same-${theirs}`))], [theirs])
    })
  }

  test('Passed-through chunks – are unchanged apart from the name', async () => {
    const id = await renamedModel(openai)
    const request = chatRequest(id, { stream: true, stream_options: { include_usage: true } })
    const payloads = await readPayloads(await alice.post(request))
    await server.admin('PATCH', `/models/${id}`, {
      routes: [{ upstream: openai.name, model: 'real-model', expose_model: true }],
    })
    const exposed = await readPayloads(await alice.post(request))
    const comparable = (each: readonly string[]): string[] =>
      each.map((payload) => payload.replace(/"id":"[^"]*"/, '').replace(/"created":\d+/, ''))
    assert.deepEqual(
      comparable(payloads),
      comparable(exposed).map((payload) => payload.replace('"model":"real-2026"', `"model":"${id}"`)),
    )
  })

  test('Replayed response – has the name that the first one had', async () => {
    const id = await renamedModel(openai)
    for (const stream of [false, true]) {
      const send = async (): Promise<string> => {
        const headers = { 'idempotency-key': `${id}-${stream}` }
        return (await alice.post(chatRequest(id, { stream }), { headers })).text()
      }
      const first = await send()
      assert.match(first, new RegExp(`"model":"${id}"`))
      assert.doesNotMatch(first, /real/)
      assert.equal(await send(), first)
    }
  })

  test('Fallback model – is named as the header names it', async () => {
    const down = await server.upstream(respondWithError(500))
    const cheaper = await renamedModel(openai)
    await server.model('falling-back', { upstreams: [down], fallbacks: [cheaper] })
    const response = await alice.post(chatRequest('falling-back'))
    assert.equal(response.headers.get('x-sluice-model'), cheaper)
    assert.equal(((await response.json()) as { model: string }).model, cheaper)
  })

  test('Errors of the upstream – name the caller’s model', async () => {
    const id = await renamedModel(openai)
    const error = { message: 'The model `real-model` does not take images.', param: null }
    openai.next(respondWithError(400, { error }))
    openai.next(respondWithError(400, { error }))
    const message = `The model \`${id}\` does not take images.`
    assert.equal((await readError(await alice.post(chatRequest(id)))).message, message)
    const other = await postMessages(alice, messagesRequest(id))
    assert.equal((await readMessagesError(other)).message, message)
    const claude = await renamedModel(anthropic)
    anthropic.next(respondWithError(400, { type: 'error', error }))
    const count = await postMessages(alice, messagesRequest(claude), { path: '/v1/messages/count_tokens' })
    assert.equal((await readMessagesError(count)).message, message.replace(id, claude))
  })

  test('Routes – have the setting in the admin API, off by default', async () => {
    interface Model {
      routes: { model: string; expose_model: boolean }[]
    }
    const id = await renamedModel(openai, { expose_model: true })
    const path = `/models/${id}`
    assert.equal((await server.admin<Model>('GET', path)).routes[0]?.expose_model, true)
    const routes = [{ upstream: openai.name, model: 'real-model' }]
    const changed = await server.admin<Model>('PATCH', path, { routes })
    assert.equal(changed.routes[0]?.expose_model, false)
  })
})
