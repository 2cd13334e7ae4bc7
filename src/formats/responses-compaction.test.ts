import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../errors.ts'
import { isObject, type Json } from '../providers/json-fields.ts'
import {
  compactionPrefix,
  nativeSummaryRequest,
  openCompactions,
  summaryPrompt,
  translatableSummaryRequest,
  translateToCompaction,
} from './responses-compaction.ts'
import { rejectedField, translated } from './responses.fixture.ts'

const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }

/** The messages of the request for a summary of these items, without our prompt. */
function messagesFor(input: unknown, fields: Json = {}): Json[] {
  const { messages } = translated(translatableSummaryRequest({ input, ...fields }))
  const all = messages as Json[]
  assert.deepEqual(all.at(-1), { role: 'user', content: summaryPrompt })
  return all.slice(0, -1)
}

describe('Summary requests', () => {
  test('calls and results – become text; their images stay images', () => {
    const messages = messagesFor([
      { role: 'user', content: 'Look.' },
      { type: 'function_call', call_id: 'c1', namespace: 'files', name: 'read', arguments: '{"a":1}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'Done.' },
      { type: 'function_call_output', call_id: 'c1', output: [image] },
    ])
    assert.deepEqual(messages.slice(0, 3), [
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: '[Tool call c1: files.read]\n{"a":1}\n\n[Tool call c2: patch]\n*** Begin',
      },
      { role: 'user', content: '[Result of tool call c2]\n\nDone.' },
    ])
    assert.deepEqual(messages[3]?.['content'], [
      { type: 'text', text: '[Result of tool call c1]' },
      { type: 'image_url', image_url: { url: image.image_url } },
    ])
  })

  test('items without meaning to another model – are left out; a call may lack its result', () => {
    const messages = messagesFor([
      { type: 'additional_tools', tools: [] },
      { type: 'reasoning', summary: [], encrypted_content: 'x' },
      { type: 'web_search_call', action: { type: 'search' } },
      { type: 'tool_search_call', call_id: 'c1', arguments: {} },
      { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
      { type: 'compaction_trigger' },
    ])
    assert.deepEqual(messages, [{ role: 'assistant', content: '[Tool call c2: f]\n{}' }])
    assert.equal(
      rejectedField(translatableSummaryRequest({ input: [{ type: 'compaction', encrypted_content: 'x' }] })),
      'input[0].type',
    )
  })

  test('tools and formats – are left out; instructions and reasoning are not', () => {
    const fields = {
      instructions: 'Be brief.',
      reasoning: { effort: 'low' },
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: 'required',
      text: { format: { type: 'json_object' } },
    }
    const request = translated(translatableSummaryRequest({ input: 'Hi', ...fields }))
    assert.deepEqual(Object.keys(request), ['model', 'messages', 'reasoning_effort'])
    assert.deepEqual(messagesFor('Hi', fields), [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ])
  })

  test('upstream that speaks the API – gets the items as they are, without the trigger', () => {
    const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
    const { input, ...rest } = nativeSummaryRequest({
      input: [call, { type: 'compaction_trigger' }],
      previous_response_id: 'resp_1',
      tools: [],
    })
    assert.deepEqual(input, [call, { type: 'message', role: 'user', content: summaryPrompt }])
    assert.deepEqual(rest, { previous_response_id: 'resp_1' })
  })
})

describe('Compactions', () => {
  test('text as input – is kept as a message of the user', () => {
    const choices = [{ message: { content: ' So far. ' }, finish_reason: 'stop' }]
    const sealed: string[] = []
    const seal = (summary: string): string => String(sealed.push(summary))
    const { output } = translateToCompaction(
      { choices },
      { provider: 'openai', request: { input: 'Hi' }, seal },
    )
    const [message, item] = output as Json[]
    assert.deepEqual(
      [message?.['role'], message?.['content']],
      ['user', [{ type: 'input_text', text: 'Hi' }]],
    )
    assert.deepEqual([item?.['encrypted_content'], sealed], [`${compactionPrefix}1`, ['So far.']])
  })

  test('refusal, filtered or blank text – is no summary', () => {
    for (const [message, finish] of [
      [{ refusal: 'No.' }, 'stop'],
      [{ content: ' \n' }, 'stop'],
      [{ content: 'So far.' }, 'content_filter'],
      [{ reasoning_content: 'Hm.' }, 'stop'],
    ] as const) {
      const choices = [{ message, finish_reason: finish }]
      const context = { provider: 'openai', request: { input: 'Hi' }, seal: (text: string) => text }
      assert.throws(
        () => translateToCompaction({ choices }, context),
        (error) => error instanceof ApiError && error.code === 'compaction_failed',
      )
    }
  })

  test('items of the relay – are opened whatever their type, others are left as they are', () => {
    const theirs = { type: 'compaction', encrypted_content: 'gAAAA' }
    const ours = { type: 'context_compaction', encrypted_content: `${compactionPrefix}abc` }
    const [first, second] = openCompactions([theirs, ours], (sealed) => `<${sealed}>`) ?? []
    assert.deepEqual(first, theirs)
    assert.ok(isObject(second))
    assert.match(String(second['content']), /<abc>$/)
    assert.equal(
      openCompactions([theirs, 'text'], () => null),
      null,
    )
  })
})
