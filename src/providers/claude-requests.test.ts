/** Ordinary requests in the OpenAI format that Anthropic's and Amazon's rules for Claude would reject as they are. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ChunkWriter } from './chat-response.ts'
import { createCall, sentBody } from './contract.fixture.ts'
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

describe('ChunkWriter', () => {
  test('usage – is null in every chunk but the last if the caller asked for it, else absent', () => {
    const provider = findProvider('anthropic')
    assert.ok(provider)
    const usage = { input: 3, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0 }
    const usages = (json: Json): unknown[] => {
      const writer = new ChunkWriter(createCall(provider, json))
      const chunks = [...writer.text('Hi'), ...writer.finish({ reason: 'stop', native: 'end_turn' })]
      return [...chunks, ...writer.usage(usage)].map((chunk) => chunk['usage'])
    }
    const [first, second, third, last] = usages({ stream: true, stream_options: { include_usage: true } })
    assert.deepEqual([first, second, third], [null, null, null])
    assert.ok(last)
    assert.deepEqual(usages({ stream: true }).slice(0, 3), [undefined, undefined, undefined])
  })
})
