// @backend both (cluster in long runs)
/** Chat at upstreams whose models turn out to have the Responses API alone, or to reject what the relay adds to it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { messagesRequest, postMessages } from '../../support/upstream/anthropic-messages.ts'
import { replay } from '../../support/upstream/provider-recordings.ts'
import { respondWith, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const alice = await server.account({ balance: '¥10' })

describe('Models whose names say nothing', () => {
  const notChat = {
    error: {
      message: 'This model is only supported in v1/responses and not in v1/chat/completions.',
      type: 'invalid_request_error',
      param: 'model',
      code: null,
    },
  }

  test('Rejection by chat completions – is learned in the same attempt, and remembered', async () => {
    const upstream = await server.upstream(
      (exchange) =>
        (exchange.request.path.endsWith('/responses')
          ? replay('responses', 'text')
          : respondWithJson(404, notChat))(exchange),
      { provider: 'azure' },
    )
    await server.model('deployment', { upstreams: [upstream] })
    for (const [index, paths] of [['chat/completions', 'responses'], ['responses']].entries()) {
      const before = upstream.requests.length
      const response = await alice.post(chatRequest('deployment', { stream: index === 0 }))
      assert.match(await response.text(), /Hello,/)
      assert.deepEqual(
        upstream.requests.slice(before).map(({ path }) => /\/(chat\/completions|responses)/.exec(path)?.[1]),
        paths,
      )
    }
    const tested = await server.admin<{ ok: boolean }>('POST', `/upstreams/${upstream.id}/test`, {
      model: 'deployment',
    })
    assert.equal(tested.ok, true)
  })

  test('Model with reasoning that takes no tools in chat – gets requests with tools alone', async () => {
    const message =
      'Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions.'
    const error = { message, type: 'invalid_request_error', param: 'reasoning_effort', code: null }
    const upstream = await server.upstream(
      (exchange) => {
        const { path, json } = exchange.request
        if (path.endsWith('/responses')) return replay('responses', 'text')(exchange)
        return ('tools' in json ? respondWithJson(400, { error }) : respondWith('From chat.'))(exchange)
      },
      { provider: 'openai' },
    )
    await server.model('reasoner', { upstreams: [upstream] })
    const tools = [
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
    ]
    const send = async (fields: object): Promise<string> =>
      (await alice.post(chatRequest('reasoner', fields))).text()
    assert.match(await send({ tools }), /Hello, world\./)
    assert.match(await send({}), /From chat\./)
    assert.match(await send({ tools }), /Hello, world\./)
    const paths = upstream.requests.map(({ path }) => path.replace('/v1/', ''))
    assert.deepEqual(paths, ['chat/completions', 'responses', 'chat/completions', 'responses'])
  })

  test('Upstream without chat completions – is used if the operator says what it speaks', async () => {
    const upstream = await server.upstream(
      (exchange) =>
        (exchange.request.path.endsWith('/responses')
          ? replay('responses', 'text')
          : respondWithJson(404, { detail: 'Not Found' }))(exchange),
      { speaks: ['responses'] },
    )
    await server.model('unlisted', { upstreams: [upstream] })
    const response = await postMessages(alice, messagesRequest('unlisted'))
    assert.match(await response.text(), /Hello, world\./)
  })

  test('Summaries and reasoning that an upstream rejects – are left out', async () => {
    const rejection = (code: string, param: string | null) => ({
      error: { message: 'No.', type: 'invalid_request_error', param, code },
    })
    const upstream = await server.upstream(
      (exchange) => {
        const { input, reasoning } = exchange.request.json
        if (JSON.stringify(reasoning ?? {}).includes('summary'))
          return respondWithJson(400, rejection('unsupported_value', 'reasoning.summary'))(exchange)
        if (JSON.stringify(input).includes('encrypted_content'))
          return respondWithJson(400, rejection('invalid_encrypted_content', null))(exchange)
        return replay('responses', 'text')(exchange)
      },
      { provider: 'openai' },
    )
    upstream.strict('responses')
    await server.model('unverified', {
      upstreams: [],
      routes: [{ upstream: upstream.name, model: 'o3-pro' }],
    })
    const detail = {
      type: 'reasoning.text',
      text: '',
      signature: 'x',
      format: 'openai-responses-v1',
      index: 0,
    }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello', reasoning_details: [detail] },
      { role: 'user', content: 'Again' },
    ]
    const send = (): Promise<Response> =>
      alice.post({ model: 'unverified', messages, reasoning_effort: 'low' })
    assert.equal((await send()).status, 200)
    assert.deepEqual(upstream.requests.at(-1)?.json['reasoning'], { effort: 'low' })
    assert.equal(upstream.requests.length, 3)
    // The summary is not asked for again; the reasoning may be another organization's only here.
    assert.equal((await send()).status, 200)
    assert.equal(upstream.requests.length, 5)
  })
})
