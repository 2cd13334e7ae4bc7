/** Single request options in each provider's API format. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, sentBody } from './contract.fixture.ts'
import { UnsupportedFeatureError, type UpstreamCall } from './provider.ts'
import { findProvider } from './registry.ts'

function bodyFor(name: string, json: Record<string, unknown>, fields: Partial<UpstreamCall> = {}): unknown {
  const provider = findProvider(name)
  assert.ok(provider)
  return sentBody(provider, createCall(provider, json, fields))
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [
  { type: 'function', function: { name: 'place', description: 'Finds a place', parameters: schema } },
  { type: 'function', function: { name: 'clock' } },
]
/** A conversation that ends with tool results. */
const midway = [
  { role: 'user', content: 'Where is this?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_a', type: 'function', function: { name: 'place', arguments: '{"city":"Bern"}' } },
      { id: 'call_b', type: 'function', function: { name: 'clock', arguments: '' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_a', content: '{"found":true}' },
  { role: 'tool', tool_call_id: 'call_b', content: 'It is noon.' },
]

describe('request options by provider', () => {
  test('response_format – a JSON Schema is sent in each API format', () => {
    const format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } }
    const sent = (name: string) => JSON.stringify(bodyFor(name, { response_format: format }))
    const written = JSON.stringify(schema)
    const closed = JSON.stringify({ ...schema, additionalProperties: false })
    assert.ok(
      sent('anthropic').includes(`"output_config":{"format":{"type":"json_schema","schema":${closed}}}`),
    )
    assert.ok(
      sent('gemini').includes(`"responseMimeType":"application/json","responseJsonSchema":${written}`),
    )
    assert.ok(sent('cohere').includes(`"response_format":{"type":"json_object","json_schema":${written}}`))
    assert.ok(sent('bedrock').includes(`"jsonSchema":{"schema":${JSON.stringify(written)},"name":"place"}`))
    assert.match(
      JSON.stringify(bodyFor('anthropic', { response_format: { type: 'json_object' } })),
      /one valid JSON/,
    )
  })

  test('tool_choice – none, required and a subset of the tools', () => {
    const choice = (name: string, tool_choice: unknown) =>
      JSON.stringify(bodyFor(name, { tools, tool_choice }))
    assert.match(choice('anthropic', 'none'), /"tool_choice":\{"type":"none"\}/)
    assert.match(choice('anthropic', 'required'), /"tool_choice":\{"type":"any"\}/)
    assert.match(choice('gemini', 'required'), /"mode":"ANY"\}/)
    assert.match(choice('cohere', 'none'), /"tool_choice":"NONE"/)
    assert.doesNotMatch(choice('bedrock', 'none'), /toolConfig/)
    const allowed = { mode: 'auto', tools: [{ type: 'function', function: { name: 'clock' } }] }
    const fewer = choice('anthropic', { type: 'allowed_tools', allowed_tools: allowed })
    assert.ok(fewer.includes('clock') && !fewer.includes('place'))
    const none = () => bodyFor('bedrock', { messages: midway, tools, tool_choice: 'none' })
    assert.throws(none, (error) => error instanceof UnsupportedFeatureError && error.param === 'tool_choice')
  })

  test('reasoning_effort – is sent as each model expects it', () => {
    const sent = (provider: string, model: string, fields: Record<string, unknown>): unknown =>
      bodyFor(provider, { max_tokens: 10_000, ...fields }, { model })
    const part = (body: unknown): unknown => {
      const {
        thinking,
        output_config: output,
        generationConfig,
        additionalModelRequestFields,
      } = body as Record<string, Record<string, unknown>>
      return additionalModelRequestFields ?? generationConfig?.['thinkingConfig'] ?? [thinking, output]
    }
    const low = { reasoning_effort: 'low' }
    const adaptive = { type: 'adaptive', display: 'summarized' }
    const budget = { type: 'enabled', budget_tokens: 2000 }
    assert.deepEqual(part(sent('anthropic', 'claude-opus-5', low)), [adaptive, { effort: 'low' }])
    assert.deepEqual(part(sent('anthropic', 'claude-opus-4-6', low)), [adaptive, { effort: 'low' }])
    assert.deepEqual(part(sent('anthropic', 'claude-sonnet-4-5-20250929', low)), [budget, undefined])
    assert.deepEqual(part(sent('anthropic', 'claude-sonnet-4-20250514', low)), [budget, undefined])
    assert.deepEqual(part(sent('anthropic', 'claude-opus-5', { reasoning_effort: 'none' })), [
      { type: 'disabled' },
      undefined,
    ])
    assert.deepEqual(part(sent('anthropic', 'claude-haiku-4-5', { reasoning: { max_tokens: 3000 } })), [
      { type: 'enabled', budget_tokens: 3000 },
      undefined,
    ])
    assert.deepEqual(part(sent('anthropic', 'claude-haiku-4-5', { ...low, max_tokens: 900 })), [
      undefined,
      undefined,
    ])
    assert.deepEqual(part(sent('gemini', 'gemini-3-pro', low)), {
      thinkingLevel: 'low',
      includeThoughts: true,
    })
    assert.deepEqual(part(sent('gemini', 'gemini-2.5-flash', low)), {
      thinkingBudget: 1024,
      includeThoughts: true,
    })
    assert.deepEqual(part(sent('bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', low)), {
      thinking: budget,
    })
    assert.deepEqual(part(sent('bedrock', 'openai.gpt-oss-120b-1:0', low)), { reasoning_effort: 'low' })
  })

  test('fields that an upstream rejects – are left out of every translation', () => {
    const sent = (provider: string, hints: Record<string, unknown>, ...rejected: string[]): string =>
      JSON.stringify(bodyFor(provider, hints, { model: 'gemini-2.5', withoutFields: new Set(rejected) }))
    const sampling = { temperature: 0.5, top_p: 0.9 }
    const others = { reasoning_effort: 'low', user: 'u', max_tokens: 9000 }
    for (const provider of ['anthropic', 'gemini', 'bedrock', 'cohere'] as const) {
      assert.match(sent(provider, sampling), /"temperature":0\.5/, provider)
      assert.doesNotMatch(sent(provider, sampling, 'temperature'), /"temperature"/, provider)
      assert.doesNotMatch(sent(provider, others, 'reasoning', 'user'), /think|effort|metadata/i, provider)
    }
    assert.match(sent('anthropic', others), /think.*metadata/)
    const both = sent('gemini', sampling, 'temperature and top_p')
    assert.match(both, /"temperature":0\.5/)
    assert.doesNotMatch(both, /topP/)
    assert.match(sent('gemini', { top_p: 0.9 }, 'temperature and top_p'), /"topP":0\.9/)
  })

  test('tools – work for callers that do not send signatures back', () => {
    const request = { messages: midway, reasoning_effort: 'high', max_tokens: 10_000 }
    const claude = bodyFor('anthropic', request, { model: 'claude-sonnet-4-5' }) as Record<string, unknown>
    assert.equal(claude['thinking'], undefined)
    const gemini = JSON.stringify(bodyFor('gemini', request, { model: 'gemini-3-pro' }))
    assert.equal(gemini.split('skip_thought_signature_validator').length, 2)
  })

  test('image URLs – are sent to providers that fetch them, and rejected for others', () => {
    const url = 'https://pictures.example/cat.webp?size=2'
    const fields = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }
    assert.ok(JSON.stringify(bodyFor('anthropic', fields)).includes(`{"type":"url","url":"${url}"}`))
    assert.ok(
      JSON.stringify(bodyFor('gemini', fields)).includes(`{"mimeType":"image/webp","fileUri":"${url}"}`),
    )
    assert.ok(JSON.stringify(bodyFor('cohere', fields)).includes(`{"url":"${url}"}`))
    assert.throws(() => bodyFor('bedrock', fields), UnsupportedFeatureError)
  })

  test('Anthropic’s max_tokens – is the caller’s, else the hold’s, else the model’s', () => {
    const maximum = (json: Record<string, unknown>, fields: Partial<UpstreamCall>): unknown =>
      (bodyFor('anthropic', json, fields) as Record<string, unknown>)['max_tokens']
    assert.equal(maximum({ max_completion_tokens: 10 }, { maximumTokens: null }), 10)
    assert.equal(maximum({}, { maximumTokens: 20 }), 20)
    assert.equal(maximum({}, { maximumTokens: null, modelMaximumTokens: 30 }), 30)
    assert.equal(maximum({}, { maximumTokens: null, modelMaximumTokens: null }), 4096)
  })
})
