import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findAnthropicMessagesProblem } from './strict-anthropic-messages.ts'

const user = { role: 'user', content: 'Hi' }
const text = (value: string): object => ({ type: 'text', text: value })
const tool = (fields: object = {}): object => ({
  tools: [{ name: 'clock', input_schema: { type: 'object' }, ...fields }],
})
const thinking = (budget: number, fields: object = {}): object => ({
  max_tokens: 4000,
  thinking: { type: 'enabled', budget_tokens: budget },
  ...fields,
})
const format = (schema: object): object => ({
  output_config: { format: { type: 'json_schema', schema: { additionalProperties: false, ...schema } } },
})
const cached = (count: number): object => ({
  system: Array.from({ length: count }, () => ({ ...text('x'), cache_control: { type: 'ephemeral' } })),
})
const adaptive = { thinking: { type: 'adaptive' } }

/** Each rule: its title, an accepted request, a rejected one and the beginning of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  ['Fields – unknown ones are rejected', { top_k: 3 }, { n: 1 }, 'n: Extra inputs are not permitted'],
  ['max_tokens – is required', {}, { max_tokens: undefined }, 'max_tokens: Field required'],
  ['cache_control – at most 4 times', cached(4), cached(5), 'A maximum of 4 blocks with cache_control'],
  [
    'Tools – their names have the pattern',
    tool({ name: 'f'.repeat(128) }),
    tool({ name: 'a.b' }),
    'tools.0.custom.name: String should match pattern',
  ],
  [
    'Tools – their names are unique',
    tool(),
    {
      tools: [
        { name: 'a', input_schema: { type: 'object' } },
        { name: 'a', input_schema: { type: 'object' } },
      ],
    },
    'tools: Tool names must be unique',
  ],
  [
    'Tools – have documented fields',
    tool({ description: 'x' }),
    tool({ parameters: {} }),
    'tools.0.custom.parameters: Extra inputs',
  ],
  [
    'Tools – their schema has a type',
    tool(),
    tool({ input_schema: {} }),
    'tools.0.custom.input_schema.type: Field required',
  ],
  [
    'Tools – their schema has no anyOf at the top',
    tool(),
    tool({ input_schema: { type: 'object', anyOf: [{}] } }),
    'tools.0.custom.input_schema: input_schema does not support',
  ],
  [
    'Strict tools – have a closed schema',
    tool({ strict: true, input_schema: { type: 'object', additionalProperties: false } }),
    tool({ strict: true }),
    "tools.0.custom: For 'object' type",
  ],
  [
    'tool_choice – needs tools',
    { ...tool(), tool_choice: { type: 'any' } },
    { tool_choice: { type: 'any' } },
    'tool_choice.any may only be specified',
  ],
  [
    'tool_choice – names one of the tools',
    { ...tool(), tool_choice: { type: 'tool', name: 'clock' } },
    { ...tool(), tool_choice: { type: 'tool', name: 'x' } },
    "Tool 'x' not found",
  ],
  [
    'tool_choice – has documented values',
    { ...tool(), tool_choice: { type: 'none' } },
    { ...tool(), tool_choice: { type: 'required' } },
    "tool_choice: Input tag 'required'",
  ],
  ['temperature – is between 0 and 1', { temperature: 1 }, { temperature: 1.5 }, 'temperature: range: 0..1'],
  [
    'temperature – not with top_p on recent models',
    { model: 'claude-opus-4-20250514', temperature: 1, top_p: 1 },
    { model: 'claude-opus-4-1', temperature: 1, top_p: 1 },
    '`temperature` and `top_p` cannot both',
  ],
  [
    'Sampling – not for the latest models',
    { model: 'claude-opus-4-6', top_k: 1 },
    { model: 'claude-sonnet-5', top_k: 1 },
    '`top_k` is deprecated for this model.',
  ],
  [
    'Thinking – has a budget of 1024 at least',
    thinking(1024),
    thinking(1023),
    'thinking.enabled.budget_tokens: Input should be',
  ],
  [
    'Thinking – its budget is below max_tokens',
    thinking(3999),
    thinking(4000),
    '`max_tokens` must be greater than',
  ],
  [
    'Thinking – temperature is 1',
    thinking(2000, { temperature: 1 }),
    thinking(2000, { temperature: 0 }),
    '`temperature` may only be set to 1',
  ],
  ['Thinking – no top_k', thinking(2000), { ...adaptive, top_k: 1 }, '`top_k` must be unset'],
  [
    'Thinking – no forced tool',
    thinking(2000, { ...tool(), tool_choice: { type: 'auto' } }),
    thinking(2000, { ...tool(), tool_choice: { type: 'any' } }),
    'Thinking may not be enabled when tool_choice',
  ],
  ['Thinking – has documented values', adaptive, { thinking: { type: 'on' } }, "thinking: Input tag 'on'"],
  [
    'Thinking – adaptive from 4.6 on',
    { ...adaptive, model: 'claude-opus-4-6' },
    { ...adaptive, model: 'claude-haiku-4-5' },
    'adaptive thinking is not supported',
  ],
  [
    'stop_sequences – are not blank',
    { stop_sequences: ['x'] },
    { stop_sequences: ['\n'] },
    'stop_sequences: each stop sequence',
  ],
  [
    'metadata – has only user_id',
    { metadata: { user_id: 'u' } },
    { metadata: { name: 'u' } },
    'metadata.name: Extra inputs',
  ],
  [
    'Effort – has documented values',
    { output_config: { effort: 'max' } },
    { output_config: { effort: 'minimal' } },
    'output_config.effort: Input should be',
  ],
  [
    'Format – its objects are closed',
    format({ type: 'object' }),
    format({ type: 'object', additionalProperties: true }),
    "output_config.format.schema: For 'object' type",
  ],
  [
    'Format – its numbers have no bounds',
    format({ type: 'integer' }),
    format({ type: 'integer', minimum: 1 }),
    "output_config.format.schema: For 'integer' type, properties minimum",
  ],
  [
    'Format – minItems is 0 or 1',
    format({ type: 'array', minItems: 1 }),
    format({ type: 'array', minItems: 2 }),
    "output_config.format.schema: For 'array' type, 'minItems'",
  ],
]

describe('Strict messages', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      const find = (fields: object) =>
        findAnthropicMessagesProblem({ model: 'm', max_tokens: 9, messages: [user], ...fields })
      assert.equal(find(accepted)?.error.error.message, undefined)
      const problem = find(rejected)
      assert.equal(problem?.status, 400)
      assert.ok(problem.error.error.message.startsWith(message), problem.error.error.message)
      assert.deepEqual([problem.error.type, problem.error.error.type], ['error', 'invalid_request_error'])
    })
  }

  test('anthropic-version – is required', () => {
    const body = { model: 'm', max_tokens: 9, messages: [user] }
    assert.equal(findAnthropicMessagesProblem(body, { 'anthropic-version': '2023-06-01' }), undefined)
    const problem = findAnthropicMessagesProblem(body, {})
    assert.equal(problem?.error.error.message, 'anthropic-version: header is required')
  })
})
