/** Requests of the Responses API in the OpenAI format of chat completions: settings, tools and formats of output. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Json } from '../providers/json-fields.ts'
import { rejectedField, translated, outputOf } from './responses.fixture.ts'

const hello = { role: 'user', content: 'Hello?' }
const parameters = { type: 'object', properties: {} }

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
      prompt_cache_key: 'k',
      stream: true,
    })
    assert.equal('prompt_cache_key' in translated({ prompt_cache_key: 'k' }, 'deepseek'), false)
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
    const qualified = functions[2]?.['name']
    assert.match(String(qualified), /^mcp_files__read_[0-9a-f]{8}$/)
    assert.deepEqual(choice, { type: 'function', function: { name: qualified } })
    assert.equal(isParallel, false)
  })

  test('Names of tools stay different when their characters are replaced', () => {
    const { tools } = translated({
      tools: ['天气', '时间', 'a.b', 'a_b'].map((name) => ({ type: 'function', name })),
    })
    const names = (tools as { function: { name: string } }[]).map((tool) => tool.function.name)
    assert.equal(new Set(names).size, 4)
    assert.ok(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)))
    const [called] = outputOf(
      { tool_calls: [{ id: 'c', function: { name: names[0], arguments: '{}' } }] },
      { tools: [{ type: 'function', name: '天气' }] },
    )
    assert.equal(called?.['name'], '天气')
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

  test('search among tools – is a function if the caller runs it; what it has found is offered', () => {
    const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters }
    const found = { type: 'namespace', name: 'mcp', tools: [{ type: 'function', name: 'read' }] }
    const { tools, messages } = translated({
      tools: [search],
      input: [
        hello,
        { type: 'tool_search_call', call_id: 'a', execution: 'client', arguments: { query: 'files' } },
        { type: 'tool_search_output', call_id: 'a', execution: 'client', tools: [found] },
        { type: 'tool_search_call', call_id: 'b', execution: 'client', arguments: { query: 'more' } },
        { type: 'tool_search_output', call_id: 'b', execution: 'client', tools: [found] },
      ],
    })
    assert.deepEqual(tools, [
      { type: 'function', function: { name: 'tool_search', description: 'Finds tools.', parameters } },
      { type: 'function', function: { name: 'mcp__read' } },
    ])
    const called = { name: 'tool_search', arguments: '{"query":"files"}' }
    assert.deepEqual((messages as Json[]).slice(0, 3), [
      hello,
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: called }] },
      { role: 'tool', tool_call_id: 'a', content: 'Tools found: mcp__read' },
    ])
    assert.equal(rejectedField({ tools: [{ type: 'tool_search' }] }), 'tools[0]')
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
