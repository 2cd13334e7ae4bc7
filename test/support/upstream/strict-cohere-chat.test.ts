import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findCohereChatProblem } from './strict-cohere-chat.ts'

const user = { role: 'user', content: 'Hi' }
const said = (message: object): object => ({ messages: [user, message] })
const part = (block: object): object => ({ messages: [{ role: 'user', content: [block] }] })
const call = { id: 'a', type: 'function', function: { name: 'clock', arguments: '{}' } }
const called = (fields: object = {}): object =>
  said({ role: 'assistant', tool_calls: [{ ...call, ...fields }] })
const tool = (fields: object = {}): object => ({
  tools: [{ type: 'function', function: { name: 'clock', parameters: { type: 'object' }, ...fields } }],
})
const format = (fields: object): object => ({ response_format: fields })
const stops = (length: number): object => ({ stop_sequences: Array.from({ length }, String) })
const unknown = (field: string): string => `unknown field: parameter '${field}' is not a valid field`

/** Each rule: its title, an accepted request, a rejected one and a part of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  ['Fields – unknown ones are rejected', { seed: 1 }, { top_p: 0.5 }, unknown('top_p')],
  ['Model – is required', {}, { model: undefined }, 'model is required'],
  ['Messages – there is at least one', {}, { messages: [] }, 'messages is required'],
  [
    'Roles – only the documented ones',
    said({ role: 'system', content: 'x' }),
    said({ role: 'developer', content: 'x' }),
    'messages[1].role',
  ],
  ['Message fields – unknown ones are rejected', {}, said({ ...user, name: 'x' }), unknown('name')],
  [
    'Content – is required except the assistant’s',
    said({ role: 'assistant', tool_calls: [] }),
    said({ role: 'user' }),
    'messages[1].content is required',
  ],
  [
    'Results – name their call',
    said({ role: 'tool', tool_call_id: 'a', content: 'x' }),
    said({ role: 'tool', content: 'x' }),
    'messages[1].tool_call_id is required',
  ],
  [
    'Blocks – have documented types',
    part({ type: 'text', text: 'x' }),
    part({ type: 'input_audio' }),
    'unknown type input_audio',
  ],
  ['Blocks – have documented fields', {}, part({ type: 'text', text: 'x', id: 1 }), unknown('id')],
  [
    'Images – have documented fields',
    part({ type: 'image_url', image_url: { url: 'x', detail: 'low' } }),
    part({ type: 'image_url', image_url: { url: 'x', format: 'png' } }),
    unknown('format'),
  ],
  ['Calls – have documented fields', called(), called({ index: 0 }), unknown('index')],
  ['Calls – have an id', called(), called({ id: null }), 'tool_calls.id is required'],
  ['Calls – are of functions', called(), called({ type: 'custom' }), 'tool_calls.type must be function'],
  ['Tools – have documented fields', tool(), tool({ strict: true }), unknown('strict')],
  ['Tools – have parameters', tool(), tool({ parameters: undefined }), 'function.parameters is required'],
  [
    'tool_choice – is REQUIRED or NONE',
    { ...tool(), tool_choice: 'NONE' },
    { ...tool(), tool_choice: 'auto' },
    'tool_choice must be REQUIRED or NONE',
  ],
  [
    'tool_choice – needs tools if one is required',
    { ...tool(), tool_choice: 'REQUIRED' },
    { tool_choice: 'REQUIRED' },
    'tools must be passed',
  ],
  [
    'response_format – has a documented type',
    format({ type: 'json_object', json_schema: {} }),
    format({ type: 'json_schema' }),
    'response_format.type',
  ],
  [
    'response_format – text has no schema',
    format({ type: 'text' }),
    format({ type: 'text', json_schema: {} }),
    unknown('json_schema'),
  ],
  [
    'response_format – is not supported with tools',
    { ...tool(), ...format({ type: 'text' }) },
    { ...tool(), ...format({ type: 'json_object' }) },
    'not supported with tools',
  ],
  ['p – is between 0.01 and 0.99', { p: 0.99 }, { p: 1 }, 'p must be between 0.01 and 0.99'],
  ['k – is between 0 and 500', { k: 500 }, { k: 501 }, 'k must be between 0 and 500'],
  ['temperature – is not negative', { temperature: 2 }, { temperature: -1 }, 'temperature must be'],
  [
    'Penalties – are between 0 and 1',
    { presence_penalty: 1 },
    { frequency_penalty: -1 },
    'frequency_penalty must be between 0 and 1',
  ],
  ['stop_sequences – are at most 5', stops(5), stops(6), 'more than 5 strings'],
  [
    'Thinking – has documented fields',
    { thinking: { type: 'disabled' } },
    { thinking: { type: 'enabled', budget_tokens: 9 } },
    unknown('budget_tokens'),
  ],
  [
    'Thinking – is enabled or disabled',
    { thinking: { type: 'enabled' } },
    { thinking: { type: 'adaptive' } },
    'thinking.type must be',
  ],
  [
    'Thinking – its budget is positive',
    { thinking: { type: 'enabled', token_budget: 1 } },
    { thinking: { type: 'enabled', token_budget: 0 } },
    'token_budget must be a positive integer',
  ],
]

describe('Strict Cohere chat', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      const request = { model: 'command-a', messages: [user] }
      assert.equal(findCohereChatProblem({ ...request, ...accepted }), undefined)
      const problem = findCohereChatProblem({ ...request, ...rejected })
      assert.ok(problem)
      assert.equal(problem.status, message.startsWith('unknown field') ? 422 : 400)
      assert.ok(problem.error.message.includes(message), problem.error.message)
    })
  }
})
