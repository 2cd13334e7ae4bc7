// @backend both (cluster in long runs)
/** The Messages API with upstreams of other formats: requests and responses are translated. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { recordingsOf, readStreamPayloads, readResponse } from '../../../src/providers/contract.fixture.ts'
import { findProvider } from '../../../src/providers/registry.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  messagesRequest,
  assembleMessage,
  postMessages,
  parseMessagesEvents,
} from '../../support/upstream/anthropic-messages.ts'
import type { ScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { respondWithEvents, respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { STREAM_KEEP_ALIVE: '100ms' } })
const usage = { input: 20, output: 6, cached: 8 }
const toolCalls = [
  { id: 'call_paris', name: 'weather', arguments: '{"city":"Paris","days":3}' },
  { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo","days":5}' },
]
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002' }
const upstream = await server.upstream(respondWith('Hello, world!', usage))
upstream.strict('openai')
await server.model('m', { upstreams: [upstream], prices })
const alice = await server.account({ balance: '¥10' })
const cost = '0.0000736'
const bill = {
  input_tokens: 12,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 8,
  output_tokens: 6,
}

function lastMessages({ requests }: ScriptedUpstream): unknown[] {
  const messages = requests.at(-1)?.json['messages']
  return Array.isArray(messages) ? messages : []
}

function provider(name: string): NonNullable<ReturnType<typeof findProvider>> {
  const found = findProvider(name)
  assert.ok(found)
  return found
}

describe('Messages API translation', () => {
  test('Message and stream – have the same content, billed by the provider’s usage', async () => {
    const nonStreaming = await postMessages(alice, messagesRequest('m'))
    assert.equal(nonStreaming.headers.get('x-sluice-cost'), cost)
    const message = (await nonStreaming.json()) as Record<string, unknown>
    assert.partialDeepStrictEqual(message, {
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Hello, world!' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: bill,
    })
    const response = await postMessages(alice, messagesRequest('m', { stream: true }))
    assert.deepEqual(assembleMessage(parseMessagesEvents(await response.text())), message)
    for (const each of [nonStreaming, response]) {
      const record = await waitForRecord(alice, each)
      assert.deepEqual([record.cost, record.outcome, record.usage_source], [cost, 'ok', 'provider'])
    }
  })

  test('Request fields that OpenAI’s format has – all arrive', async () => {
    const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    const response = await postMessages(
      alice,
      messagesRequest('m', {
        max_tokens: 99,
        system: [{ type: 'text', text: 'Be exact.', cache_control: { type: 'ephemeral' } }],
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['END'],
        metadata: { user_id: 'u'.repeat(100) },
        thinking: { type: 'enabled', budget_tokens: 8000 },
        tools: [
          { name: 'weather', description: 'Weather.', input_schema: { type: 'object', properties: {} } },
        ],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: image },
              { type: 'text', text: 'Where?' },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Signed by Anthropic.', signature: 'c2lnbmVk' },
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } },
              { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} },
            ],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'toolu_1',
                content: [
                  { type: 'text', text: 'Sunny' },
                  { type: 'image', source: image },
                ],
              },
              { type: 'tool_result', tool_use_id: 'toolu_2', content: 'No city', is_error: true },
              { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } },
            ],
          },
        ],
      }),
    )
    assert.equal(response.status, 200)
    const part = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const call = (id: string, input: string): object => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: input },
    })
    const { user, ...sent } = upstream.requests.at(-1)?.json ?? {}
    assert.match(String(user), /^[0-9a-f]{64}$/)
    assert.deepEqual(sent, {
      model: 'm',
      max_tokens: 99,
      temperature: 0.5,
      top_p: 0.9,
      stop: ['END'],
      reasoning_effort: 'medium',
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Weather.',
            parameters: { type: 'object', properties: {} },
          },
        },
      ],
      tool_choice: 'required',
      parallel_tool_calls: false,
      messages: [
        { role: 'system', content: 'Be exact.' },
        { role: 'user', content: [part, { type: 'text', text: 'Where?' }] },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [call('toolu_1', '{"city":"Bern"}'), call('toolu_2', '{}')],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'Sunny' },
        { role: 'tool', tool_call_id: 'toolu_2', content: 'Error: No city' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What the tool answered to call toolu_1:' },
            part,
            { type: 'text', text: 'Go on.' },
          ],
        },
      ],
    })
  })

  test('Parallel tool calls – arrive as content blocks, streaming or not', async () => {
    upstream.next(respondWith('', usage, { toolCalls }), respondWith('', usage, { toolCalls }))
    const nonStreaming = (await (await postMessages(alice, messagesRequest('m'))).json()) as {
      content: object[]
      stop_reason: string
    }
    const streamed = assembleMessage(
      parseMessagesEvents(await (await postMessages(alice, messagesRequest('m', { stream: true }))).text()),
    )
    const blocks = toolCalls.map(({ id, name, arguments: input }) => {
      return { type: 'tool_use', id, name, input: JSON.parse(input) as object }
    })
    assert.deepEqual([nonStreaming.content, nonStreaming.stop_reason], [blocks, 'tool_use'])
    assert.deepEqual([streamed.content, streamed['stop_reason']], [blocks, 'tool_use'])
  })

  test('Thinking – goes back to the provider that produced it and to no other', async () => {
    const deepseek = await server.upstream(respondWith('Hi.', usage, { reasoning: 'Let me see.' }), {
      provider: 'deepseek',
    })
    const claude = await server.upstream(
      respondWithJson(200, readResponse(recordingsOf(provider('anthropic')), 'text')),
      {
        provider: 'anthropic',
      },
    )
    claude.strict('anthropic')
    await server.model('deepseek', { upstreams: [deepseek], prices })
    await server.model('claude', { upstreams: [claude], prices })
    const message = assembleMessage(
      parseMessagesEvents(
        await (await postMessages(alice, messagesRequest('deepseek', { stream: true }))).text(),
      ),
    )
    assert.deepEqual(
      message.content.map(({ type }) => type),
      ['thinking', 'text'],
    )
    assert.equal(message.content[0]?.['thinking'], 'Let me see.')
    const hello = { role: 'user', content: 'Say hello.' }
    const messages = [hello, { role: 'assistant', content: message.content }, hello]
    for (const model of ['deepseek', 'm', 'claude'])
      assert.equal((await postMessages(alice, messagesRequest(model, { messages }))).status, 200)
    assert.deepEqual(lastMessages(deepseek)[1], {
      role: 'assistant',
      content: 'Hi.',
      reasoning_content: 'Let me see.',
    })
    assert.deepEqual(lastMessages(upstream)[1], {
      role: 'assistant',
      content: 'Hi.',
    })
    assert.deepEqual(lastMessages(claude), [
      hello,
      { role: 'assistant', content: [message.content[1]] },
      hello,
    ])
  })

  test('Gemini upstream – returns thinking signed so that it can be sent back', async () => {
    const folder = recordingsOf(provider('gemini'))
    const gemini = await server.upstream(respondWithEvents(readStreamPayloads(folder, 'tools')), {
      provider: 'gemini',
    })
    gemini.strict('gemini')
    await server.model('gemini', { upstreams: [gemini], prices })
    const message = assembleMessage(
      parseMessagesEvents(
        await (await postMessages(alice, messagesRequest('gemini', { stream: true }))).text(),
      ),
    )
    assert.deepEqual(
      message.content.map(({ type }) => type),
      ['thinking', 'text', 'tool_use', 'redacted_thinking', 'tool_use', 'tool_use'],
    )
    const hello = { role: 'user', content: 'Say hello.' }
    const results = message.content.flatMap(({ type, id }) =>
      type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'Noon.' }] : [],
    )
    const messages = [
      hello,
      { role: 'assistant', content: message.content },
      { role: 'user', content: results },
    ]
    await (await postMessages(alice, messagesRequest('gemini', { stream: true, messages }))).text()
    assert.match(gemini.requests.at(-1)?.text ?? '', /"thoughtSignature":"c2ln/)
  })

  test('Anthropic-only features – are rejected by name unless another upstream supports them', async () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    const rejected = await postMessages(alice, messagesRequest('m', { tools }))
    assert.equal(rejected.status, 400)
    assert.partialDeepStrictEqual(await rejected.json(), {
      type: 'error',
      error: { type: 'invalid_request_error', param: 'tools[0].type' },
    })
    const claude = await server.upstream(
      respondWithJson(200, readResponse(recordingsOf(provider('anthropic')), 'text')),
      {
        provider: 'anthropic',
      },
    )
    claude.strict('anthropic')
    await server.model('m-or-claude', {
      upstreams: [upstream, claude],
      prices: { ...prices, per_search: '0' },
    })
    assert.equal((await postMessages(alice, messagesRequest('m-or-claude', { tools }))).status, 200)
  })
})
