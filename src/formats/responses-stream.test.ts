/** Streams in the OpenAI format, as the Responses API returns them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { apiError } from '../errors.ts'
import type { Json } from '../providers/json-fields.ts'
import { createStream, decode, type StreamEvent } from './responses.fixture.ts'
import { unwrapSignature } from './thinking-signature.ts'

const patch = { type: 'custom', name: 'apply_patch' }
const read = { type: 'namespace', name: 'mcp', tools: [{ type: 'function', name: 'read' }] }
const typesOf = (events: readonly StreamEvent[]): string[] =>
  events.map(({ type }) => type.replace('response.', ''))
const itemsOf = (events: readonly StreamEvent[]): Json[] =>
  events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
const pieceOf = (index: number, text: string, id?: string, name?: string): Json => ({
  tool_calls: [{ index, ...(id && { id }), function: { ...(name && { name }), arguments: text } }],
})

describe('Responses streams', () => {
  test('text – is one item, between the events that start and complete the response', () => {
    const stream = createStream()
    const events = [
      ...stream.send({ role: 'assistant', content: '' }),
      ...stream.send({ content: 'Hel' }),
      ...stream.send({ content: 'lo' }),
      ...stream.send({}, 'stop'),
      ...stream.finish(),
    ]
    assert.deepEqual(typesOf(events), [
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
    assert.deepEqual(
      events.map(({ sequence_number: number }) => number),
      [...events.keys()],
    )
    const [item] = itemsOf(events)
    assert.deepEqual(item?.['content'], [
      { type: 'output_text', text: 'Hello', annotations: [], logprobs: [] },
    ])
    assert.deepEqual(events.at(-1)?.response['output'], [item])
    assert.deepEqual(events[4]?.['logprobs'], [])
  })

  test('reasoning – is a summary of its own, with what its provider needs back', () => {
    const stream = createStream({}, 'anthropic')
    const signature = { type: 'reasoning.text', signature: 's', format: 'anthropic-claude-v1', index: 0 }
    const events = [
      ...stream.send({ reasoning_content: 'Hm' }),
      ...stream.send({ reasoning_details: [signature] }),
      ...stream.send({ content: 'Hi' }),
      ...stream.send({}, 'stop'),
    ]
    assert.deepEqual(typesOf(events).slice(2, 8), [
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ])
    const [reasoning, message] = itemsOf(events)
    assert.deepEqual(reasoning?.['summary'], [{ type: 'summary_text', text: 'Hm' }])
    assert.deepEqual(unwrapSignature(reasoning?.['encrypted_content']), {
      provider: 'anthropic',
      detail: signature,
    })
    assert.equal(message?.['type'], 'message')
  })

  test('encrypted reasoning – is an item without text', () => {
    const detail = { type: 'reasoning.encrypted', data: 'x', format: 'google-gemini-v1', index: 0 }
    const events = createStream({}, 'gemini').send({ reasoning_details: [detail] })
    assert.deepEqual(typesOf(events).slice(2), ['output_item.added', 'output_item.done'])
    const [item] = itemsOf(events)
    assert.deepEqual(item?.['summary'], [])
    assert.deepEqual(unwrapSignature(item?.['encrypted_content'])?.detail, detail)
  })

  test('interleaved tool calls – keep their arguments apart, and one without an id gets one', () => {
    const stream = createStream()
    const events = [
      ...stream.send({ content: 'I look.' }),
      ...stream.send(pieceOf(0, '{"a":', 'call_a', 'one')),
      ...stream.send(pieceOf(1, '{"b":', undefined, 'two')),
      ...stream.send(pieceOf(0, '1}')),
      ...stream.send(pieceOf(1, '2}')),
      ...stream.send({}, 'tool_calls'),
      ...stream.finish(),
    ]
    const [, first, second] = itemsOf(events)
    assert.deepEqual(
      [first?.['call_id'], first?.['name'], first?.['arguments']],
      ['call_a', 'one', '{"a":1}'],
    )
    assert.deepEqual([second?.['name'], second?.['arguments']], ['two', '{"b":2}'])
    const added = events.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item)
    assert.match(String(second?.['call_id']), /^call_\w+$/)
    assert.equal(added[2]?.['call_id'], second?.['call_id'])
    assert.deepEqual(events.at(-1)?.response['output'], itemsOf(events))
  })

  test('tool calls in sequence – end before the next one starts, at least with an empty object', () => {
    const stream = createStream()
    const events = [
      ...stream.send(pieceOf(0, '{}', 'a', 'one')),
      ...stream.send(pieceOf(1, '', 'b', 'two')),
      ...stream.send({}, 'tool_calls'),
    ]
    const order = typesOf(events).filter((type) => type.startsWith('output_item'))
    assert.deepEqual(order, [
      'output_item.added',
      'output_item.done',
      'output_item.added',
      'output_item.done',
    ])
    assert.deepEqual(
      itemsOf(events).map(({ arguments: text }) => text),
      ['{}', '{}'],
    )
  })

  test('calls that are all numbered 0 – are told apart by their ids; late pieces add nothing', () => {
    const stream = createStream()
    const events = [
      ...stream.send(pieceOf(0, '{"a":1}', 'a', 'one')),
      ...stream.send(pieceOf(0, '{"b":2}', 'b', 'two')),
      ...stream.send(pieceOf(0, '')),
      ...stream.send({ content: 'Wait.' }),
      ...stream.send(pieceOf(0, ' ')),
      ...stream.send({}, 'tool_calls'),
    ]
    assert.deepEqual(
      itemsOf(events).map(({ type, arguments: text }) => [type, text]),
      [
        ['function_call', '{"a":1}'],
        ['function_call', '{"b":2}'],
        ['message', undefined],
      ],
    )
  })

  test('calls of custom tools and namespaces – are calls of the caller’s own tools', () => {
    const stream = createStream({ tools: [patch, read] })
    const events = [
      ...stream.send(pieceOf(0, '{"input":"*** B', 'a', 'apply_patch')),
      ...stream.send(pieceOf(0, 'egin"}')),
      ...stream.send(pieceOf(1, '{"p":1}', 'b', 'mcp__read')),
      ...stream.send({}, 'tool_calls'),
    ]
    const [custom, namespaced] = itemsOf(events)
    const { id: _id, ...call } = custom ?? {}
    assert.deepEqual(call, {
      type: 'custom_tool_call',
      status: 'completed',
      call_id: 'a',
      name: 'apply_patch',
      input: '*** Begin',
    })
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
    assert.deepEqual(
      deltas.map(({ delta }) => delta),
      ['*** Begin'],
    )
    assert.deepEqual([namespaced?.['namespace'], namespaced?.['name']], ['mcp', 'read'])
  })

  test('search among the caller’s tools – is a call with its arguments as an object', () => {
    const stream = createStream({ tools: [{ type: 'tool_search', execution: 'client' }] })
    const events = [
      ...stream.send(pieceOf(0, '{"query":"files"}', 'a', 'tool_search')),
      ...stream.send({}, 'tool_calls'),
    ]
    const { id: _id, ...call } = itemsOf(events)[0] ?? {}
    assert.deepEqual(call, {
      type: 'tool_search_call',
      status: 'completed',
      call_id: 'a',
      execution: 'client',
      arguments: { query: 'files' },
    })
  })

  test('finish reasons – length and content filter make the response and its last item incomplete', () => {
    for (const [finish, reason] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ]) {
      const stream = createStream()
      const events = [...stream.send({ content: 'Hel' }), ...stream.send({}, finish), ...stream.finish()]
      assert.equal(itemsOf(events)[0]?.['status'], 'incomplete')
      const last = events.at(-1)
      assert.equal(last?.type, 'response.incomplete')
      assert.deepEqual(last?.response['incomplete_details'], { reason })
      assert.equal(last?.response['completed_at'], null)
    }
  })

  test('stream that is cut – fails with the items that were sent, and the numbers continue', () => {
    const stream = createStream()
    const sent = [...stream.send({ reasoning_content: 'Hm' }), ...stream.send({ content: 'Hel' })]
    const unsent = stream.send({ content: 'lo' })
    const usage = { input: 9, cachedInput: 4, cacheWrite: 1, output: 2, reasoning: 1 }
    const events = decode(
      stream.encoder.errorEvents(apiError('upstream_unavailable'), { sentTokens: 2, usage }),
    )
    assert.deepEqual(typesOf(events), ['error', 'failed'])
    assert.equal(unsent.length, 1)
    assert.deepEqual(
      events.map(({ sequence_number: number }) => number),
      [sent.length, sent.length + 1],
    )
    const { response } = events[1] ?? assert.fail()
    assert.deepEqual(response['error'], {
      code: 'upstream_unavailable',
      message: 'This model is temporarily unavailable.',
    })
    assert.deepEqual(response['output'], itemsOf(sent))
    assert.equal(itemsOf(sent).length, 1)
    assert.deepEqual(response['usage'], {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 11,
    })
    const { type: _type, sequence_number: _number, error, ...fields }: Json = events[0] ?? {}
    assert.partialDeepStrictEqual(fields, { code: 'upstream_unavailable', param: null })
    assert.deepEqual(error, { type: 'server_error', ...fields })
  })
})
