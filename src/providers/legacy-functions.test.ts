import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatCompletion, ChunkWriter, encodeToolCall, type Finish } from './chat-response.ts'
import { createCall, sentBody } from './contract.fixture.ts'
import { withTools } from './legacy-functions.ts'
import { anthropic } from './anthropic/anthropic.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const functions = [{ name: 'weather', description: 'Finds the weather', parameters }]
const messages = [
  { role: 'user', content: 'The weather in Bern?' },
  { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{"city":"Bern"}' } },
  { role: 'function', name: 'weather', content: 'Sunny.' },
]
const finish: Finish = { reason: 'tool_calls', native: 'tool_use' }
const result = {
  text: '',
  reasoning: '',
  reasoningDetails: [],
  toolCalls: [encodeToolCall('toolu_1', 'weather', { city: 'Bern' })],
  finish,
}

function choiceFor(request: Record<string, unknown>, answer = result): unknown {
  const identity = { id: 'msg_1', model: 'm' }
  const { choices } = chatCompletion(identity, [answer], null, createCall(anthropic, request))
  return Array.isArray(choices) ? choices[0] : undefined
}

describe('functions', () => {
  test('request – becomes tools, one call at a time, and the history keeps its calls', () => {
    const body = sentBody(anthropic, createCall(anthropic, { functions, messages, function_call: 'auto' }))
    assert.deepEqual(body['tools'], [
      { name: 'weather', description: 'Finds the weather', input_schema: parameters },
    ])
    assert.deepEqual(body['tool_choice'], { type: 'auto', disable_parallel_tool_use: true })
    assert.deepEqual(body['messages'], [
      { role: 'user', content: [{ type: 'text', text: 'The weather in Bern?' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Bern' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'Sunny.' }] },
        ],
      },
    ])
    const named = withTools({ functions, messages, function_call: { name: 'weather' } })
    assert.deepEqual(named['tool_choice'], { type: 'function', function: { name: 'weather' } })
  })

  test('response – has function_call for callers with functions, tool_calls for all others', () => {
    const called = { name: 'weather', arguments: '{"city":"Bern"}' }
    assert.partialDeepStrictEqual(choiceFor({ functions }), {
      message: { content: null, function_call: called },
      finish_reason: 'function_call',
    })
    assert.partialDeepStrictEqual(choiceFor({ tools: [] }), {
      message: { tool_calls: [{ id: 'toolu_1', function: called }] },
      finish_reason: 'tool_calls',
    })
  })

  test('stream – has the call in pieces as function_call', () => {
    const writer = new ChunkWriter(createCall(anthropic, { stream: true, functions }))
    const started = {
      index: 0,
      id: 'toolu_1',
      type: 'function',
      function: { name: 'weather', arguments: '' },
    }
    const rest = { index: 0, function: { arguments: '{}' } }
    const chunks = [
      ...writer.delta({ tool_calls: [started] }),
      ...writer.delta({ tool_calls: [rest] }),
      ...writer.finish(finish),
    ]
    const text = JSON.stringify(chunks)
    assert.match(text, /"function_call":\{"name":"weather","arguments":""\}/)
    assert.match(text, /"function_call":\{"arguments":"\{\}"\}/)
    assert.match(text, /"finish_reason":"function_call"/)
    assert.ok(!text.includes('tool_calls'))
  })
  test('parallel calls – callers with functions get the first one, streamed or not', () => {
    const second = encodeToolCall('toolu_2', 'weather', { city: 'Basel' })
    const calls = [...result.toolCalls, second]
    const first = { name: 'weather', arguments: '{"city":"Bern"}' }
    assert.partialDeepStrictEqual(choiceFor({ functions }, { ...result, toolCalls: calls }), {
      message: { function_call: first },
    })
    const writer = new ChunkWriter(createCall(anthropic, { stream: true, functions }))
    const chunks = [
      ...writer.delta({ tool_calls: [{ ...calls[0], index: 0 }] }),
      ...writer.delta({ tool_calls: [{ ...second, index: 1 }] }),
      ...writer.delta({ tool_calls: [{ index: 1, function: { arguments: '{}' } }] }),
      ...writer.delta({ content: 'Now.' }),
    ]
    const deltas = chunks.flatMap(({ choices }) => choices as { delta: unknown }[]).map(({ delta }) => delta)
    assert.deepEqual(deltas.slice(1), [{ function_call: first }, { content: 'Now.' }])
  })
})
