/** Ordinary requests in the OpenAI format that Google's rules for Gemini would reject as they are. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, sentBody } from '../contract.fixture.ts'
import { getObject, type Json } from '../json-fields.ts'
import { UnsupportedFeatureError, type UpstreamCall } from '../provider.ts'
import { gemini } from './gemini.ts'
import { vertex } from './vertex.ts'

function bodyFor(json: Json, model = 'gemini-2.5-flash'): Json {
  const body = sentBody(gemini, createCall(gemini, json, { model }))
  assert.deepEqual(sentBody(vertex, createCall(vertex, json, { model })), body)
  return body
}

function configFor(json: Json, model?: string): Json {
  return getObject(bodyFor(json, model), 'generationConfig') ?? {}
}

function rejectedParam(json: Json): string {
  try {
    bodyFor(json)
  } catch (error) {
    if (error instanceof UnsupportedFeatureError) return error.param
    throw error
  }
  return 'accepted'
}

const choiceOf = (name: string): Json => ({ type: 'function', function: { name } })
const named = (name: string): Json => ({ tools: [{ type: 'function', function: { name } }] })
const call = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }
const round = [
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'call_1', content: 'Noon.' },
]

describe('requests to Gemini', () => {
  test('only system messages – the last one is the user’s', () => {
    const system = ['Be brief.', 'Say hi.'].map((content) => ({ role: 'system', content }))
    const { systemInstruction, contents } = bodyFor({ messages: system })
    assert.deepEqual(systemInstruction, { parts: [{ text: 'Be brief.' }] })
    assert.deepEqual(contents, [{ role: 'user', parts: [{ text: 'Say hi.' }] }])
  })

  test('Results follow the order of their calls, and have the ids of calls since Gemini 3', () => {
    const ids = ['call_1', 'call_2', 'call_3']
    const calls = ids.map((id) => ({ ...call, id }))
    const results = [3, 1, 2].map((number) => {
      return { role: 'tool', tool_call_id: `call_${number}`, content: `Answer ${number}` }
    })
    const messages = [{ role: 'assistant', content: null, tool_calls: calls }, ...results]
    for (const [model, hasIds] of [
      ['gemini-2.5-flash', false],
      ['gemini-3-pro', true],
      ['gemini-flash-latest', true],
    ] as const) {
      const contents = bodyFor({ messages }, model)['contents'] as { parts: Json[] }[]
      const [called, answered] = contents.slice(-2)
      const idOf = (id: string): Json => (hasIds ? { id } : {})
      assert.deepEqual(
        called?.parts.map(({ functionCall }) => functionCall),
        ids.map((id) => ({ ...idOf(id), name: 'clock', args: {} })),
        model,
      )
      assert.deepEqual(
        answered?.parts.map(({ functionResponse }) => functionResponse),
        ids.map((id, index) => {
          return { ...idOf(id), name: 'clock', response: { output: `Answer ${index + 1}` } }
        }),
        model,
      )
    }
  })

  test('empty message – becomes a turn with a text', () => {
    for (const role of ['user', 'assistant']) {
      const { contents } = bodyFor({ messages: [{ role, content: '' }] })
      assert.deepEqual(contents, [{ role: 'user', parts: [{ text: '.' }] }])
    }
  })

  test('call at the beginning – follows a user’s turn', () => {
    const { contents } = bodyFor({ messages: round })
    assert.deepEqual(contents, [
      { role: 'user', parts: [{ text: '.' }] },
      { role: 'model', parts: [{ functionCall: { name: 'clock', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'clock', response: { output: 'Noon.' } } }] },
    ])
  })

  test('Names of tools that Google rejects are restored in the response', () => {
    for (const name of ['clock', '_clock', 'a.b:c', '21st_clock', '-clock', '时钟', 'x'.repeat(70)]) {
      const createGeminiCall = (fields: Json): UpstreamCall =>
        createCall(gemini, { ...named(name), ...fields })
      const body = sentBody(gemini, createGeminiCall({ tool_choice: choiceOf(name) }))
      const [tool] = body['tools'] as { functionDeclarations: { name: string }[] }[]
      const sent = tool?.functionDeclarations[0]?.name ?? ''
      assert.deepEqual(getObject(body, 'toolConfig'), {
        functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [sent] },
      })
      const candidate = {
        content: { parts: [{ functionCall: { name: sent, args: {} } }] },
        finishReason: 'STOP',
      }
      const answered = gemini.translation?.translateResponse(
        { candidates: [candidate] },
        createGeminiCall({}),
      )
      assert.match(JSON.stringify(answered?.response), new RegExp(`"name":"${name}"`))
    }
  })

  test('stop and n – above Google’s maximums are rejected by name', () => {
    const stops = (length: number): string[] => Array.from({ length }, String)
    assert.deepEqual([{ stop: stops(5) }, { stop: stops(6) }, { n: 8 }, { n: 9 }].map(rejectedParam), [
      'accepted',
      'stop',
      'accepted',
      'n',
    ])
  })

  test('seed of 64 bits – becomes one of 32', () => {
    const seeds = [7, -7, 2 ** 31 - 1, 2 ** 31 + 5, 2 ** 53 - 1, 1.5]
    assert.deepEqual(
      seeds.map((seed) => configFor({ seed })['seed']),
      [7, -7, 2 ** 31 - 1, 5, 2 ** 31 - 1, 1],
    )
  })

  test('thinking – stays within the bounds of the model', () => {
    const thinkingOf = (json: Json, model: string): unknown => {
      const { includeThoughts: _unused, ...rest } = getObject(configFor(json, model), 'thinkingConfig') ?? {}
      return rest
    }
    const max = { reasoning_effort: 'max' }
    const large = { reasoning: { max_tokens: 60_000 } }
    assert.deepEqual(thinkingOf(max, 'gemini-3-pro'), { thinkingLevel: 'high' })
    assert.deepEqual(thinkingOf(max, 'gemini-2.5-flash'), { thinkingBudget: 24_576 })
    assert.deepEqual(thinkingOf(large, 'gemini-2.5-flash'), { thinkingBudget: 24_576 })
    assert.deepEqual(thinkingOf(large, 'gemini-2.5-pro'), { thinkingBudget: 32_768 })
    const none = { reasoning_effort: 'none' }
    assert.deepEqual(thinkingOf(none, 'gemini-2.5-flash'), { thinkingBudget: 0 })
    assert.deepEqual(thinkingOf(none, 'gemini-2.5-pro'), { thinkingBudget: 128 })
  })
})

describe('requests to Claude on Vertex AI', () => {
  test('chat completion – has the version in the body and no model', () => {
    const model = 'claude-sonnet-4-5@20250929'
    const claude = vertex.forModel?.(model)
    assert.ok(claude)
    const messages = [{ role: 'user', content: 'When?' }, ...round]
    const body = sentBody(claude, createCall(claude, { messages, ...named('clock'), top_p: 0.9 }, { model }))
    assert.deepEqual([body['anthropic_version'], body['model']], ['vertex-2023-10-16', undefined])
  })
})
