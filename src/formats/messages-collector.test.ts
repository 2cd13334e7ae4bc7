import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Json } from '../providers/json-fields.ts'
import { MessagesCollector } from './messages-collector.ts'

describe('MessagesCollector', () => {
  const collectEvents = (events: readonly Json[]): Json => {
    const collector = new MessagesCollector()
    for (const event of events) collector.add(event)
    return collector.response()
  }
  const block = (index: number, start: Json, ...deltas: Json[]): Json[] => [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((each) => ({ type: 'content_block_delta', index, delta: each })),
    { type: 'content_block_stop', index },
  ]

  test('blocks – have their texts, signatures, citations and inputs joined', () => {
    const usage = { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 }
    const message = collectEvents([
      { type: 'message_start', message: { id: 'msg', content: [], stop_reason: null, usage } },
      { type: 'ping' },
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'So' },
        { type: 'signature_delta', signature: 'c2ln' },
      ),
      ...block(
        1,
        { type: 'text', text: '' },
        { type: 'text_delta', text: 'It ' },
        { type: 'citations_delta', citation: { cited_text: 'x' } },
        { type: 'text_delta', text: 'is.' },
      ),
      ...block(
        2,
        { type: 'tool_use', id: 'toolu', name: 'f', input: {} },
        { type: 'input_json_delta', partial_json: '{"a":' },
        { type: 'input_json_delta', partial_json: '1}' },
      ),
      ...block(3, { type: 'tool_use', id: 'none', name: 'g', input: {} }),
      ...block(
        4,
        { type: 'tool_use', id: 'cut', name: 'h', input: {} },
        { type: 'input_json_delta', partial_json: '{"a' },
      ),
      {
        type: 'message_delta',
        delta: { stop_reason: 'max_tokens', stop_sequence: null },
        usage: { output_tokens: 9, input_tokens: null },
        context_management: { applied_edits: [] },
      },
      { type: 'message_stop' },
    ])
    assert.deepEqual(message, {
      id: 'msg',
      content: [
        { type: 'thinking', thinking: 'So', signature: 'c2ln' },
        { type: 'text', text: 'It is.', citations: [{ cited_text: 'x' }] },
        { type: 'tool_use', id: 'toolu', name: 'f', input: { a: 1 } },
        { type: 'tool_use', id: 'none', name: 'g', input: {} },
        { type: 'tool_use', id: 'cut', name: 'h', input: {} },
      ],
      stop_reason: 'max_tokens',
      stop_sequence: null,
      usage: { ...usage, output_tokens: 9 },
      context_management: { applied_edits: [] },
    })
  })
})
