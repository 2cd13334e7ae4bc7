// @backend both (cluster in long runs)
/**
 * The Responses API with upstreams of every kind: the cases of Open Responses' conformance suite, each against scripted
 * upstreams that check what they receive.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { waitForRecord } from '../../support/client/responses.ts'
import {
  checkResponse,
  postResponses,
  responsesRequest,
  streamResponse,
  textOf,
} from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { replay } from '../../support/upstream/provider-recordings.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }
const alice = await server.account({ balance: '¥10' })
const kinds = ['openai', 'anthropic', 'gemini', 'bedrock', 'cohere'] as const
const image = 'data:image/png;base64,iVBORw0KGgo='
const weather = {
  type: 'function',
  name: 'weather',
  description: 'Weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

for (const kind of kinds) {
  const isChat = kind === 'openai'
  const text = isChat
    ? respondWith('Hello, world.', { input: 20, output: 4, cached: 8 })
    : replay(kind, 'text')
  const upstream = await server.upstream(text, { provider: kind, speaks: [] })
  upstream.strict(kind)
  await server.model(kind, { upstreams: [upstream], prices })

  describe(`Responses API (${kind})`, () => {
    for (const [name, fields] of Object.entries({
      'Basic response': {},
      'System prompt': {
        input: [
          { type: 'message', role: 'system', content: 'You are a pirate.' },
          { type: 'message', role: 'user', content: 'Say hello.' },
        ],
      },
      Instructions: {
        instructions: 'Be brief.',
        input: [
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: 'Hi' },
        ],
      },
      'Multi-turn conversation': {
        input: [
          { type: 'message', role: 'user', content: 'My name is Alice.' },
          { type: 'message', role: 'assistant', content: 'Hello Alice!' },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is my name?' }] },
        ],
      },
      'Assistant phase': {
        input: [
          { type: 'message', role: 'user', content: 'Help me.' },
          {
            type: 'message',
            role: 'assistant',
            phase: 'commentary',
            content: [{ type: 'output_text', text: 'I look.' }],
          },
          { type: 'message', role: 'assistant', phase: 'final_answer', content: 'Found it.' },
          { type: 'message', role: 'user', content: 'Thanks.' },
        ],
      },
    })) {
      test(`${name} – is completed, streaming or not, with the same output`, async () => {
        const body = responsesRequest(kind, fields)
        const response = await postResponses(alice, body)
        assert.equal(response.status, 200)
        const { output, status, usage } = checkResponse(await response.json())
        assert.deepEqual([status, output.map(textOf)], ['completed', ['Hello, world.']])
        assert.deepEqual([usage?.['input_tokens'], usage?.['output_tokens']], [20, 4])
        const streamed = await streamResponse(alice, body)
        assert.deepEqual(streamed.output.map(textOf), ['Hello, world.'])
        assert.deepEqual(streamed.usage, usage)
        assert.equal((await waitForRecord(alice, response)).usage_source, 'provider')
      })
    }

    test('Image input – reaches the upstream', async () => {
      const content = [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: image },
      ]
      const response = await postResponses(
        alice,
        responsesRequest(kind, { input: [{ role: 'user', content }] }),
      )
      assert.equal(response.status, 200)
      assert.match(upstream.requests.at(-1)?.text ?? '', /iVBORw0KGgo=/)
    })

    test('Tool calling – returns calls whose results the upstream takes back', async () => {
      const toolCalls = [{ id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }]
      const script = isChat ? respondWith('', { input: 20, output: 4 }, { toolCalls }) : replay(kind, 'tools')
      upstream.next(script)
      const question = { role: 'user', content: 'Weather in Oslo?' }
      const body = responsesRequest(kind, { tools: [weather], input: [question] })
      const { output } = await streamResponse(alice, body)
      const calls = output.filter(({ type }) => type === 'function_call')
      assert.ok(calls.length > 0)
      const results = calls.map(({ call_id: id }) => ({
        type: 'function_call_output',
        call_id: id,
        output: 'Sunny',
      }))
      const next = await postResponses(alice, { ...body, input: [question, ...output, ...results] })
      assert.equal(next.status, 200, await next.clone().text())
      assert.equal(checkResponse(await next.json()).status, 'completed')
      const sent = upstream.requests.at(-1)?.text ?? ''
      for (const { call_id: id } of calls) assert.ok(sent.includes(String(id)) || kind === 'gemini', sent)
      if (kind === 'gemini') assert.match(sent, /"thoughtSignature":"c2ln/)
    })
  })
}
