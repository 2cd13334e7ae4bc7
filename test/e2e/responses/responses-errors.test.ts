// @backend both (cluster in long runs)
/** What the Responses API rejects, what it does not store, and what clients ask it for besides responses. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError } from '../../support/client/responses.ts'
import { postResponses, responsesRequest } from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith, respondWithError, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { BODY_LIMIT: '64KiB' } })
const prices: [string, string] = ['0.002', '0.008']
const upstream = await server.upstream(respondWith('Hello!', { input: 12, output: 6 }))
upstream.strict('openai')
await server.model('m', { upstreams: [upstream], prices })
const alice = await server.account({ balance: '¥10' })
const clock = { type: 'function', name: 'clock', parameters: { type: 'object', properties: {} } }

describe('Responses API errors', () => {
  test('Every error – has OpenAI’s shape, the usual status and code, and the retry header', async () => {
    const poor = await server.account()
    const narrow = await server.account({ balance: '¥1', key: { models: ['other'] } })
    const unknown = await server.account()
    unknown.key = { id: '', secret: 'sk-nobody' }
    const cases: [Promise<Response>, number, string][] = [
      [postResponses(unknown, responsesRequest('m')), 401, 'invalid_api_key'],
      [postResponses(poor, responsesRequest('m')), 402, 'insufficient_quota'],
      [postResponses(narrow, responsesRequest('m')), 403, 'model_not_allowed'],
      [postResponses(alice, responsesRequest('nowhere')), 404, 'model_not_found'],
      [postResponses(alice, responsesRequest('m'), { path: '/v1/replies' }), 404, 'not_found'],
      [postResponses(alice, responsesRequest('m', { input: 'x'.repeat(70_000) })), 413, 'request_too_large'],
      [postResponses(alice, '{'), 400, 'invalid_json'],
    ]
    for (const [pending, status, code] of cases) {
      const response = await pending
      assert.deepEqual([response.status, (await readError(response)).code], [status, code])
      assert.equal(response.headers.get('x-should-retry'), 'false', code)
    }
  })

  test('Invalid request – names its field', async () => {
    const cases: [object, string][] = [
      [{ input: 'Hi' }, 'model'],
      [{ model: 'm' }, 'input'],
      [responsesRequest('m', { input: [] }), 'input'],
      [responsesRequest('m', { input: '' }), 'input'],
      [responsesRequest('m', { input: ['Hi'] }), 'input[0]'],
      [responsesRequest('m', { max_output_tokens: 15 }), 'max_output_tokens'],
      [responsesRequest('m', { max_output_tokens: '64' }), 'max_output_tokens'],
      [responsesRequest('m', { max_tokens: 64 }), 'max_tokens'],
      [responsesRequest('m', { max_completion_tokens: 64 }), 'max_completion_tokens'],
      [responsesRequest('m', { stream: 'yes' }), 'stream'],
      [responsesRequest('m', { Max_Output_Tokens: 64 }), 'Max_Output_Tokens'],
      [responsesRequest('m', { service_tier: 'priority' }), 'service_tier'],
      [responsesRequest('m', { n_predict: 9 }), 'n_predict'],
      [responsesRequest('m', { input: [{ role: 'robot', content: 'x' }] }), 'input[0].role'],
      [responsesRequest('m', { input: [{ type: 'item_reference', id: 'msg_1' }] }), 'input[0].id'],
      [responsesRequest('m', { input: [{ type: 'item_reference' }] }), 'input[0].id'],
      [
        responsesRequest('m', { input: [{ type: 'function_call_output', call_id: 'a', output: 'x' }] }),
        'input[0].call_id',
      ],
      [
        responsesRequest('m', { tools: [clock, { type: 'code_interpreter', container: { type: 'auto' } }] }),
        'tools[1]',
      ],
      [responsesRequest('m', { tools: [{ type: 'web_search' }], tool_choice: 'required' }), 'tools[0]'],
    ]
    const before = upstream.requests.length
    for (const [body, param] of cases) {
      const response = await postResponses(alice, body)
      const error = await readError(response)
      assert.deepEqual([response.status, error.code, error.param], [400, 'invalid_request', param])
    }
    assert.equal(upstream.requests.length, before)
    assert.equal(await alice.held(), '0')
  })

  test('State at the provider – is rejected by name; an absent or false `store` is accepted', async () => {
    const cases: [string, unknown][] = [
      ['store', true],
      ['background', true],
      ['previous_response_id', 'resp_1'],
      ['conversation', 'conv_1'],
      ['prompt', { id: 'pmpt_1' }],
    ]
    for (const [field, value] of cases) {
      const response = await postResponses(alice, responsesRequest('m', { [field]: value }))
      const error = await readError(response)
      assert.deepEqual([response.status, error.param], [400, field])
    }
    const stateless = {
      store: false,
      background: false,
      previous_response_id: null,
      conversation: null,
      prompt: null,
    }
    const response = await postResponses(alice, responsesRequest('m', stateless))
    assert.equal(response.status, 200)
    assert.equal(((await response.json()) as { store: boolean }).store, false)
    assert.equal(upstream.requests.at(-1)?.json['store'], undefined)
  })

  test('Service tier – reaches only upstreams at which the operator allows it', async () => {
    const body = responsesRequest('tiers', { service_tier: 'flex' })
    const flexible = await server.upstream(respondWith('Hello!'), { allowed_fields: ['service_tier'] })
    await server.model('tiers', { upstreams: [upstream], prices })
    assert.equal((await readError(await postResponses(alice, body))).param, 'service_tier')
    await server.model('flexible', { upstreams: [upstream, flexible], prices })
    assert.equal((await postResponses(alice, { ...body, model: 'flexible' })).status, 200)
    assert.equal(flexible.requests.at(-1)?.json['service_tier'], 'flex')
  })

  test('Search that Codex offers – is left out, and an empty list of tools is not sent', async () => {
    for (const [tools, sent] of [
      [[{ type: 'web_search', external_web_access: false }, clock], 1],
      [[{ type: 'web_search' }], undefined],
      [[], undefined],
    ] as const) {
      const response = await postResponses(alice, responsesRequest('m', { tools, tool_choice: 'auto' }))
      assert.equal(response.status, 200)
      const received = upstream.requests.at(-1)?.json
      assert.equal((received?.['tools'] as unknown[] | undefined)?.length, sent)
      if (sent === undefined) assert.equal('tool_choice' in (received ?? {}), false)
    }
  })

  test('Error of an upstream – a 400 keeps its message, its 401 is a 503', async () => {
    upstream.next(
      respondWithError(400, { error: { message: 'Too odd.', type: 'invalid_request_error' } }),
      respondWithError(401),
    )
    const odd = await postResponses(alice, responsesRequest('m'))
    assert.deepEqual([odd.status, (await readError(odd)).message], [400, 'Too odd.'])
    const unauthorized = await postResponses(alice, responsesRequest('m'))
    assert.deepEqual(
      [unauthorized.status, (await readError(unauthorized)).code],
      [503, 'upstream_unavailable'],
    )
  })

  test('Field of the translated request – is named as the caller knows it', async () => {
    const claude = await server.upstream(respondWith('Hello!'), { provider: 'anthropic' })
    await server.model('deaf', { upstreams: [claude], prices })
    const audio = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }
    const deaf = await postResponses(
      alice,
      responsesRequest('deaf', { input: [{ role: 'user', content: [audio] }] }),
    )
    const error = await readError(deaf)
    assert.deepEqual([deaf.status, error.param], [400, 'input'])
    assert.match(error.message, /^Invalid `input`: this provider does not support audio/)
    const tooMuch = {
      message: 'max_tokens is too large: 99.',
      type: 'invalid_request_error',
      param: 'max_tokens',
    }
    upstream.next(respondWithError(400, { error: tooMuch }))
    const large = await postResponses(alice, responsesRequest('m', { max_output_tokens: 99 }))
    assert.deepEqual([large.status, (await readError(large)).param], [400, 'max_output_tokens'])
  })

  test('Stored responses – are not found, with every method', async () => {
    for (const [method, path] of [
      ['GET', '/resp_1'],
      ['GET', '/resp_1?stream=true'],
      ['DELETE', '/resp_1'],
      ['POST', '/resp_1/cancel'],
      ['GET', '/resp_1/input_items?limit=1'],
    ] as const) {
      const headers = { authorization: `Bearer ${alice.key.secret}` }
      const response = await fetch(`${server.url}/v1/responses${path}`, { method, headers })
      const error = await readError(response)
      assert.deepEqual([response.status, error.code], [404, 'response_not_found'], path)
      const anonymous = await fetch(`${server.url}/v1/responses${path}`, { method })
      assert.equal(anonymous.status, 401)
      await anonymous.text()
    }
    const list = await alice.get('/v1/responses')
    assert.deepEqual([list.status, list.headers.get('allow')], [405, 'POST'])
  })

  test('Codex’s own catalog of models – is empty; without its query, the list is the usual one', async () => {
    assert.deepEqual(await (await alice.get('/v1/models?client_version=0.153.0')).json(), { models: [] })
    const list = (await (await alice.get('/v1/models')).json()) as { data: object[] }
    assert.ok(list.data.length > 0)
    assert.equal((await fetch(`${server.url}/v1/models?client_version=1`)).status, 401)
  })
})

describe('Token counts of the Responses API', () => {
  const path = '/v1/responses/input_tokens'

  test('Count without a provider that counts – is the estimate, marked, and free', async () => {
    const response = await postResponses(
      alice,
      responsesRequest('m', { instructions: 'Be brief.', tools: [clock] }),
      { path },
    )
    assert.equal(response.status, 200)
    const { input_tokens: tokens, ...rest } = (await response.json()) as Record<string, unknown>
    assert.deepEqual(rest, { object: 'response.input_tokens', sluice: { source: 'estimate' } })
    assert.ok(Number(tokens) > 5)
    assert.equal(response.headers.get('x-sluice-cost'), null)
  })

  test('Count with an Anthropic upstream – is the provider’s, of the translated request', async () => {
    const claude = await server.upstream(respondWithJson(200, { input_tokens: 2095 }), {
      provider: 'anthropic',
    })
    await server.model('claude', { upstreams: [claude], prices })
    const body = responsesRequest('claude', {
      instructions: 'Be brief.',
      max_output_tokens: 64,
      temperature: 1,
      stream: true,
    })
    const response = await postResponses(alice, body, { path })
    assert.deepEqual(await response.json(), { object: 'response.input_tokens', input_tokens: 2095 })
    const received = claude.requests.at(-1)
    assert.equal(received?.path, '/v1/messages/count_tokens')
    assert.deepEqual(Object.keys(received?.json ?? {}), ['model', 'messages', 'system'])
  })
})
