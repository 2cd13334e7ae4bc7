import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { providerNames, providerOf } from '../src/providers/registry.ts'
import { root } from './support/source-files.ts'

/** The names that scripts rely on: fixed for good. */
const contract = `
  openai openai-compatible anthropic gemini vertex azure bedrock perplexity deepseek
  qwen moonshot zhipu doubao ernie hunyuan minimax siliconflow mistral
  groq xai cohere together fireworks openrouter ollama vllm demo
`

test('every provider that the automation contract names exists, and no other', () => {
  assert.deepEqual(providerNames.toSorted(), contract.trim().split(/\s+/).toSorted())
})

test('docs/adding-a-provider.md lists every provider with its title, format and address', () => {
  const page = readFileSync(join(root, 'docs/adding-a-provider.md'), 'utf8')
  const listed = page.split('\n').filter((line) => line.startsWith('| `') && line.split('|').length === 6)
  const expected = providerNames.map((name) => {
    const { title, baseUrl, translation } = providerOf(name) ?? assert.fail(name)
    const address = baseUrl === null ? 'yours' : `\`${baseUrl}\``
    return `| \`${name}\` | ${title} | ${translation ? 'its own' : 'common'} | ${address} |`
  })
  assert.deepEqual(listed, expected)
})
