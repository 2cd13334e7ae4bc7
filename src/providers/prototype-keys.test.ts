import assert from 'node:assert/strict'
import { test } from 'node:test'

import { callOf } from './contract.fixture.ts'
import { Inexpressible } from './provider.ts'
import { dialectOf, providerNames } from './registry.ts'

/** What every object has, and nobody's table means. */
const words = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']

const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] })

/** Requests that have the word where a table is asked about it. */
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

/** Phrased, or refused by its place. */
function assertSane(name: string, model: string, json: object): void {
  const provider = dialectOf(name, model)
  assert.ok(provider)
  const call = callOf(provider, json as Record<string, unknown>, { model, token: 'a-token' })
  try {
    assert.doesNotMatch(Buffer.concat([...provider.ask(call).body]).toString(), /native code|\[object/)
  } catch (error) {
    const about = `${name} ${model} ${JSON.stringify(json)}: ${String(error)}`
    assert.ok(error instanceof Inexpressible, about)
  }
}

test('words that every object knows are phrased as any other word, or refused by their place, in every dialect', () => {
  for (const name of providerNames) {
    for (const model of ['family-model', 'claude-9', 'gemini-2.5-pro', 'anthropic.claude-9']) {
      for (const place of places) for (const word of words) assertSane(name, model, place(word))
    }
  }
})
