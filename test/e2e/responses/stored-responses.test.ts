// @backend both (cluster in long runs)
/** Responses that a provider stores: they belong to one account here, and to one credential there. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError, waitForRecord } from '../../support/client/responses.ts'
import { postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import type { Account } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { waitFor } from '../../support/upstream/fault-injection.ts'
import { messageItem, nativeResponse, respondWithItems } from '../../support/upstream/native-responses.ts'
import { respondWith, respondWithError, respondWithJson } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const prices = { input: '0.001', output: '0.001' }
let count = 0

/** An upstream that stores responses under its own ids. */
const storing: Script = async (exchange) => {
  const { method, path } = exchange.request
  const [, id = '', rest] = /^\/v1\/responses\/([^/?]+)(\/\w+)?/.exec(path) ?? []
  if (method === 'POST' && id === '')
    return respondWithItems([messageItem('Stored.')], { id: `resp_${++count}` })(exchange)
  if (rest === '/cancel')
    return respondWithError(400, { message: 'Cannot cancel a synchronous response.' })(exchange)
  if (rest === '/input_items') return respondWithJson(200, { object: 'list', data: [] })(exchange)
  const deleted = { id, object: 'response', deleted: true }
  return respondWithJson(200, method === 'DELETE' ? deleted : nativeResponse([], { id }))(exchange)
}

const first = await server.upstream(storing, { provider: 'openai' })
const second = await server.upstream(storing, { provider: 'openai' })
const chat = await server.upstream(respondWith('Hello from chat.'))
await server.model('stored', { upstreams: [first, second, chat], prices })
await server.model('translated', { upstreams: [chat], prices })
const alice = await server.account({ balance: '10' })
const bob = await server.account({ balance: '10' })

/** Stores a response, and returns its id. */
async function store(caller: Account, fields: object = {}): Promise<string> {
  const response = await postResponses(caller, responsesRequest('stored', { store: true, ...fields }))
  assert.equal(response.status, 200, await response.clone().text())
  const [id] = /resp_\w+/.exec(await response.text()) ?? []
  await waitForRecord(caller, response)
  return id ?? assert.fail('no id')
}

function call(caller: Account, method: string, path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${caller.key.secret}` }
  return fetch(`${server.url}/v1/responses/${path}`, { method, headers })
}

async function failure(response: Response): Promise<unknown[]> {
  const { code, param } = await readError(response)
  return [response.status, code, param]
}

const continuing = (id: string, fields: object = {}): Record<string, unknown> =>
  responsesRequest('stored', { previous_response_id: id, ...fields })

describe('Stored responses', () => {
  for (const stream of [false, true]) {
    test(`are read, listed, cancelled and deleted where they are stored, free, stream ${stream}`, async () => {
      const id = await store(alice, { stream })
      assert.equal(first.requests.at(-1)?.json['store'], true)
      const balance = await alice.balance()
      const read = await call(alice, 'GET', `${id}?include=reasoning.encrypted_content`)
      assert.equal(((await read.json()) as { id: string }).id, id)
      const sent = first.requests.at(-1)
      assert.deepEqual(
        [sent?.method, sent?.path, sent?.headers.authorization],
        ['GET', `/v1/responses/${id}?include=reasoning.encrypted_content`, 'Bearer sk-upstream'],
      )
      const items = await call(alice, 'GET', `${id}/input_items?limit=1`)
      assert.deepEqual(await items.json(), { object: 'list', data: [] })
      assert.match((await readError(await call(alice, 'POST', `${id}/cancel`))).message, /synchronous/)
      assert.deepEqual(await (await call(alice, 'DELETE', id)).json(), {
        id,
        object: 'response',
        deleted: true,
      })
      assert.deepEqual(await failure(await call(alice, 'GET', id)), [
        404,
        'response_not_found',
        'response_id',
      ])
      assert.equal(await alice.balance(), balance)
    })
  }

  test('of another account, or that were not stored – are not found, and nothing is sent', async () => {
    const id = await store(alice)
    const unstored = await (await postResponses(alice, responsesRequest('stored'))).json()
    const { id: other } = unstored as { id: string }
    assert.equal(first.requests.at(-1)?.json['store'], false)
    const sent = first.requests.length
    for (const [caller, name] of [
      [bob, id],
      [alice, other],
      [alice, 'resp_%2E%2E'],
    ] as const) {
      for (const [method, path] of [
        ['GET', name],
        ['DELETE', name],
        ['GET', `${name}/input_items`],
        ['POST', `${name}/cancel`],
      ] as const)
        assert.equal((await call(caller, method, path)).status, 404, `${method} ${path}`)
      const response = await postResponses(caller, continuing(name))
      assert.deepEqual(await failure(response), [400, 'previous_response_not_found', 'previous_response_id'])
    }
    assert.equal(first.requests.length, sent)
    assert.equal((await call(alice, 'GET', id)).status, 200)
  })

  test('Continuation – goes where the response is stored, and never elsewhere', async () => {
    first.next(respondWithError(500, { message: 'Sorry.' }))
    const id = await store(alice)
    assert.equal(second.requests.at(-1)?.json['store'], true)
    const before = first.requests.length
    const response = await postResponses(alice, continuing(id, { store: true }))
    assert.equal(response.status, 200)
    assert.equal(second.requests.at(-1)?.json['previous_response_id'], id)
    second.next(respondWithError(500, { message: 'Sorry.' }))
    const failed = await postResponses(alice, continuing(id))
    assert.deepEqual(await failure(failed), [503, 'upstream_unavailable', null])
    assert.equal(first.requests.length, before)
  })

  test('Hold and count of a continuation – include the tokens of the stored response', async () => {
    const usage = { input_tokens: 70_000, output_tokens: 10, total_tokens: 70_010 }
    first.next(respondWithItems([messageItem('Long.')], { id: 'resp_long', usage }))
    const poor = await server.account({ balance: '0.08' })
    // Its own input is small, so that it is allowed; the provider had more to read.
    await store(poor, { input: 'x'.repeat(280_000), max_output_tokens: 16 })
    await poor.credit('0.05')
    const small = { max_output_tokens: 16 }
    assert.equal((await postResponses(poor, continuing('resp_long', small))).status, 402)
    assert.equal((await postResponses(poor, responsesRequest('stored', small))).status, 200)
    const count = await alice.post(responsesRequest('stored'), { path: '/v1/responses/input_tokens' })
    const { input_tokens: own } = (await count.json()) as { input_tokens: number }
    const continued = await poor.post(continuing('resp_long'), { path: '/v1/responses/input_tokens' })
    assert.equal(((await continued.json()) as { input_tokens: number }).input_tokens, own + 70_010)
  })

  test('whose upstream is disabled, or whose model is another one – are not found', async () => {
    const id = await store(alice)
    const missing = [400, 'previous_response_not_found', 'previous_response_id']
    const elsewhere = await postResponses(alice, { ...continuing(id), model: 'translated' })
    assert.deepEqual(await failure(elsewhere), missing)
    await server.admin('PATCH', `/upstreams/${first.id}`, { enabled: false })
    assert.deepEqual(await failure(await postResponses(alice, continuing(id))), missing)
    assert.equal((await call(alice, 'GET', id)).status, 404)
    await server.admin('PATCH', `/upstreams/${first.id}`, { enabled: true })
    assert.equal((await postResponses(alice, continuing(id))).status, 200)
  })

  test('that the provider has deleted – are not found any more', async () => {
    const id = await store(alice)
    first.next(respondWithError(404, { message: `Response with id '${id}' not found.` }))
    assert.equal((await call(alice, 'GET', id)).status, 404)
    const sent = first.requests.length
    assert.equal((await call(alice, 'GET', id)).status, 404)
    assert.equal(first.requests.length, sent)
  })

  test('with several credentials of an upstream – are continued with the one that stored them', async () => {
    const many = await server.upstream(storing, { provider: 'openai', credential: 'sk-one' })
    await server.admin('POST', `/upstreams/${many.id}/credentials`, { credential: 'sk-two' })
    await server.model('many', { upstreams: [many], prices })
    for (let i = 0; i < 6; i++) {
      const id = await store(alice, { model: 'many' })
      const holder = many.requests.at(-1)?.headers.authorization
      const response = await postResponses(alice, { ...continuing(id), model: 'many' })
      assert.equal(response.status, 200)
      assert.equal(many.requests.at(-1)?.headers.authorization, holder)
    }
  })

  test('Items that only their id describes – lose it, so that nobody reads the items of others', async () => {
    const input = [
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'image_generation_call', id: 'ig_1' },
      { role: 'user', content: 'Hi' },
    ]
    assert.equal((await postResponses(alice, responsesRequest('stored', { input }))).status, 200)
    assert.deepEqual(first.requests.at(-1)?.json['input'], [{ type: 'reasoning', summary: [] }, input[2]])
  })

  test('Stored response whose caller leaves – is found by the one who repeats the request', async () => {
    const headers = { 'idempotency-key': 'leaves' }
    const controller = new AbortController()
    const resumed = Promise.withResolvers<void>()
    first.next(waitFor(resumed.promise, storing))
    const body = responsesRequest('stored', { store: true })
    const sent = first.requests.length
    const left = postResponses(alice, body, { headers, signal: controller.signal }).catch(() => null)
    await waitUntil(() => first.requests.length > sent, 'the request')
    controller.abort()
    await left
    resumed.resolve()
    const { id } = await waitUntil(async () => {
      const response = await postResponses(alice, body, { headers })
      return response.status === 200 ? ((await response.json()) as { id: string }) : undefined
    }, 'the stored response')
    assert.equal((await call(alice, 'GET', id)).status, 200)
  })

  test('Fields that need other state at the provider – are 400 with their name', async () => {
    for (const [model, fields, param] of [
      ['translated', { store: true }, 'store'],
      ['stored', { store: 'yes' }, 'store'],
      ['stored', { background: true }, 'background'],
      ['stored', { conversation: 'conv_1' }, 'conversation'],
      ['stored', { prompt: { id: 'pmpt_1' } }, 'prompt'],
      ['stored', { previous_response_id: 5 }, 'previous_response_id'],
      ['stored', { input: [{ type: 'item_reference', id: 'msg_none' }] }, 'input[0].id'],
      ['stored', { input: [{ id: 'msg_none' }] }, 'input[0].id'],
    ] as const) {
      const response = await postResponses(alice, responsesRequest(model, fields))
      assert.deepEqual([response.status, (await readError(response)).param], [400, param])
    }
    const escaped = JSON.stringify(
      responsesRequest('stored', { input: [{ type: 'item_reference', id: 'x' }] }),
    )
    const hidden = await postResponses(alice, escaped.replace('item_', 'item\\u005f'))
    assert.deepEqual([hidden.status, (await readError(hidden)).param], [400, 'input[0].id'])
    const id = await store(alice)
    const streamed = await call(alice, 'GET', `${id}?stream=true`)
    assert.deepEqual([streamed.status, (await readError(streamed)).param], [400, 'stream'])
  })
})

describe('References to items of earlier responses', () => {
  const refer = (...ids: readonly string[]): object[] => ids.map((id) => ({ type: 'item_reference', id }))
  const hi = { role: 'user', content: 'Hi' }
  const clock = { type: 'function', name: 'clock', parameters: { type: 'object', properties: {} } }

  /** Has a response made, and returns the ids of its items. */
  async function itemsOf(caller: Account, model: string, fields: object = {}): Promise<string[]> {
    const response = await postResponses(caller, responsesRequest(model, fields))
    const ids = (await response.text()).matchAll(/"id":"((?:msg|fc)_\w+)"/g)
    return [...new Set(Array.from(ids, ([, id = '']) => id))]
  }

  test('The items take the place of the references, at every upstream, streamed or not', async () => {
    for (const stream of [false, true]) {
      const calling = { toolCalls: [{ id: 'call_1', name: 'clock', arguments: '{}' }] }
      chat.next(respondWith('Let me see.', undefined, calling))
      const translated = await itemsOf(alice, 'translated', { stream, tools: [clock] })
      assert.equal(translated.length, 2)
      const output = { type: 'function_call_output', call_id: 'call_1', output: 'Noon' }
      const input = [hi, ...refer('rs_gone', ...translated), output]
      const answered = await postResponses(alice, responsesRequest('translated', { input, stream }))
      assert.equal(answered.status, 200)
      await answered.text()
      const { messages } = chat.requests.at(-1)?.json ?? {}
      assert.deepEqual(
        (messages as { role: string }[]).map(({ role }) => role),
        ['user', 'assistant', 'tool'],
      )
      assert.match(JSON.stringify(messages), /Let me see.*"name":"clock".*Noon/)

      const [id = ''] = await itemsOf(alice, 'stored', { stream })
      const before = first.requests.length + second.requests.length
      const continued = responsesRequest('stored', { input: [hi, { id }, hi], store: false })
      assert.equal((await postResponses(alice, continued)).status, 200)
      assert.equal(first.requests.length + second.requests.length, before + 1)
      const sent = [first, second].map(({ requests }) => requests.at(-1)?.text ?? '')
      assert.ok(sent.some((text) => /"text":"Hi"|"content":"Hi"/.test(text) && text.includes('Stored.')))
    }
  })

  test('They exist for their account only, and not after `store: false`', async () => {
    const [id = ''] = await itemsOf(alice, 'translated')
    const [unkept = ''] = await itemsOf(alice, 'translated', { store: false })
    const bobs = await postResponses(bob, responsesRequest('translated', { input: [hi, ...refer(id)] }))
    const own = await postResponses(alice, responsesRequest('translated', { input: [...refer(unkept), hi] }))
    const twice = await postResponses(alice, responsesRequest('translated', { input: refer(id, id) }))
    for (const [response, param] of [
      [bobs, 'input[1].id'],
      [own, 'input[0].id'],
      [twice, 'input[1].id'],
    ] as const) {
      const error = await readError(response.clone())
      assert.deepEqual([response.status, error.param], [400, param])
    }
    assert.match(await bobs.text(), /Set `store: false`/)
    await server.assertNoOpenHolds()
  })
})
