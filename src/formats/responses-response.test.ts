/** Responses in the OpenAI format, as the Responses API returns them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { outputOf } from './responses.fixture.ts'
import { translateToResponse } from './responses-response.ts'

const patch = { type: 'custom', name: 'apply_patch' }
const read = { type: 'namespace', name: 'mcp', tools: [{ type: 'function', name: 'read' }] }

describe('Responses', () => {
  test('message – has its reasoning, text and calls as items, in this order', () => {
    const details = [
      { type: 'reasoning.text', text: 'One', signature: 's1', index: 0 },
      { type: 'reasoning.text', text: 'Two', signature: 's2', index: 1 },
    ]
    const message = {
      reasoning_content: 'OneTwo',
      reasoning_details: details,
      content: 'Hi',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'one', arguments: '{}' } }],
    }
    const output = outputOf(message)
    assert.deepEqual(
      output.map(({ type }) => type),
      ['reasoning', 'reasoning', 'message', 'function_call'],
    )
    assert.deepEqual(
      output.slice(0, 2).map(({ summary }) => summary),
      [[{ type: 'summary_text', text: 'One' }], [{ type: 'summary_text', text: 'Two' }]],
    )
  })

  test('refusal – is a part of its own', () => {
    const [item] = outputOf({ content: null, refusal: 'No.' })
    assert.deepEqual(item?.['content'], [{ type: 'refusal', refusal: 'No.' }])
  })

  test('settings – are those of the request, or their defaults', () => {
    const request = {
      model: 'm',
      instructions: 'Be brief.',
      max_output_tokens: 64,
      temperature: 0.5,
      metadata: { a: 'b' },
      tools: [{ type: 'web_search' }, { type: 'function', name: 'clock' }, patch, read],
      text: { format: { type: 'json_schema', name: 'n', schema: {} }, verbosity: 'low' },
      reasoning: { effort: 'low' },
    }
    const response = translateToResponse(
      { choices: [], created: 5, service_tier: 'flex' },
      { provider: 'openai', request },
    )
    assert.match(String(response['id']), /^resp_\w+$/)
    const function_ = { type: 'function', name: 'clock', description: null, parameters: null, strict: false }
    assert.partialDeepStrictEqual(response, {
      object: 'response',
      created_at: 5,
      status: 'completed',
      model: 'm',
      output: [],
      usage: null,
      instructions: 'Be brief.',
      max_output_tokens: 64,
      metadata: { a: 'b' },
      temperature: 0.5,
      top_p: 1,
      tool_choice: 'auto',
      tools: [function_, patch, read],
      text: {
        format: { type: 'json_schema', name: 'n', description: null, strict: false },
        verbosity: 'low',
      },
      reasoning: { effort: 'low', summary: null },
      parallel_tool_calls: true,
      store: false,
      service_tier: 'flex',
    })
  })
})
