import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ChatWriter } from './chat-response.ts'
import { createCall, sentBody } from './contract.fixture.ts'
import { anthropicReasons } from './finish-reasons.ts'
import { withTools } from './legacy-functions.ts'
import { anthropic } from './anthropic/anthropic.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const functions = [{ name: 'weather', description: 'Finds the weather', parameters }]
const messages = [
  { role: 'user', content: 'The weather in Bern?' },
  { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{"city":"Bern"}' } },
  { role: 'function', name: 'weather', content: 'Sunny.' },
]

/** Writes a call in two pieces, and as many more complete ones. */
function writeCalls(request: Record<string, unknown>, ...more: readonly string[]): ChatWriter {
  const writer = new ChatWriter(createCall(anthropic, request), { reasons: anthropicReasons })
  writer.startCall(0, 'toolu_1', 'weather')
  for (const [index, input] of more.entries())
    writer.startCall(index + 1, `toolu_${index + 2}`, 'weather', input)
  writer.addInput(0, '{"city":"Bern"}')
  for (const index of [0, ...more.keys().map((at) => at + 1)]) writer.endBlock(index)
  writer.finish('tool_use', 'tool_calls')
  return writer
}

function choiceFor(request: Record<string, unknown>, ...more: readonly string[]): unknown {
  const { choices } = writeCalls(request, ...more).completion()
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
    const text = JSON.stringify(writeCalls({ stream: true, functions }).take())
    assert.match(text, /"function_call":\{"name":"weather","arguments":""\}/)
    assert.match(text, /"function_call":\{"arguments":"\{\\"city\\":\\"Bern\\"\}"\}/)
    assert.match(text, /"finish_reason":"function_call"/)
    assert.ok(!text.includes('tool_calls'))
  })

  test('parallel calls – callers with functions get the first one, streamed or not', () => {
    const first = { name: 'weather', arguments: '{"city":"Bern"}' }
    assert.partialDeepStrictEqual(choiceFor({ functions }, '{"city":"Basel"}', ''), {
      message: { function_call: first },
    })
    const writer = writeCalls({ stream: true, functions }, '{"city":"Basel"}', '')
    writer.text('Now.')
    const deltas = writer
      .take()
      .flatMap(({ choices }) => choices as { delta: unknown }[])
      .map(({ delta }) => delta)
    assert.deepEqual(deltas.slice(1), [
      { function_call: { name: 'weather', arguments: '' } },
      { function_call: { arguments: '{"city":"Bern"}' } },
      {},
      { content: 'Now.' },
    ])
  })
})
