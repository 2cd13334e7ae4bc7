import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findOpenAIChatProblem } from './strict-openai-chat.ts'

const user = { role: 'user', content: 'Hi' }
const tool = { type: 'function', function: { name: 'clock' } }
const closed = { type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false }
const format = (name: string, schema: object = closed): object => ({
  response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } },
})
const withTool = (fields: object): object => ({
  tools: [{ type: 'function', function: { name: 'f', ...fields } }],
})

/** Each rule: its title, an accepted request, a rejected one and the beginning of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  [
    'Fields – unknown ones are rejected',
    { seed: 1 },
    { top_k: 1 },
    'Unrecognized request argument supplied: top_k',
  ],
  [
    'Names of tools – have at most 64 characters',
    withTool({ name: 'f'.repeat(64) }),
    withTool({ name: 'f'.repeat(65) }),
    "Invalid 'tools[0].function.name': string too long.",
  ],
  [
    'Names of tools – have the pattern',
    withTool({ name: 'f-1' }),
    withTool({ name: 'f 1' }),
    "Invalid 'tools[0].function.name': string does not match",
  ],
  ['Tools – are no empty list', { tools: [tool] }, { tools: [] }, "Invalid 'tools': empty array."],
  [
    'Tools – are at most 128',
    { tools: Array.from({ length: 128 }, () => tool) },
    { tools: Array.from({ length: 129 }, () => tool) },
    "Invalid 'tools': array too long.",
  ],
  [
    'Tools – have documented fields',
    { tools: [tool] },
    { tools: [{ ...tool, cache_control: {} }] },
    "Unknown parameter: 'tools[0].cache_control'.",
  ],
  [
    'Parameters – are of an object',
    withTool({ parameters: { type: 'object' } }),
    withTool({ parameters: { properties: {} } }),
    "Invalid schema for function 'f': schema must be",
  ],
  [
    'Strict parameters – are closed',
    withTool({ strict: true, parameters: closed }),
    withTool({ strict: true, parameters: { type: 'object' } }),
    "Invalid schema for function 'f': In context=()",
  ],
  [
    'tool_choice – needs tools',
    { tools: [tool], tool_choice: 'auto' },
    { tool_choice: 'auto' },
    "Invalid value for 'tool_choice'",
  ],
  [
    'tool_choice – has documented values',
    { tools: [tool], tool_choice: tool },
    { tools: [tool], tool_choice: 'any' },
    "Invalid value: 'any'.",
  ],
  [
    'parallel_tool_calls – needs tools',
    { tools: [tool], parallel_tool_calls: false },
    { parallel_tool_calls: true },
    "Invalid value for 'parallel_tool_calls'",
  ],
  [
    'stream_options – need a stream',
    { stream: true, stream_options: { include_usage: true } },
    { stream_options: {} },
    "The 'stream_options' parameter",
  ],
  [
    'temperature – is between 0 and 2',
    { temperature: 2 },
    { temperature: 2.1 },
    "Invalid 'temperature': decimal above",
  ],
  ['top_p – is between 0 and 1', { top_p: 0 }, { top_p: -0.1 }, "Invalid 'top_p': decimal below"],
  [
    'Penalties – are between -2 and 2',
    { presence_penalty: -2 },
    { frequency_penalty: 2.1 },
    "Invalid 'frequency_penalty': decimal above",
  ],
  ['n – is between 1 and 128', { n: 128 }, { n: 0 }, "Invalid 'n': integer below"],
  [
    'top_logprobs – need logprobs',
    { logprobs: true, top_logprobs: 2 },
    { top_logprobs: 2 },
    "The 'top_logprobs' parameter",
  ],
  [
    'stop – has at most 4 sequences',
    { stop: ['a', 'b', 'c', 'd'] },
    { stop: ['a', 'b', 'c', 'd', 'e'] },
    "Invalid 'stop': array too long.",
  ],
  [
    'user – has at most 64 characters',
    { user: 'u'.repeat(64) },
    { user: 'u'.repeat(65) },
    "Invalid 'user': string too long.",
  ],
  [
    'metadata – has at most 16 entries',
    { store: true, metadata: { a: 'b' } },
    { store: true, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, ''])) },
    "Invalid 'metadata': too many",
  ],
  [
    'metadata – needs store',
    { store: true, metadata: { a: 'b' } },
    { metadata: { a: 'b' } },
    "The 'metadata' parameter",
  ],
  [
    'Format – its name has the pattern',
    format('a-b'),
    format('a b'),
    "Invalid 'response_format.json_schema.name'",
  ],
  [
    'Format – a strict schema is closed',
    format('a'),
    format('a', { ...closed, additionalProperties: true }),
    "Invalid schema for response_format 'a': In context=()",
  ],
  [
    'Format – a strict schema requires all',
    format('a'),
    format('a', { ...closed, required: [] }),
    "Invalid schema for response_format 'a': In context=(), 'required'",
  ],
  [
    'Format – a strict schema has no allOf',
    format('a'),
    format('a', { ...closed, allOf: [] }),
    "Invalid schema for response_format 'a': In context=(), 'allOf'",
  ],
  [
    'Format – json_object needs the word',
    { messages: [{ ...user, content: 'as JSON' }], response_format: { type: 'json_object' } },
    { response_format: { type: 'json_object' } },
    "'messages' must contain the word 'json'",
  ],
  [
    'reasoning_effort – has documented values',
    { reasoning_effort: 'max' },
    { reasoning_effort: 'huge' },
    "Invalid value: 'huge'.",
  ],
  [
    'reasoning_effort – only for reasoning models',
    { model: 'gpt-5', reasoning_effort: 'low' },
    { model: 'gpt-4o', reasoning_effort: 'low' },
    'Unrecognized request argument',
  ],
  [
    'max_tokens – not for reasoning models',
    { model: 'gpt-5', max_completion_tokens: 5 },
    { model: 'o3', max_tokens: 5 },
    "Unsupported parameter: 'max_tokens'",
  ],
  [
    'stop – not for the latest reasoning models',
    { model: 'gpt-4o', stop: 'x' },
    { model: 'o4-mini', stop: 'x' },
    "Unsupported parameter: 'stop'",
  ],
  [
    'temperature – is 1 for reasoning models',
    { model: 'gpt-5', temperature: 1 },
    { model: 'gpt-5', temperature: 0 },
    "Unsupported value: 'temperature'",
  ],
  [
    'temperature – from 5.1 on without reasoning',
    { model: 'gpt-5.2', temperature: 0 },
    { model: 'gpt-5.2', temperature: 0, reasoning_effort: 'low' },
    "Unsupported value: 'temperature'",
  ],
  [
    'top_p – is 1 for reasoning models',
    { model: 'gpt-5-chat-latest', top_p: 0.5 },
    { model: 'gpt-5-mini', top_p: 0.5 },
    "Unsupported parameter: 'top_p'",
  ],
]

describe('Strict chat completions', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      const find = (fields: object) => findOpenAIChatProblem({ model: 'm', messages: [user], ...fields })
      assert.equal(find(accepted), undefined)
      const problem = find(rejected)
      assert.equal(problem?.status, 400)
      assert.ok(problem.error.message.startsWith(message), problem.error.message)
      assert.equal(problem.error.type, 'invalid_request_error')
    })
  }
})
