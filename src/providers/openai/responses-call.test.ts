/** Chat requests for a model that only the Responses API serves, checked against OpenAI's rules. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, responsesOnlyProvider, sentBody } from '../contract.fixture.ts'
import type { Json } from '../json-fields.ts'
import { UnsupportedFeatureError, type UpstreamCall } from '../provider.ts'
import { responsesFormat } from '../reasoning-details.ts'
import { isResponsesOnly } from './openai-models.ts'
import { providerFor } from './spoken-apis.ts'

const provider = responsesOnlyProvider()
const image = 'data:image/png;base64,iVBORw0KGgo='

function bodyFor(json: Json, fields: Partial<UpstreamCall> = {}): Json {
  return sentBody(provider, createCall(provider, json, fields))
}

function assertRejected(json: Json, param: string): void {
  assert.throws(
    () => bodyFor(json),
    (error) => error instanceof UnsupportedFeatureError && error.param === param,
    param,
  )
}

const weather = { name: 'weather', description: 'Weather.', parameters: { type: 'object', properties: {} } }
const tools = [{ type: 'function', function: weather }]
const called = (id: string, input = '{}'): Json => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: input },
})
const signed = (signature: string, index: number, format = responsesFormat): Json => ({
  type: 'reasoning.text',
  text: 'So.',
  signature,
  format,
  index,
})

describe('Chat requests in the Responses API', () => {
  test('Minimal request – stores nothing, and asks for encrypted reasoning', () => {
    assert.deepEqual(bodyFor({ messages: [{ role: 'user', content: 'Hi' }], stream: true }), {
      model: 'upstream-model',
      input: [{ role: 'user', content: 'Hi' }],
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    })
  })

  test('Request – goes to the path and with the key of the provider', () => {
    const azure = providerFor({ provider: 'azure', settings: {} }, 'gpt-5-codex', undefined)
    assert.ok(azure)
    const request = azure.buildRequest(createCall(azure, {}, { baseUrl: 'https://r.openai.azure.com' }))
    assert.equal(request.url, 'https://r.openai.azure.com/openai/v1/responses')
    assert.equal(new Map(request.headers).get('api-key'), 'a-secret-key')
  })

  test('Tool loop – calls and results are items, reasoning goes before what it led to', () => {
    const long = `call_${'x'.repeat(80)}`
    const { input } = bodyFor({
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Bern and Lima?' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [called('call_1', '{"city":"Bern"}'), called(long)],
          reasoning_details: [signed('second', 2), signed('first', 0), signed('foreign', 0, 'other')],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'Sun.' },
        { role: 'tool', tool_call_id: long, content: [{ type: 'image_url', image_url: { url: image } }] },
      ],
      tools,
    })
    const items = input as Json[]
    const shortened = items[6]?.['call_id']
    assert.match(String(shortened), /^call_[0-9a-f]{32}$/)
    const reasoning = { type: 'reasoning', summary: [] }
    assert.deepEqual(items, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Bern and Lima?' },
      { ...reasoning, encrypted_content: 'first' },
      { role: 'assistant', content: 'I look.' },
      { ...reasoning, encrypted_content: 'second' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Bern"}' },
      { type: 'function_call', call_id: shortened, name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Sun.' },
      {
        type: 'function_call_output',
        call_id: shortened,
        output: [{ type: 'input_image', image_url: image }],
      },
    ])
  })

  test('Reasoning alone, or from an upstream that could not encrypt it – is left out', () => {
    const turn = (fields: Json): Json => ({ role: 'assistant', content: '', ...fields })
    const messages = [
      turn({ reasoning_details: [signed('alone', 0)] }),
      turn({ content: 'Hi', reasoning_details: [{ ...signed('', 0), signature: undefined }] }),
    ]
    assert.deepEqual(bodyFor({ messages })['input'], [{ role: 'assistant', content: 'Hi' }])
  })

  test('Images and files – keep their data, detail and name', () => {
    const pdf = 'data:application/pdf;base64,JVBERi0='
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: image, detail: 'low' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: pdf } },
      { type: 'file', file: { file_data: 'https://example.com/b.pdf' } },
    ]
    assert.deepEqual(bodyFor({ messages: [{ role: 'user', content }] })['input'], [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is it?' },
          { type: 'input_image', image_url: image, detail: 'low' },
          { type: 'input_file', filename: 'a.pdf', file_data: pdf },
          { type: 'input_file', file_url: 'https://example.com/b.pdf' },
        ],
      },
    ])
  })

  test('Tools – are as strict as the caller says, and the choice is named', () => {
    const choice = { type: 'function', function: { name: 'weather' } }
    assert.partialDeepStrictEqual(bodyFor({ tools, tool_choice: choice, parallel_tool_calls: false }), {
      tools: [{ type: 'function', ...weather, strict: false }],
      tool_choice: { type: 'function', name: 'weather' },
      parallel_tool_calls: false,
    })
    assert.equal(bodyFor({ tools, tool_choice: 'required' })['tool_choice'], 'required')
    assert.equal(bodyFor({ tool_choice: 'auto' })['tool_choice'], undefined)
    const functions = bodyFor({ functions: [weather], function_call: { name: 'weather' } })
    assert.deepEqual(functions['tool_choice'], { type: 'function', name: 'weather' })
  })

  test('Web search – is the tool that deep research takes', () => {
    const approximate = { country: 'CH' }
    const options = { search_context_size: 'low', user_location: { type: 'approximate', approximate } }
    assert.deepEqual(bodyFor({ web_search_options: options })['tools'], [
      {
        type: 'web_search_preview',
        search_context_size: 'low',
        user_location: { type: 'approximate', country: 'CH' },
      },
    ])
  })

  test('Structured output – is the format of the text', () => {
    const schema = { type: 'object', properties: {} }
    const json_schema = { name: 'city', schema, strict: true }
    const fields = { response_format: { type: 'json_schema', json_schema }, verbosity: 'low' }
    assert.deepEqual(bodyFor(fields)['text'], {
      format: { type: 'json_schema', ...json_schema },
      verbosity: 'low',
    })
    const format = { response_format: { type: 'json_object' } }
    assert.deepEqual(bodyFor(format)['text'], { format: { type: 'json_object' } })
  })

  test('Reasoning – has its effort, and a summary unless the caller or upstream wants none', () => {
    const reasoningOf = (json: Json, ...without: string[]): unknown =>
      bodyFor(json, { withoutFields: new Set(without) })['reasoning']
    const high = { reasoning_effort: 'high' }
    assert.deepEqual(reasoningOf(high), { effort: 'high', summary: 'auto' })
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low', exclude: true } }), { effort: 'low' })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'none' }), { effort: 'none' })
    assert.deepEqual(reasoningOf(high, 'reasoning.summary'), { effort: 'high' })
    assert.deepEqual([reasoningOf({}), reasoningOf(high, 'reasoning')], [undefined, undefined])
  })

  test('Settings – have the names of the API; the maximum is at least its minimum', () => {
    const shared = {
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      safety_identifier: 's',
      service_tier: 'flex',
      user: 'u',
    }
    assert.partialDeepStrictEqual(
      bodyFor({ ...shared, max_tokens: 100, logprobs: true, top_logprobs: 2, temperature: 0.5, seed: null }),
      {
        ...shared,
        max_output_tokens: 100,
        top_logprobs: 2,
        include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
        temperature: 0.5,
      },
    )
    assert.equal(bodyFor({ max_completion_tokens: 1 })['max_output_tokens'], 16)
    assert.equal(bodyFor({ max_tokens: 100 }, { maximumTokens: 50 })['max_output_tokens'], 50)
    assert.equal(bodyFor({ temperature: 0.5 }, { model: 'o3-pro' })['temperature'], undefined)
  })

  test('What an upstream rejects – is left out', () => {
    assert.equal(bodyFor({}, { withoutFields: new Set(['include']) })['include'], undefined)
    const messages = [{ role: 'assistant', content: 'Hi', reasoning_details: [signed('x', 0)] }]
    const { input } = bodyFor({ messages }, { withoutFields: new Set(['reasoning_details']) })
    assert.deepEqual(input, [{ role: 'assistant', content: 'Hi' }])
  })

  test('What the API does not have – is rejected by name, unless its value asks for nothing', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
    assertRejected({ n: 2 }, 'n')
    assertRejected({ stop: ['\n'] }, 'stop')
    assertRejected({ logit_bias: { 50256: -100 } }, 'logit_bias')
    assertRejected({ seed: 0 }, 'seed')
    assertRejected({ frequency_penalty: 0.5 }, 'frequency_penalty')
    assertRejected({ presence_penalty: -1 }, 'presence_penalty')
    assertRejected({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }, 'audio')
    assertRejected({ modalities: ['text', 'audio'] }, 'modalities')
    assertRejected({ messages: [{ role: 'user', content: [audio] }] }, 'messages[0].content[0].type')
    bodyFor({ n: 1, stop: [], logit_bias: {}, frequency_penalty: 0, presence_penalty: 0 })
    bodyFor({ modalities: ['text'], audio: null, stop: null })
  })
})

describe('Models that only the Responses API serves', () => {
  test('Names – decide, where the upstream speaks the API', () => {
    for (const model of [
      'o1-pro',
      'o3-pro-2025-06-10',
      'o3-deep-research',
      'o4-mini-deep-research-2025-06-26',
      'computer-use-preview',
      'codex-mini-latest',
      'gpt-5-codex',
      'gpt-5.1-codex-max',
      'gpt-5-pro',
      'gpt-5.5-pro-2026-04-23',
      'gpt-5.6-cyber',
      'gpt-daybreak-red-latest',
    ])
      assert.equal(isResponsesOnly(model), true, model)
    for (const model of ['o1', 'o3', 'o4-mini', 'gpt-5', 'gpt-5.2', 'gpt-5-mini', 'gpt-4.1', 'openai/o3-pro'])
      assert.equal(isResponsesOnly(model), false, model)
    const translates = (name: string, speaks?: 'responses'[]): boolean =>
      providerFor({ provider: name, settings: speaks ? { speaks } : {} }, 'o3-pro', undefined)
        ?.translation !== undefined
    assert.deepEqual([translates('openai'), translates('azure'), translates('vllm')], [true, true, false])
    assert.deepEqual([translates('openai', []), translates('vllm', ['responses'])], [false, true])
  })

  test('Requests of other operations – go where they went', () => {
    const upstream = { provider: 'openai', settings: {} }
    for (const api of ['responses', 'completions', 'embeddings'] as const)
      assert.equal(providerFor(upstream, 'o3-pro', api), providerFor(upstream, 'gpt-4o', api))
    assert.notEqual(providerFor(upstream, 'o3-pro', undefined), providerFor(upstream, 'o3-pro', 'responses'))
  })
})
