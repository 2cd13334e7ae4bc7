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

  test('Calls of OpenAI’s own tools that the caller runs become calls of functions', () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const command = { type: 'exec', command: ['ls'] }
    const operation = { type: 'delete_file', path: 'a' }
    const shellOutput = [
      { stdout: 'a\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
      { stdout: '', stderr: 'none', outcome: { type: 'exit', exit_code: 2 } },
      { stdout: '', stderr: '', outcome: { type: 'timeout' } },
    ]
    const messages = messagesOf([
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'a', action: command, status: 'completed' },
      { type: 'local_shell_call', id: 'b', call_id: null, action: command, status: 'completed' },
      { type: 'shell_call', call_id: 'c', action: { commands: ['ls', 'cat b', 'sleep 9'] } },
      { type: 'apply_patch_call', call_id: 'd', operation },
      { type: 'apply_patch_call', call_id: 'e', operation },
      { type: 'computer_call', call_id: 'f', action: { type: 'screenshot' }, pending_safety_checks: [] },
      { type: 'computer_call_output', call_id: 'f', output: { type: 'computer_screenshot', image_url: url } },
      { type: 'apply_patch_call_output', call_id: 'e', status: 'failed', output: 'No such file' },
      { type: 'apply_patch_call_output', call_id: 'd', status: 'completed' },
      { type: 'shell_call_output', call_id: 'c', output: shellOutput },
      { type: 'local_shell_call_output', id: 'b', output: 'two' },
      result('a', 'one'),
    ])
    assert.deepEqual(messages, [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          chatCall('a', 'local_shell', JSON.stringify(command)),
          chatCall('b', 'local_shell', JSON.stringify(command)),
          chatCall('c', 'shell', '{"commands":["ls","cat b","sleep 9"]}'),
          chatCall('d', 'apply_patch', JSON.stringify(operation)),
          chatCall('e', 'apply_patch', JSON.stringify(operation)),
          chatCall('f', 'computer', '{"type":"screenshot"}'),
        ],
      },
      chatResult('a', 'one'),
      chatResult('b', 'two'),
      chatResult('c', 'a\n\n\nnone\nExit code: 2\n\nTimed out.'),
      chatResult('d', 'completed'),
      chatResult('e', 'No such file'),
      chatResult('f', ''),
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What the tool answered to call f:' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ])
  })

  test('Calls that a provider has run are left out', () => {
    const hosted = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'file_search_call', id: 'fs_1', queries: ['a'], results: null },
      { type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'c' },
      { type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo=' },
      { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] },
      { type: 'mcp_approval_request', id: 'mcpr_1', name: 'f', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
      { type: 'mcp_call', id: 'mcp_1', name: 'f', arguments: '{}', output: 'x' },
      { type: 'tool_search_call', call_id: null, execution: 'server', arguments: {} },
      { type: 'tool_search_output', call_id: null, execution: 'server', tools: [] },
    ]
    const said = { role: 'assistant', content: 'Done.' }
    assert.deepEqual(messagesOf([hello, ...hosted, said]), [hello, said])
    assert.equal(rejectedField({ input: [hello, { type: 'unknown_call' }] }), 'input[1].type')
  })

  test('A message of another agent becomes the user’s, without what only its provider reads', () => {
    const text = { type: 'input_text', text: 'Found it.' }
    const sealed = { type: 'encrypted_content', encrypted_content: 'gAAA' }
    const from = { type: 'agent_message', author: '/root/scout', recipient: '/root' }
    assert.deepEqual(messagesOf([hello, { ...from, content: [text, sealed] }]), [
      hello,
      { role: 'user', content: 'Found it.' },
    ])
    assert.deepEqual(messagesOf([hello, { ...from, content: [sealed] }]), [hello])
    assert.equal(rejectedField({ input: [{ ...from, content: 7 }] }), 'input[0].content')
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
