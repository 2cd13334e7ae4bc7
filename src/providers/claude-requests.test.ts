/** Ordinary requests in the OpenAI format that Anthropic's and Amazon's rules for Claude would reject as they are. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { anthropicReasons } from './finish-reasons.ts'
import { ChatWriter } from './chat-response.ts'
import { createCall, sentBody } from './contract.fixture.ts'
import { UnsupportedFeatureError } from './provider.ts'
import { findProvider } from './registry.ts'

type Json = Record<string, unknown>

function bodyFor(name: 'anthropic' | 'bedrock', json: Json, model = 'claude-sonnet-4-5'): Json {
  const provider = findProvider(name)
  assert.ok(provider)
  return { ...sentBody(provider, createCall(provider, json, { model })) }
}

function messagesFor(messages: readonly object[]): unknown {
  return bodyFor('anthropic', { messages })['messages']
}

const hello = { role: 'user', content: 'Hello?' }
const user = (text: string): object => ({ role: 'user', content: [{ type: 'text', text }] })

describe('requests to Claude', () => {
  test('temperature with top_p – only the temperature is sent', () => {
    const both = { temperature: 0.5, top_p: 0.9 }
    const { temperature, top_p } = bodyFor('anthropic', both)
    assert.deepEqual([temperature, top_p], [0.5, undefined])
    assert.equal(bodyFor('anthropic', { top_p: 0.9 })['top_p'], 0.9)
    assert.deepEqual(bodyFor('bedrock', both)['inferenceConfig'], { maxTokens: 4096, temperature: 0.5 })
  })

  test('sampling – is left out for models that take none', () => {
    const sampling = { temperature: 0.5, top_p: 0.9, top_k: 5 }
    for (const [model, takes] of [
      ['claude-3-5-haiku-latest', true],
      ['claude-opus-4-20250514', true],
      ['claude-opus-4-1', true],
      ['claude-sonnet-4-6', true],
      ['claude-opus-4-7', false],
      ['claude-sonnet-5', false],
      ['an-alias', true],
    ] as const) {
      const { temperature, top_k } = bodyFor('anthropic', sampling, model)
      assert.deepEqual([temperature, top_k], takes ? [0.5, 5] : [undefined, undefined], model)
      const bedrock = JSON.stringify(bodyFor('bedrock', sampling, `us.anthropic.${model}-v1:0`))
      assert.equal(bedrock.includes('"temperature":0.5'), takes, model)
    }
  })

  test('sampling – is left out while the model thinks', () => {
    const thinking = { temperature: 0.5, top_k: 5, reasoning_effort: 'low', max_tokens: 8000 }
    assert.equal(bodyFor('anthropic', thinking)['temperature'], undefined)
    assert.equal(bodyFor('anthropic', { ...thinking, reasoning_effort: 'none' })['temperature'], 0.5)
  })

  test('tool-call ids – of other providers are encoded, equal in call and result', () => {
    const call = { id: 'functions.clock:0', type: 'function', function: { name: 'clock', arguments: '{}' } }
    const messages = [
      hello,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'Noon.' },
    ]
    for (const [name, pattern] of [
      ['anthropic', /"(?:id|tool_use_id)":"([^"]*)"/g],
      ['bedrock', /"toolUseId":"([^"]*)"/g],
    ] as const) {
      const text = JSON.stringify(bodyFor(name, { messages })['messages'])
      const ids = Array.from(text.matchAll(pattern), ([, id = '']) => id)
      assert.equal(ids.length, 2)
      assert.equal(ids[0], ids[1])
      assert.match(ids[0] ?? '', /^[a-zA-Z0-9_-]{1,64}$/)
    }
  })

  test('tool arguments in the history – that are not a JSON object are sent as an empty one', () => {
    for (const text of ['{"city": "Ber', '"Bern"', '[1]', 'null', '']) {
      const call = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: text } }
      const result = { role: 'tool', tool_call_id: call.id, content: 'Noon.' }
      const sent = JSON.stringify(messagesFor([hello, { role: 'assistant', tool_calls: [call] }, result]))
      assert.match(sent, /"name":"clock","input":\{\}/, text)
    }
  })

  test('tool-call ids – that repeat are numbered, equal in call and result', () => {
    const call = { id: 'call_0', type: 'function', function: { name: 'clock', arguments: '{}' } }
    const round = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'Noon.' },
    ]
    const sent = JSON.stringify(messagesFor([hello, ...round, hello, ...round, ...round]))
    const ids = Array.from(sent.matchAll(/"(?:id|tool_use_id)":"([^"]*)"/g), ([, id = '']) => id)
    assert.deepEqual(ids, ['call_0', 'call_0', 'call_0_2', 'call_0_2', 'call_0_3', 'call_0_3'])
  })

  test('tools – that were called are named to Amazon if the caller gives none', () => {
    const call = { id: '.'.repeat(60), type: 'function', function: { name: 'clock', arguments: '{}' } }
    const messages = [
      hello,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'Noon.' },
    ]
    const about = { description: 'No longer available.', inputSchema: { json: { type: 'object' } } }
    const { toolConfig } = bodyFor('bedrock', { messages })
    assert.deepEqual(toolConfig, { tools: [{ toolSpec: { name: 'clock', ...about } }] })
    assert.equal(bodyFor('bedrock', { messages: [hello] })['toolConfig'], undefined)
  })

  test('thinking – is left out if a tool must be called, and where it cannot continue', () => {
    const tools = [{ type: 'function', function: { name: 'clock' } }]
    const thinkingFor = (fields: Json, model?: string): unknown =>
      bodyFor('anthropic', { tools, reasoning_effort: 'low', max_tokens: 8000, ...fields }, model)['thinking']
    const forced = { tool_choice: 'required' }
    assert.deepEqual(thinkingFor({}), { type: 'enabled', budget_tokens: 1600 })
    assert.equal(thinkingFor(forced), undefined)
    assert.equal(thinkingFor(forced, 'claude-opus-4-6'), undefined)
    assert.equal(thinkingFor({ tool_choice: tools[0] }), undefined)
    const call = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }
    const called = [
      hello,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'Noon.' },
    ]
    assert.equal(thinkingFor({ messages: called }), undefined)
    assert.equal(thinkingFor({ messages: [...called, hello] }), undefined)
    assert.equal(thinkingFor({ messages: [hello, { role: 'assistant', content: 'It is' }] }), undefined)
    const over = [...called, { role: 'assistant', content: 'Noon.' }, hello]
    assert.ok(thinkingFor({ messages: over }))
  })

  test('schemas – are closed, with their bounds in the description', () => {
    const schema = {
      type: 'object',
      properties: {
        age: { type: 'integer', description: 'In years', minimum: 0, maximum: 150 },
        minimum: { type: ['object', 'null'], properties: {} },
        list: { type: 'array', minItems: 2, items: { oneOf: [{ type: 'object' }, { $ref: '#/$defs/a' }] } },
      },
      $defs: { a: { type: 'array', minItems: 1, items: { type: 'string', maxLength: 5 } } },
    }
    const closed = { additionalProperties: false }
    const expected = {
      type: 'object',
      properties: {
        age: { type: 'integer', description: 'In years\n\n{minimum: 0, maximum: 150}' },
        minimum: { type: ['object', 'null'], properties: {}, ...closed },
        list: {
          type: 'array',
          items: { anyOf: [{ type: 'object', ...closed }, { $ref: '#/$defs/a' }] },
          description: '{minItems: 2}',
        },
      },
      $defs: { a: { type: 'array', minItems: 1, items: { type: 'string', description: '{maxLength: 5}' } } },
      ...closed,
    }
    const strict = { type: 'function', function: { name: 'f', parameters: schema, strict: true } }
    const format = { type: 'json_schema', json_schema: { name: 'f', schema } }
    const { tools, output_config: output } = bodyFor('anthropic', {
      tools: [strict],
      response_format: format,
    })
    assert.deepEqual(tools, [{ name: 'f', input_schema: expected, strict: true }])
    assert.deepEqual(output, { format: { type: 'json_schema', schema: expected } })
  })

  test('Open objects of a response format are closed unless the caller insists on the schema', () => {
    const map = { type: 'object', additionalProperties: { type: 'string' } }
    const untyped = { properties: { a: {} }, additionalProperties: true }
    const schema = { type: 'array', items: { anyOf: [map, untyped] } }
    const closed = {
      type: 'array',
      items: {
        anyOf: [
          { ...map, additionalProperties: false },
          { ...untyped, additionalProperties: false },
        ],
      },
    }
    const formatOf = (strict?: boolean): object => ({
      type: 'json_schema',
      json_schema: { name: 'f', schema, strict },
    })
    for (const strict of [false, undefined]) {
      const { output_config: config } = bodyFor('anthropic', { response_format: formatOf(strict) })
      assert.deepEqual(config, { format: { type: 'json_schema', schema: closed } })
      const bedrock = JSON.stringify(bodyFor('bedrock', { response_format: formatOf(strict) }))
      assert.ok(bedrock.includes(JSON.stringify(JSON.stringify(closed))), bedrock)
    }
    for (const name of ['anthropic', 'bedrock'] as const)
      assert.throws(
        () => bodyFor(name, { response_format: formatOf(true) }),
        (error) =>
          error instanceof UnsupportedFeatureError && error.param === 'response_format.json_schema.schema',
      )
  })

  test('parameters – without a type are an object’s', () => {
    for (const parameters of [{}, { properties: {} }, undefined]) {
      const tools = [{ type: 'function', function: { name: 'clock', parameters } }]
      assert.match(JSON.stringify(bodyFor('anthropic', { tools })), /"input_schema":\{"type":"object"/)
      assert.match(JSON.stringify(bodyFor('bedrock', { tools })), /"json":\{"type":"object"/)
    }
  })

  test('assistant’s message last – is sent without white space at its end', () => {
    const sent = messagesFor([hello, { role: 'assistant', content: 'It is \n' }])
    const turns = [user('Hello?'), { role: 'assistant', content: [{ type: 'text', text: 'It is' }] }]
    assert.deepEqual(sent, turns)
    const parts = ['It is ', ' '].map((text) => ({ type: 'text', text }))
    assert.deepEqual(messagesFor([hello, { role: 'assistant', content: parts }]), turns)
  })

  test('A conversation that ends with the assistant gets a user’s turn for Claude 4.6 and later', () => {
    const messages = [hello, { role: 'assistant', content: 'It is' }]
    for (const [model, isContinued] of [
      ['claude-3-7-sonnet-latest', true],
      ['claude-sonnet-4-5', true],
      ['claude-opus-4-6', false],
      ['claude-sonnet-4-6', false],
      ['claude-opus-5', false],
      ['another-model', true],
    ] as const) {
      const expected = isContinued ? ['user', 'assistant'] : ['user', 'assistant', 'user']
      for (const [name, served] of [
        ['anthropic', model],
        ['bedrock', `eu.anthropic.${model}-v1:0`],
      ] as const) {
        const turns = bodyFor(name, { messages }, served)['messages'] as { role: string }[]
        assert.deepEqual(
          turns.map(({ role }) => role),
          expected,
          served,
        )
      }
    }
    const sent = bodyFor('anthropic', { messages }, 'claude-opus-4-6')['messages'] as object[]
    assert.deepEqual(sent.at(-1), user('.'))
  })

  test('Results of calls follow them at once and in their order', () => {
    const ids = ['call_1', 'call_2', 'call_3']
    const calls = ids.map((id) => ({ id, type: 'function', function: { name: 'clock', arguments: '{}' } }))
    const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: `of ${id}` })
    const messages = [
      hello,
      { role: 'assistant', content: null, tool_calls: calls },
      result('call_3'),
      hello,
      result('call_1'),
      result('call_2'),
    ]
    const sent = messagesFor(messages) as { content: { type: string; tool_use_id?: string }[] }[]
    assert.deepEqual(
      sent.at(-1)?.content.map(({ type, tool_use_id: id }) => id ?? type),
      [...ids, 'text'],
    )
  })

  test('Ids of users that Anthropic rejects are sent as hashes', () => {
    const sentId = (id: string): unknown => {
      const { metadata } = bodyFor('anthropic', { user: id }) as { metadata: { user_id: string } }
      return metadata.user_id
    }
    for (const id of ['user-1', '7f9c24e8-3b12-4fef-91e0-0a2b3c4d5e6f', 'a'.repeat(256), '12345'])
      assert.equal(sentId(id), id)
    for (const id of [
      'bob@example.com',
      'a'.repeat(257),
      '+41 79 123 45 67',
      '0791234567',
      'Bob Müller',
      '{"a":1}',
    ])
      assert.match(String(sentId(id)), /^[0-9a-f]{64}$/, id)
  })

  test('image/jpg – is sent as image/jpeg', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/jpg;base64,QQ==' } }
    assert.match(JSON.stringify(messagesFor([{ role: 'user', content: [image] }])), /"image\/jpeg"/)
  })

  test('system messages alone – the last one becomes the user’s', () => {
    const system = (content: string): object => ({ role: 'system', content })
    const body = bodyFor('anthropic', { messages: [system('Be brief.'), system('Say hello.')] })
    assert.deepEqual(body['system'], [{ type: 'text', text: 'Be brief.' }])
    assert.deepEqual(body['messages'], [user('Say hello.')])
  })

  test('user’s message without text – gets a placeholder', () => {
    for (const content of ['', ' \n', [], [{ type: 'text', text: '' }]]) {
      assert.deepEqual(messagesFor([{ role: 'user', content }]), [user('.')], JSON.stringify(content))
    }
    assert.deepEqual(messagesFor([{ role: 'user', content: '' }, hello]), [user('Hello?')])
  })

  test('assistant’s message first – follows a placeholder', () => {
    const welcome = { role: 'assistant', content: 'Welcome.' }
    const turns = [
      user('.'),
      { role: 'assistant', content: [{ type: 'text', text: 'Welcome.' }] },
      user('Hello?'),
    ]
    assert.deepEqual(messagesFor([welcome, hello]), turns)
    const roles = bodyFor('bedrock', { messages: [welcome, hello] })['messages'] as { role: string }[]
    assert.deepEqual(
      Array.from(roles, ({ role }) => role),
      ['user', 'assistant', 'user'],
    )
  })

  test('stop sequences – of white space only are left out', () => {
    assert.deepEqual(bodyFor('anthropic', { stop: ['\n\n', 'END', ' '] })['stop_sequences'], ['END'])
    assert.equal(bodyFor('anthropic', { stop: '\n' })['stop_sequences'], undefined)
  })
})

describe('ChatWriter', () => {
  test('usage – is null in every chunk but the last if the caller asked for it, else absent', () => {
    const provider = findProvider('anthropic')
    assert.ok(provider)
    const usage = { input: 3, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0 }
    const usages = (json: Json): unknown[] => {
      const writer = new ChatWriter(createCall(provider, json), { reasons: anthropicReasons })
      writer.text('Hi')
      writer.finish('end_turn')
      writer.usage(usage)
      return writer.take().map((chunk) => chunk['usage'])
    }
    const [first, second, third, last] = usages({ stream: true, stream_options: { include_usage: true } })
    assert.deepEqual([first, second, third], [null, null, null])
    assert.ok(last)
    assert.deepEqual(usages({ stream: true }).slice(0, 3), [undefined, undefined, undefined])
  })
})
