/** Requests of the Responses API in the OpenAI format of chat completions. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Json } from '../providers/json-fields.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import { messagesOf, outputOf, translated } from './responses.fixture.ts'
import { wrapSignature } from './thinking-signature.ts'

const hello = { role: 'user', content: 'Hello?' }
const parameters = { type: 'object', properties: {} }
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

/** The field that a translation rejects. */
function rejectedField(fields: Json, provider?: string): string {
  try {
    translated(fields, provider)
  } catch (error) {
    assert.ok(error instanceof UnsupportedFeatureError)
    return error.param
  }
  return 'none'
}

describe('Responses requests', () => {
  test('settings – get the names of the chat format; hints without a counterpart are dropped', () => {
    const { messages, ...settings } = translated({
      instructions: 'Be brief.',
      max_output_tokens: 64,
      temperature: 0.5,
      top_p: 0.9,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'text' } },
      user: 'u',
      service_tier: 'auto',
      truncation: 'auto',
      include: ['reasoning.encrypted_content'],
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      stream: true,
      tools: [],
      parallel_tool_calls: true,
      unknown: 1,
    })
    assert.deepEqual(messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ])
    assert.deepEqual(settings, {
      model: 'm',
      max_tokens: 64,
      reasoning_effort: 'low',
      temperature: 0.5,
      top_p: 0.9,
      user: 'u',
      stream: true,
    })
  })

  test('reasoning effort – is asked for in the fields of the provider', () => {
    const reasoning = { effort: 'none' }
    assert.deepEqual(translated({ reasoning }, 'openrouter')['reasoning'], { enabled: false })
    assert.deepEqual(translated({ reasoning }, 'deepseek')['thinking'], { type: 'disabled' })
    assert.equal(translated({ reasoning }, 'qwen')['enable_thinking'], false)
    assert.equal(translated({ reasoning }, 'anthropic')['reasoning_effort'], 'none')
    assert.equal('reasoning_effort' in translated({ reasoning: {} }), false)
  })

  test('structured output – becomes a response format', () => {
    const format = { type: 'json_schema', name: 'n', schema: parameters, strict: true }
    assert.deepEqual(translated({ text: { format } })['response_format'], {
      type: 'json_schema',
      json_schema: { name: 'n', schema: parameters, strict: true },
    })
    const object = { type: 'json_object' }
    assert.deepEqual(translated({ text: { format: object } })['response_format'], object)
    assert.equal(rejectedField({ text: { format: { type: 'xml' } } }), 'text.format')
  })

  test('tools – functions, custom tools and namespaces become functions with names of their own', () => {
    const custom = {
      type: 'custom',
      name: 'apply_patch',
      description: 'Patches files.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    }
    const clock = { type: 'function', name: 'clock', description: 'Time.', parameters, strict: false }
    const {
      tools,
      tool_choice: choice,
      parallel_tool_calls: isParallel,
    } = translated({
      tools: [clock, custom, { type: 'namespace', name: 'mcp.files', tools: [{ ...clock, name: 'read' }] }],
      tool_choice: { type: 'function', namespace: 'mcp.files', name: 'read' },
      parallel_tool_calls: false,
    })
    const functions = (tools as Json[]).map((tool) => tool['function'] as Json)
    assert.deepEqual(functions[0], { name: 'clock', description: 'Time.', parameters })
    assert.match(String(functions[1]?.['description']), /^Patches files\.\n\n[^]*lark grammar:\nstart: "x"\n/)
    assert.deepEqual(functions[1]?.['parameters'], {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    })
    assert.equal(functions[2]?.['name'], 'mcp_files__read')
    assert.deepEqual(choice, { type: 'function', function: { name: 'mcp_files__read' } })
    assert.equal(isParallel, false)
  })

  test('allowed tools – are the only ones that are sent', () => {
    const [one, two] = ['one', 'two'].map((name) => ({ type: 'function', name, parameters }))
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'two' }] }
    const { tools, tool_choice: sent } = translated({ tools: [one, two], tool_choice: choice })
    assert.deepEqual(
      (tools as { function: Json }[]).map((tool) => tool.function['name']),
      ['two'],
    )
    assert.equal(sent, 'required')
  })

  test('searches – are left out if the model decides; other hosted tools are rejected by position', () => {
    const clock = { type: 'function', name: 'clock', parameters }
    const tools = [{ type: 'web_search' }, clock, { type: 'web_search_preview_2025_03_11' }]
    for (const choice of [undefined, null, 'auto'])
      assert.equal((translated({ tools, tool_choice: choice })['tools'] as Json[]).length, 1)
    assert.equal('tools' in translated({ tools: [{ type: 'web_search' }] }), false)
    assert.equal(rejectedField({ tools, tool_choice: 'required' }), 'tools[0]')
    assert.equal(rejectedField({ tools: [clock], tool_choice: { type: 'web_search' } }), 'tool_choice')
    for (const type of [
      'file_search',
      'code_interpreter',
      'image_generation',
      'mcp',
      'local_shell',
      'tool_search',
    ])
      assert.equal(rejectedField({ tools: [clock, { type }] }), 'tools[1]', type)
  })

  test('tools in the input – are offered with the others', () => {
    const added = { type: 'additional_tools', tools: [{ type: 'function', name: 'late', parameters }] }
    const { tools, messages } = translated({ input: [hello, added] })
    assert.deepEqual(
      (tools as { function: Json }[]).map((tool) => tool.function['name']),
      ['late'],
    )
    assert.deepEqual(messages, [hello])
  })

  test('turn of the model – its items become one message, and the results follow in the order of the calls', () => {
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
    assert.deepEqual(messagesOf([alone, hello], 'deepseek'), [hello])
  })

  test('invalid or foreign fields – are rejected by name', () => {
    const cases: [Json, string][] = [
      [{ input: 7 }, 'input'],
      [{ input: ['x'] }, 'input[0]'],
      [{ instructions: [hello] }, 'instructions'],
      [{ input: [{ role: 'robot', content: 'x' }] }, 'input[0].role'],
      [{ input: [{ role: 'user', content: 7 }] }, 'input[0].content'],
      [{ input: [{ role: 'user', content: [{ type: 'video' }] }] }, 'input[0].content[0].type'],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type'],
      [{ input: [{ type: 'compaction', encrypted_content: 'x' }] }, 'input[0].type'],
      [{ input: [call('a'), { ...result('a'), output: 7 }] }, 'input[1].output'],
      [{ tools: {} }, 'tools'],
      [{ tools: ['x'] }, 'tools[0]'],
      [{ tools: [{ type: 'function', function: { name: 'nested' } }] }, 'tools[0].name'],
      [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }, 'tools[0].tools[0]'],
      [{ top_logprobs: 5 }, 'top_logprobs'],
      [{ include: ['message.output_text.logprobs'] }, 'include'],
    ]
    for (const [fields, param] of cases) assert.equal(rejectedField(fields), param)
  })
})
