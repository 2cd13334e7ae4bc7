/** What the relay reads of a request of the Responses API: its fields, its embedded data, and its estimated input. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ApiError } from '../../errors.ts'
import { conversationHash } from '../routing/affinity.ts'
import { imageTokens } from './embedded-data.ts'
import { readResponsesRequest, type ResponsesRequest } from './responses-request.ts'

function read(fields: object): ResponsesRequest {
  return readResponsesRequest(Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...fields })))
}

const image = { type: 'input_image', image_url: `data:image/png;base64,${'iVBORw0KGgo='.repeat(1000)}` }
const pdf = { type: 'input_file', file_data: `data:application/pdf;base64,${'JVBERi0='.repeat(1000)}` }
const user = (...content: object[]): object => ({ role: 'user', content })
const result = (...output: object[]): object => ({ type: 'function_call_output', call_id: 'a', output })

describe('Responses request', () => {
  test('fields – are read with their defaults, and null is absent', () => {
    const { model, stream, maxOutputTokens, n, restricted } = read({ stream: null, max_output_tokens: null })
    assert.deepEqual([model, stream, maxOutputTokens, n, restricted], ['m', false, null, 1, []])
    const other = read({ stream: true, max_output_tokens: 16, n: 5 })
    assert.deepEqual([other.stream, other.maxOutputTokens, other.n], [true, 16, 1])
  })

  test('repeated key – the last value counts, as for JSON.parse', () => {
    const body =
      '{"model":"m","input":"Hi","store":true,"max_output_tokens":99,"store":false,"max_output_tokens":16}'
    const request = readResponsesRequest(Buffer.from(body))
    assert.equal(request.maxOutputTokens, 16)
    assert.equal(request.parsed()['max_output_tokens'], 16)
  })

  test('text after a string as input – is not valid JSON', () => {
    for (const body of ['{"model":"m","input":"Hi"["x"]}', '{"model":"m","input":"Hi"{"role":"user"}}'])
      assert.throws(
        () => readResponsesRequest(Buffer.from(body)),
        (error) => error instanceof ApiError && error.code === 'invalid_json',
      )
  })

  test('embedded data – is counted by its kind, in messages and in results of tools', () => {
    for (const item of [user(image), result(image)]) {
      const { embedded } = read({ input: [item] })
      assert.deepEqual([embedded.images, embedded.tokens, embedded.hasReferences], [1, imageTokens, false])
      assert.ok(embedded.bytes >= 12_000)
    }
    const { embedded } = read({ input: [user(pdf)] })
    assert.ok(embedded.documentTokens > 1000 && !embedded.hasReferences)
  })

  test('references – are known, since the body does not show how many tokens they have', () => {
    for (const part of [
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      { type: 'input_file', file_id: 'file_1' },
      { type: 'input_image', file_id: 'file_1' },
    ])
      assert.equal(read({ input: [user(part)] }).embedded.hasReferences, true)
  })

  test('estimate – counts every text, call, result and definition, and an image by its kind', () => {
    const texts = 'abcd'.repeat(100)
    for (const fields of [
      { instructions: texts },
      { input: texts },
      { input: [user({ type: 'input_text', text: texts })] },
      { input: [{ role: 'assistant', content: texts }] },
      { input: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: texts }] }] },
      { input: [{ type: 'function_call', call_id: 'a', name: 'f', arguments: texts }] },
      { input: [{ type: 'custom_tool_call', call_id: 'a', name: 'f', input: texts }] },
      { input: [{ type: 'function_call_output', call_id: 'a', output: texts }] },
      { input: [{ type: 'tool_search_output', call_id: 'a', tools: [{ type: 'function', name: texts }] }] },
      { tools: [{ type: 'function', name: 'f', description: texts }] },
      { text: { format: { type: 'json_schema', name: 'n', schema: { title: texts } } } },
    ]) {
      const tokens = read(fields).inputTokens()
      assert.ok(tokens >= 100 && tokens < 130, `${tokens}: ${JSON.stringify(fields).slice(0, 80)}`)
    }
    assert.equal(read({ input: [user(image)] }).inputTokens(), imageTokens)
    assert.equal(read({ input: [user({ ...image, detail: 'low' })] }).inputTokens(), 85)
  })

  test('conversation – is identified by its key, else by its instructions and first messages', () => {
    const hash = (fields: object): number => conversationHash('acc', read(fields))
    const [first, second] = [user({ type: 'input_text', text: 'A' }), user({ type: 'input_text', text: 'B' })]
    assert.equal(hash({ input: [first] }), hash({ input: [first, second] }))
    assert.notEqual(hash({ input: [first] }), hash({ input: [second] }))
    assert.notEqual(hash({ input: 'A' }), hash({ input: 'B' }))
    assert.notEqual(hash({ instructions: 'A' }), hash({ instructions: 'B' }))
    assert.equal(hash({ input: 'A', prompt_cache_key: 'k' }), hash({ input: 'B', prompt_cache_key: 'k' }))
  })
})
