import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { providerNames, findProvider } from '../../src/providers/registry.ts'
import { root } from '../support/source-files.ts'

/** Provider names are part of the interface and must not change. */
const stableNames = `
  openai openai-compatible anthropic gemini vertex azure bedrock perplexity deepseek
  qwen moonshot zhipu doubao ernie hunyuan minimax siliconflow mistral
  groq xai cohere together fireworks openrouter ollama vllm demo
`

describe('Provider documentation', () => {
  test('Provider names – are exactly the stable ones', () => {
    assert.deepEqual(providerNames.toSorted(), stableNames.trim().split(/\s+/).toSorted())
  })

  test('docs/adding-a-provider.md – lists every provider with its title, format and URL', () => {
    const page = readFileSync(join(root, 'docs/adding-a-provider.md'), 'utf8')
    const listed = page.split('\n').filter((line) => line.startsWith('| `') && line.split('|').length === 6)
    const expected = providerNames.map((name) => {
      const { title, baseUrl, translation } = findProvider(name) ?? assert.fail(name)
      const address = baseUrl === null ? 'custom' : `\`${baseUrl}\``
      return `| \`${name}\` | ${title} | ${translation ? 'own' : 'OpenAI'} | ${address} |`
    })
    assert.deepEqual(listed, expected)
  })
})
