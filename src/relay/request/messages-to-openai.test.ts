/** Requests in Anthropic's format that OpenAI's rules would reject if they were translated word for word. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, sentBody } from '../../providers/contract.fixture.ts'
import { messagesRequest, providerNamed } from './messages.fixture.ts'

/** The body that OpenAI gets, and accepts. */
function sent(fields: object): Record<string, unknown> {
  const openai = providerNamed('openai')
  return sentBody(openai, { ...createCall(openai, {}), body: messagesRequest(fields).encodingFor(openai) })
}

const user = (...content: object[]): object => ({ role: 'user', content })
const assistant = (...content: object[]): object => ({ role: 'assistant', content })
const text = (value: string): object => ({ type: 'text', text: value })
const use = (id: string): object => ({ type: 'tool_use', id, name: 'clock', input: {} })
const result = (id: string, ...content: object[]): object => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
})

function rolesIn(messages: readonly object[]): unknown[] {
  const translated = sent({ messages })['messages']
  return Array.isArray(translated) ? translated.map(({ role }: { role: string }) => role) : []
}

describe('requests to OpenAI', () => {
  test('strict schemas – stay strict only if all objects are closed and all properties required', () => {
    const closed = { type: 'object', additionalProperties: false }
    const optional = { ...closed, properties: { city: { type: 'string' } } }
    const nested = { ...closed, properties: { list: { type: 'array', items: optional } }, required: ['list'] }
    for (const schema of [optional, nested, { ...closed, anyOf: [optional] }, { ...closed, allOf: [] }]) {
      const { tools, response_format: format } = sent({
        output_config: { format: { type: 'json_schema', schema } },
        tools: [{ name: 'clock', input_schema: schema, strict: true }],
      })
      assert.deepEqual(tools, [{ type: 'function', function: { name: 'clock', parameters: schema } }])
      assert.deepEqual(format, {
        type: 'json_schema',
        json_schema: { name: 'answer', schema, strict: false },
      })
    }
  })

  test('stop sequences – an empty list is left out', () => {
    assert.equal('stop' in sent({ stop_sequences: [] }), false)
  })

  test('adjacent messages – are combined where tool results would not follow their calls', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
    const calls = [user(text('Time?')), assistant(text('I look.'), use('a')), assistant(use('b'))]
    const roles = ['user', 'assistant', 'tool', 'tool', 'user']
    assert.deepEqual(rolesIn([...calls, user(result('a', image)), user(result('b'))]), roles)
    assert.deepEqual(rolesIn([...calls, user(result('a'), result('b')), user(text('Go on.'))]), roles)
    assert.deepEqual(rolesIn([user(text('a')), user(text('b'))]), ['user', 'user'])
  })

  test('tool-call ids – longer than 40 characters are shortened, equal in call and result', () => {
    const [long, similar] = ['a', 'b'].map((end) => `toolu_${'x'.repeat(60)}${end}`)
    assert.ok(long && similar)
    const messages = [
      user(text('Time?')),
      assistant(use(long), use(similar), use('short')),
      user(result(long), result(similar), result('short')),
    ]
    const ids = JSON.stringify(sent({ messages })).matchAll(/"(?:id|tool_call_id)":"([^"]*)"/g)
    const [first, second, third, ...results] = Array.from(ids, ([, id = '']) => id)
    assert.deepEqual(results, [first, second, third])
    assert.equal(new Set(results).size, 3)
    assert.equal(third, 'short')
  })
})
