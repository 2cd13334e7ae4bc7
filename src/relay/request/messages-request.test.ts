import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { assembleMessage, parseMessagesEvents } from '../../../test/support/upstream/anthropic-messages.ts'
import {
  encodeStream,
  createCall,
  recordingsOf,
  readStreamPayloads,
  readResponse,
  sentBody,
} from '../../providers/contract.fixture.ts'
import { UnsupportedFeatureError, type Provider } from '../../providers/provider.ts'
import { translateChatResponse, stopReasonOf } from '../../formats/messages-response.ts'
import { messagesRequest, providerNamed, relayed, responseContext } from './messages.fixture.ts'

/** The body that a provider gets for a request in Anthropic's format. */
function sent(name: string, fields: object): Record<string, unknown> {
  const provider = providerNamed(name)
  return sentBody(provider, {
    ...createCall(provider, {}),
    body: messagesRequest(fields).encodingFor(provider),
  })
}

function streamedMessage(provider: Provider): ReturnType<typeof assembleMessage> {
  return assembleMessage(
    parseMessagesEvents(
      relayed(provider, [encodeStream(provider, readStreamPayloads(recordingsOf(provider), 'tools'))]),
    ),
  )
}

function nonStreamingMessage(provider: Provider): ReturnType<typeof assembleMessage> {
  const translated = provider.translation?.translateResponse(
    readResponse(recordingsOf(provider), 'tools'),
    createCall(provider, {}),
  )
  assert.ok(translated)
  return translateChatResponse(translated.response, responseContext(provider.name)) as ReturnType<
    typeof assembleMessage
  >
}

/** The conversation after a response with tool calls. */
function turnAfter({ content }: ReturnType<typeof assembleMessage>): object[] {
  const toolResults = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'It is noon.' }))
  const hello = { role: 'user', content: 'Hello?' }
  return [hello, { role: 'assistant', content }, { role: 'user', content: toolResults }]
}

const proofs: Readonly<Record<string, RegExp>> = {
  gemini: /"thoughtSignature":"[\w+/=]+"/,
  bedrock: /"signature":"[\w+/=]+"/,
}

describe('MessagesRequest', () => {
  test('thinking – goes back unchanged to the provider that signed it, and to no other', () => {
    for (const from of ['gemini', 'bedrock']) {
      for (const message of [
        streamedMessage(providerNamed(from)),
        nonStreamingMessage(providerNamed(from)),
      ]) {
        const messages = turnAfter(message)
        const own = JSON.stringify(sent(from, { messages }))
        const proof = proofs[from]?.exec(own)?.[0] ?? ''
        assert.notEqual(proof, '', from)
        const signature = proof.split(':')[1] ?? ''
        for (const to of ['gemini', 'bedrock', 'cohere', 'anthropic', 'openai', 'openrouter', 'deepseek']) {
          const text = JSON.stringify(sent(to, { messages }))
          assert.equal(text.includes(signature), to === from, `${from} → ${to}`)
          assert.ok(!text.includes('sluice.'), `${from} → ${to}`)
          assert.ok(text.includes('It is noon.'), `${from} → ${to}`)
        }
      }
    }
  })

  test('tool call ids – are encoded for Anthropic, original for their provider, short for Mistral', () => {
    const calls = [
      { id: 'functions.clock:0', type: 'function', function: { name: 'clock', arguments: '{}' } },
      { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } },
    ]
    const choice = { message: { role: 'assistant', tool_calls: calls }, finish_reason: 'tool_calls' }
    const answer = translateChatResponse({ choices: [choice] }, responseContext('moonshot'))
    const messages = turnAfter(answer as ReturnType<typeof assembleMessage>)
    const idsIn = (name: string): string[] =>
      Array.from(
        JSON.stringify(sent(name, { messages })).matchAll(/"(?:id|tool_use_id|tool_call_id)":"([^"]*)"/g),
        ([, id = '']) => id,
      )
    const [odd = '', plain] = idsIn('anthropic')
    assert.match(odd, /^[a-zA-Z0-9_-]+$/)
    assert.deepEqual(idsIn('anthropic'), [odd, 'call_1', odd, 'call_1'])
    assert.equal(plain, 'call_1')
    assert.deepEqual(idsIn('moonshot'), ['functions.clock:0', 'call_1', 'functions.clock:0', 'call_1'])
    const [first, second, ...again] = idsIn('mistral')
    assert.match(`${first} ${second}`, /^[a-zA-Z0-9]{9} [a-zA-Z0-9]{9}$/)
    assert.deepEqual(again, [first, second])
  })

  test('tool names – longer than 64 characters are shortened for the provider and restored', () => {
    const [long, similar] = ['a', 'b'].map((end) => `mcp__a_server_with_a_long_name__${'x'.repeat(60)}${end}`)
    const tools = [long, similar, 'clock'].map((name) => ({ name, input_schema: { type: 'object' } }))
    const messages = [
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: similar, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Noon.' }] },
    ]
    const request = { tools, tool_choice: { type: 'tool', name: similar }, messages }
    const text = JSON.stringify(sent('openai', request))
    const names = Array.from(text.matchAll(/"name":"([^"]*)"/g), ([, name = '']) => name)
    // The messages come first.
    const [short] = names
    assert.equal(names.filter((name) => name === short).length, 3, 'tool, tool_choice and history')
    assert.equal(new Set(names).size, 3)
    for (const name of names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
    const called = { id: 'call_1', type: 'function', function: { name: short, arguments: '{}' } }
    const response = translateChatResponse(
      { choices: [{ message: { tool_calls: [called] }, finish_reason: 'tool_calls' }] },
      responseContext('openai', request),
    )
    assert.match(JSON.stringify(response), new RegExp(`"name":"${similar}"`))
  })

  test('server tool – is rejected with a message that says who runs it', () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    assert.throws(() => sent('openai', { tools }), /web_search_20250305 is run by Anthropic/)
  })

  test('thinking – signed by Anthropic goes to Anthropic unchanged, and to no other', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'aGlkZGVu' },
      { type: 'text', text: 'Yes.' },
    ]
    const messages = [
      { role: 'user', content: 'Hello?' },
      { role: 'assistant', content },
      { role: 'user', content: 'So?' },
    ]
    assert.deepEqual(sent('anthropic', { messages })['messages'], messages)
    for (const to of ['gemini', 'bedrock', 'cohere', 'openai', 'openrouter']) {
      const text = JSON.stringify(sent(to, { messages }))
      assert.ok(!/c2lnbmVk|aGlkZGVu|Hm\./.test(text), to)
      assert.match(text, /Yes\./)
    }
  })

  test('thinking – is disabled at Anthropic after tool calls with another provider’s thinking', () => {
    const messages = turnAfter(streamedMessage(providerNamed('gemini')))
    const thinking = { type: 'enabled', budget_tokens: 2000 }
    const request = { thinking, max_tokens: 4000 }
    assert.deepEqual(sent('anthropic', { ...request, messages })['thinking'], { type: 'disabled' })
    assert.deepEqual(sent('anthropic', { messages, thinking: { type: 'adaptive' } })['thinking'], {
      type: 'adaptive',
    })
    assert.deepEqual(sent('anthropic', request)['thinking'], thinking)
  })

  test('thinking – is sent in each provider’s fields, if it has any', () => {
    const budget = { thinking: { type: 'enabled', budget_tokens: 20_000 } }
    const adaptive = { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }
    const off = { thinking: { type: 'disabled' } }
    const fields = ['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget']
    const thinkingFields = (name: string, request: object): Record<string, unknown> =>
      Object.fromEntries(Object.entries(sent(name, request)).filter(([key]) => fields.includes(key)))
    assert.deepEqual(thinkingFields('openai', budget), { reasoning_effort: 'high' })
    assert.deepEqual(thinkingFields('openai', adaptive), { reasoning_effort: 'high' })
    assert.deepEqual(thinkingFields('openai', off), {})
    assert.deepEqual(thinkingFields('openrouter', budget), { reasoning: { max_tokens: 20_000 } })
    assert.deepEqual(thinkingFields('openrouter', adaptive), { reasoning: { effort: 'high' } })
    assert.deepEqual(thinkingFields('deepseek', budget), { thinking: { type: 'enabled' } })
    assert.deepEqual(thinkingFields('deepseek', off), { thinking: { type: 'disabled' } })
    assert.deepEqual(thinkingFields('qwen', budget), { enable_thinking: true, thinking_budget: 20_000 })
    assert.deepEqual(thinkingFields('mistral', budget), {})
    assert.deepEqual(thinkingFields('cohere', budget), {
      thinking: { type: 'enabled', token_budget: 20_000 },
    })
    assert.match(JSON.stringify(sent('gemini', budget)), /"thinkingConfig":\{[^}]*20000/)
  })

  test('cache_control, top_k and user – go only to providers that support them', () => {
    const cache_control = { type: 'ephemeral' }
    const request = {
      system: [{ type: 'text', text: 'Be brief.', cache_control }],
      tools: [{ name: 'clock', input_schema: { type: 'object' }, cache_control }],
      top_k: 7,
      metadata: { user_id: 'someone' },
    }
    assert.match(JSON.stringify(sent('openrouter', request)), /cache_control.*cache_control.*"top_k":7/)
    assert.match(JSON.stringify(sent('bedrock', request)), /cachePoint.*cachePoint/)
    assert.ok(!/cache_control|top_k/.test(JSON.stringify(sent('openai', request))))
    assert.equal(sent('openai', request)['user'], 'someone')
    assert.equal(sent('mistral', request)['user'], undefined)
    assert.deepEqual(sent('openai', { max_tokens: 9 })['max_completion_tokens'], 9)
    assert.equal(sent('openai', { max_tokens: 9 })['max_tokens'], undefined)
  })

  test('documents – are sent as files and texts; unsupported ones are rejected by field', () => {
    const document = (source: object): object => ({
      messages: [{ role: 'user', content: [{ type: 'document', title: 'Report', source }] }],
    })
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }
    const [file] = sent('openai', document(pdf))['messages'] as { content: object[] }[]
    const address = 'data:application/pdf;base64,JVBERi0='
    assert.deepEqual(file?.content, [{ type: 'file', file: { filename: 'Report', file_data: address } }])
    const plain = document({ type: 'text', media_type: 'text/plain', data: 'All is well.' })
    const [text] = sent('openai', plain)['messages'] as { content: unknown }[]
    assert.equal(text?.content, 'Report\n\nAll is well.')
    const cases: [object, string][] = [
      [document({ type: 'url', url: 'https://example.com/a.pdf' }), 'messages[0].content[0].source.type'],
      [document({ type: 'file', file_id: 'file_1' }), 'messages[0].content[0].source.type'],
      [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0].type'],
      [{ output_config: { format: { type: 'xml' } } }, 'output_config.format'],
      [
        { messages: [{ role: 'user', content: [{ type: 'container_upload' }] }] },
        'messages[0].content[0].type',
      ],
    ]
    for (const [fields, param] of cases) {
      assert.throws(
        () => sent('openai', fields),
        (error) => error instanceof UnsupportedFeatureError && error.param === param,
        param,
      )
    }
  })

  test('schema, tool choice and stop sequences – are translated', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const body = sent('openai', {
      output_config: { format: { type: 'json_schema', schema } },
      tools: [{ name: 'clock', input_schema: schema, strict: true }],
      tool_choice: { type: 'tool', name: 'clock' },
      stop_sequences: ['END'],
    })
    assert.deepEqual(body['response_format'], {
      type: 'json_schema',
      json_schema: { name: 'answer', schema, strict: true },
    })
    assert.deepEqual(body['tools'], [
      { type: 'function', function: { name: 'clock', parameters: schema, strict: true } },
    ])
    assert.deepEqual(body['tool_choice'], { type: 'function', function: { name: 'clock' } })
    assert.deepEqual(body['stop'], ['END'])
  })

  test('A finish reason becomes a stop reason by its class, and an unknown one stays', () => {
    const request = { stop_sequences: ['END'] }
    const reason = (choice: object, hasCalls = false, provider = 'openai'): [string, string | null] => {
      const stop = stopReasonOf(choice as Record<string, unknown>, hasCalls, { provider, request })
      return [stop.reason, stop.sequence]
    }
    assert.deepEqual(reason({ finish_reason: 'stop' }), ['end_turn', null])
    assert.deepEqual(reason({ finish_reason: 'stop' }, true), ['tool_use', null])
    assert.deepEqual(reason({ finish_reason: 'length' }, true), ['max_tokens', null])
    assert.deepEqual(reason({ finish_reason: 'tool_calls' }), ['tool_use', null])
    assert.deepEqual(reason({ finish_reason: 'content_filter' }), ['refusal', null])
    assert.deepEqual(reason({ finish_reason: 'stop', stop_reason: 'END' }), ['stop_sequence', 'END'])
    assert.deepEqual(reason({ finish_reason: 'stop', stop_reason: 7 }), ['end_turn', null])
    assert.deepEqual(reason({ finish_reason: 'stop', native_finish_reason: 'stop_sequence' }), [
      'stop_sequence',
      null,
    ])
    assert.deepEqual(reason({ finish_reason: 'tired' }), ['tired', null])
    assert.deepEqual(reason({ finish_reason: 'sensitive' }, false, 'zhipu'), ['refusal', null])
    assert.deepEqual(reason({ finish_reason: 'model_length' }, false, 'mistral'), ['max_tokens', null])
    assert.deepEqual(reason({ finish_reason: 'eos' }, true, 'together'), ['tool_use', null])
  })
})
