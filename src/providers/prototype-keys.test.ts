import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall } from './contract.fixture.ts'
import { UnsupportedFeatureError } from './provider.ts'
import { providerForModel, providerNames } from './registry.ts'

/** Keys that every object has, but no lookup table defines. */
const words = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']

const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] })

/** Requests with the word in fields that are looked up in a table. */
const places: readonly ((word: string) => object)[] = [
  (word) => ({ messages: [{ role: word, content: 'Hello?' }] }),
  (word) => ({ reasoning_effort: word }),
  (word) => ({ reasoning: { effort: word } }),
  (word) => ({ thinking: { type: word } }),
  (word) => ({ tool_choice: word, tools: [{ type: word, function: { name: word } }] }),
  (word) => ({ response_format: { type: word } }),
  (word) => user([{ type: word }]),
  (word) => user([{ type: 'image_url', image_url: { url: `data:${word};base64,AAAA` } }]),
  (word) => user([{ type: 'image_url', image_url: { url: `https://example.com/a.${word}` } }]),
  (word) => user([{ type: 'file', file: { filename: word, file_data: `data:${word}/${word};base64,AAAA` } }]),
  (word) => user([{ type: 'input_audio', input_audio: { format: word, data: 'AAAA' } }]),
]

/** The request is encoded, or rejected by its field. */
function assertSane(name: string, model: string, json: object): void {
  const provider = providerForModel(name, model)
  assert.ok(provider)
  const call = createCall(provider, json as Record<string, unknown>, { model, token: 'a-token' })
  try {
    assert.doesNotMatch(
      Buffer.concat([...provider.buildRequest(call).body]).toString(),
      /native code|\[object/,
    )
  } catch (error) {
    const about = `${name} ${model} ${JSON.stringify(json)}: ${String(error)}`
    assert.ok(error instanceof UnsupportedFeatureError, about)
  }
}

describe('providers', () => {
  test('keys of Object.prototype – are encoded like any other word, or rejected by their field', () => {
    for (const name of providerNames) {
      for (const model of ['family-model', 'claude-9', 'gemini-2.5-pro', 'anthropic.claude-9']) {
        for (const place of places) for (const word of words) assertSane(name, model, place(word))
      }
    }
  })
})
