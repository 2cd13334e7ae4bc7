/** The encoding of a conversation with all features for each provider, written by hand from the providers' docs. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, sentBody } from './contract.fixture.ts'
import type { Provider } from './provider.ts'
import { findProvider } from './registry.ts'

function named(name: string): Provider {
  const provider = findProvider(name)
  assert.ok(provider)
  return provider
}

function bodyFor(name: string, json: Record<string, unknown>): unknown {
  return sentBody(named(name), createCall(named(name), json))
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const pixel = 'data:image/png;base64,iVBORw0KGgo='

const conversation = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Use tools.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Where is this?' },
        { type: 'image_url', image_url: { url: pixel } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_a', type: 'function', function: { name: 'place', arguments: '{"city":"Bern"}' } },
        { id: 'call_b', type: 'function', function: { name: 'clock', arguments: '' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_a', content: '{"found":true}' },
    { role: 'tool', tool_call_id: 'call_b', content: 'It is noon.' },
    { role: 'user', content: 'Thanks.' },
  ],
  tools: [
    { type: 'function', function: { name: 'place', description: 'Finds a place', parameters: schema } },
    { type: 'function', function: { name: 'clock' } },
  ],
  tool_choice: { type: 'function', function: { name: 'place' } },
  max_tokens: 500,
  temperature: 1.5,
  top_p: 0.9,
  stop: ['END'],
}
const noInput = { type: 'object', properties: {} }

describe('requests by provider', () => {
  test('anthropic – encodes a complete conversation', () => {
    assert.deepEqual(bodyFor('anthropic', { ...conversation, parallel_tool_calls: false, user: 'u-1' }), {
      model: 'upstream-model',
      max_tokens: 500,
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Use tools.' },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_a', name: 'place', input: { city: 'Bern' } },
            { type: 'tool_use', id: 'call_b', name: 'clock', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'call_a',
              content: [{ type: 'text', text: '{"found":true}' }],
            },
            { type: 'tool_result', tool_use_id: 'call_b', content: [{ type: 'text', text: 'It is noon.' }] },
            { type: 'text', text: 'Thanks.' },
          ],
        },
      ],
      tools: [
        { name: 'place', description: 'Finds a place', input_schema: schema },
        { name: 'clock', input_schema: noInput },
      ],
      tool_choice: { type: 'tool', name: 'place', disable_parallel_tool_use: true },
      temperature: 1,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
    })
  })

  test('gemini – encodes a complete conversation', () => {
    assert.deepEqual(bodyFor('gemini', { ...conversation, n: 2 }), {
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Use tools.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'Where is this?' },
            { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
          ],
        },
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'place', args: { city: 'Bern' } } },
            { functionCall: { name: 'clock', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'place', response: { found: true } } },
            { functionResponse: { name: 'clock', response: { output: 'It is noon.' } } },
            { text: 'Thanks.' },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: 'place', description: 'Finds a place', parametersJsonSchema: schema },
            { name: 'clock', parametersJsonSchema: noInput },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['place'] } },
      generationConfig: {
        maxOutputTokens: 500,
        temperature: 1.5,
        topP: 0.9,
        candidateCount: 2,
        stopSequences: ['END'],
      },
    })
  })

  test('bedrock – encodes a complete conversation', () => {
    assert.deepEqual(bodyFor('bedrock', conversation), {
      system: [{ text: 'Be brief.' }, { text: 'Use tools.' }],
      messages: [
        {
          role: 'user',
          content: [
            { text: 'Where is this?' },
            { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { toolUse: { toolUseId: 'call_a', name: 'place', input: { city: 'Bern' } } },
            { toolUse: { toolUseId: 'call_b', name: 'clock', input: {} } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 'call_a', content: [{ text: '{"found":true}' }] } },
            { toolResult: { toolUseId: 'call_b', content: [{ text: 'It is noon.' }] } },
            { text: 'Thanks.' },
          ],
        },
      ],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'place', description: 'Finds a place', inputSchema: { json: schema } } },
          { toolSpec: { name: 'clock', inputSchema: { json: noInput } } },
        ],
        toolChoice: { tool: { name: 'place' } },
      },
      inferenceConfig: { maxTokens: 500, temperature: 1, topP: 0.9, stopSequences: ['END'] },
    })
  })

  test('cohere – encodes a complete conversation', () => {
    const calls = [
      { id: 'call_a', type: 'function', function: { name: 'place', arguments: '{"city":"Bern"}' } },
      { id: 'call_b', type: 'function', function: { name: 'clock', arguments: '{}' } },
    ]
    assert.deepEqual(bodyFor('cohere', conversation), {
      model: 'upstream-model',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: 'Use tools.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where is this?' },
            { type: 'image_url', image_url: { url: pixel } },
          ],
        },
        { role: 'assistant', tool_calls: calls },
        { role: 'tool', tool_call_id: 'call_a', content: '{"found":true}' },
        { role: 'tool', tool_call_id: 'call_b', content: 'It is noon.' },
        { role: 'user', content: 'Thanks.' },
      ],
      // A single tool is required by sending no other.
      tools: [conversation.tools[0]],
      tool_choice: 'REQUIRED',
      max_tokens: 500,
      temperature: 1.5,
      p: 0.9,
      stop_sequences: ['END'],
      stream: false,
    })
  })

  test('azure – derives the URL style from the base URL, and sends the key in its header', () => {
    const azure = named('azure')
    const url = (baseUrl: string) => azure.buildRequest(createCall(azure, {}, { baseUrl })).url
    const host = 'https://r.openai.azure.com'
    const version = 'api-version=2024-10-21'
    assert.equal(url(`${host}/openai/v1`), `${host}/openai/v1/chat/completions`)
    const long = `${host}/openai/deployments/upstream-model/chat/completions?${version}`
    assert.equal(url(host), long)
    assert.equal(url(`${host}/openai`), long)
    assert.equal(url(`${host}/openai/deployments/upstream-model`), long)
    const { headers } = azure.buildRequest(createCall(azure, {}))
    assert.deepEqual(headers.at(-1), ['api-key', 'a-secret-key'])
  })
})

describe('Chat requests', () => {
  const user = { role: 'user', content: 'Hi' }
  const rejected = (name: string, json: object, param: string, message: RegExp): void =>
    assert.throws(() => bodyFor(name, { messages: [user], ...json }), { param, message }, name)

  test('Log probabilities that a provider cannot return are rejected by name', () => {
    for (const name of ['anthropic', 'gemini', 'bedrock', 'cohere']) {
      rejected(name, { logprobs: true }, 'logprobs', /not supported/)
      rejected(name, { top_logprobs: 2 }, 'top_logprobs', /not supported/)
      assert.ok(bodyFor(name, { messages: [user], logprobs: false }))
    }
  })

  test('A tool in the form of the Responses API is rejected with the reason', () => {
    const tools = [{ type: 'function', name: 'place', parameters: schema }]
    rejected('anthropic', { tools }, 'tools[0].function', /POST \/v1\/responses/)
    rejected('anthropic', { tools: [{ type: 'web' }] }, 'tools[0].type', /must be "function"/)
  })

  test('A data URL in capitals is data', () => {
    const image = { type: 'image_url', image_url: { url: pixel.replace('data:image', 'DATA:Image') } }
    const content = [{ type: 'text', text: 'What is this?' }, image]
    for (const name of ['anthropic', 'gemini', 'bedrock'])
      assert.match(JSON.stringify(bodyFor(name, { messages: [{ role: 'user', content }] })), /"iVBORw0KGgo="/)
  })

  test('A failed result of a tool is marked where the provider has a field for it', () => {
    const call = { id: 'call_a', type: 'function', function: { name: 'place', arguments: '{}' } }
    const result = { role: 'tool', tool_call_id: 'call_a', content: 'Error: no', is_error: true }
    const messages = [user, { role: 'assistant', content: null, tool_calls: [call] }, result]
    assert.match(JSON.stringify(bodyFor('bedrock', { messages })), /"status":"error"/)
    assert.match(JSON.stringify(bodyFor('anthropic', { messages })), /"is_error":true/)
  })
})
