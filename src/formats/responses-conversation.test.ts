/** The input of the Responses API as messages of the OpenAI format. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Json } from '../providers/json-fields.ts'
import { messagesOf, outputOf, rejectedField, translated } from './responses.fixture.ts'
import { wrapSignature } from './thinking-signature.ts'

const hello = { role: 'user', content: 'Hello?' }
const call = (id: string, more: Json = {}): Json => ({
  type: 'function_call',
  call_id: id,
  name: 'clock',
  arguments: '{}',
  ...more,
})
const result = (id: string, output: unknown = 'Noon'): Json => ({
  type: 'function_call_output',
  call_id: id,
  output,
})
const chatCall = (id: string, name = 'clock', text = '{}'): Json => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})
const chatResult = (id: string, content = 'Noon'): Json => ({ role: 'tool', tool_call_id: id, content })

describe('Responses input', () => {
  test('turn – its items become one message, and the results follow in the order of the calls', () => {
    const messages = messagesOf([
      hello,
      {
        type: 'message',
        role: 'assistant',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'I look.' }],
      },
      call('a'),
      call('b'),
      result('b', 'Two'),
      result('a', 'One'),
      call('c'),
      { role: 'user', content: 'Hurry.' },
      result('c', 'Three'),
      { role: 'assistant', phase: 'final_answer', content: 'Done.' },
    ])
    assert.deepEqual(messages, [
      hello,
      { role: 'assistant', content: 'I look.', tool_calls: [chatCall('a'), chatCall('b')] },
      chatResult('a', 'One'),
      chatResult('b', 'Two'),
      { role: 'assistant', content: null, tool_calls: [chatCall('c')] },
      chatResult('c', 'Three'),
      { role: 'user', content: 'Hurry.' },
      { role: 'assistant', content: 'Done.' },
    ])
  })

  test('call without a result, or the reverse – is rejected with the id that is alone', () => {
    assert.equal(rejectedField({ input: [hello, call('a')] }), 'input[1].call_id')
    assert.equal(rejectedField({ input: [hello, result('a')] }), 'input[1].call_id')
    assert.equal(rejectedField({ input: [call('a'), call('a'), result('a')] }), 'input[1].call_id')
    assert.equal(rejectedField({ input: [call(''), result('')] }), 'input[0].call_id')
    assert.equal(rejectedField({ input: [call('a'), result('a', 7)] }), 'input[1].output')
  })

  test('calls of custom tools and namespaces – go back as calls of their functions', () => {
    const messages = messagesOf([
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** "x"' },
      call('b', { namespace: 'mcp', name: 'read', arguments: '{"p":1}' }),
      { type: 'custom_tool_call_output', call_id: 'a', output: 'ok' },
      result('b', [{ type: 'input_text', text: 'text' }]),
    ])
    assert.deepEqual(messages, [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          chatCall('a', 'apply_patch', '{"input":"*** \\"x\\""}'),
          chatCall('b', 'mcp__read', '{"p":1}'),
        ],
      },
      chatResult('a', 'ok'),
      chatResult('b', 'text'),
    ])
  })

  test('call ids – are shortened for providers with narrower rules, equal in call and result', () => {
    const id = `call_${'x'.repeat(60)}`
    for (const [provider, pattern] of [
      ['openai', /^call_\w{32}$/],
      ['mistral', /^\w{9}$/],
    ] as const) {
      const [assistant, tool] = messagesOf([call(id), result(id)], provider) as [
        { tool_calls: { id: string }[] },
        { tool_call_id: string },
      ]
      assert.match(tool.tool_call_id, pattern)
      assert.equal(assistant.tool_calls[0]?.id, tool.tool_call_id)
    }
  })

  test('images and files – become parts; those in results follow in a message of the user', () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const image = { type: 'input_image', image_url: url, detail: 'low' }
    const file = { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' }
    const part = { type: 'image_url', image_url: { url, detail: 'low' } }
    const content = [{ type: 'input_text', text: 'See:' }, image, file]
    assert.deepEqual(messagesOf([{ role: 'user', content }, call('a'), result('a', [image])]), [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See:' },
          part,
          { type: 'file', file: { filename: 'a.pdf', file_data: file.file_data } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [chatCall('a')] },
      chatResult('a', ''),
      { role: 'user', content: [{ type: 'text', text: 'What the tool answered to call a:' }, part] },
    ])
    const byUrl = {
      input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://x/a.pdf' }] }],
    }
    assert.equal(rejectedField(byUrl), 'input[0].content[0].file_url')
    assert.equal(rejectedField(byUrl, 'anthropic'), 'none')
    const byId = { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] }
    assert.equal(rejectedField(byId), 'input[0].content[0].file_id')
  })

  test('system and developer messages – are system messages; the first ones are joined', () => {
    const input = [
      { role: 'developer', content: 'B' },
      { role: 'system', content: 'C' },
      hello,
      { role: 'developer', content: 'D' },
    ]
    assert.deepEqual(translated({ instructions: 'A', input })['messages'], [
      { role: 'system', content: 'A\n\nB\n\nC' },
      hello,
      { role: 'system', content: 'D' },
    ])
  })

  test('reasoning – goes back to the provider that wrote it, and to no other', () => {
    const detail = {
      type: 'reasoning.text',
      text: 'Hm',
      signature: 's',
      format: 'anthropic-claude-v1',
      index: 0,
    }
    const message = { content: 'Hi', reasoning_content: 'Hm', reasoning_details: [detail] }
    const output = outputOf(message, {}, 'anthropic')
    const [, assistant] = messagesOf([hello, ...output], 'anthropic') as [unknown, Json]
    assert.deepEqual(assistant, { role: 'assistant', content: 'Hi', reasoning_details: [detail] })
    assert.deepEqual(messagesOf([hello, ...output], 'openai'), [hello, { role: 'assistant', content: 'Hi' }])

    const deepseek = outputOf({ content: 'Hi', reasoning_content: 'Hm' }, {}, 'deepseek')
    assert.deepEqual((messagesOf(deepseek, 'deepseek') as Json[])[0], {
      role: 'assistant',
      content: 'Hi',
      reasoning_content: 'Hm',
    })
    const foreign = {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Hm' }],
      encrypted_content: 'gAAA',
    }
    assert.deepEqual(messagesOf([foreign, { role: 'assistant', content: 'Hi' }], 'deepseek'), [
      { role: 'assistant', content: 'Hi' },
    ])
    const alone = { ...foreign, encrypted_content: wrapSignature('deepseek') }
    assert.deepEqual(messagesOf([alone, { role: 'assistant', content: [] }, hello], 'deepseek'), [hello])
  })
})
