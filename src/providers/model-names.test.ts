import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseBoundedJson } from '../lib/json/bounded-json.ts'
import { isObject } from './json-fields.ts'
import { isSameModel } from './model-names.ts'

type Names = readonly [asked: string, served: string]

/** What differs, and names that providers document or return. */
const same: Readonly<Record<string, readonly Names[]>> = {
  'letter case': [
    ['GPT-4o', 'gpt-4o'],
    ['meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo', 'meta-llama/meta-llama-3.1-8b-instruct-turbo'],
  ],
  'maker, folder or region': [
    ['openai/gpt-4o', 'gpt-4o'],
    ['models/gemini-2.5-flash', 'gemini-2.5-flash'],
    ['accounts/fireworks/models/llama-v3p1-8b-instruct', 'llama-v3p1-8b-instruct'],
    ['accounts/fireworks/models/qwen3-8b#accounts/us/deployments/1', 'accounts/fireworks/models/qwen3-8b'],
    ['us.anthropic.claude-3-5-sonnet-20241022-v2:0', 'claude-3-5-sonnet-20241022'],
    ['arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0', 'claude-3-haiku'],
    ['ai21.jamba-1-5-large-v1:0', 'jamba-1.5-large'],
  ],
  date: [
    ['gpt-4o', 'gpt-4o-2024-08-06'],
    ['gpt-3.5-turbo', 'gpt-3.5-turbo-0125'],
    ['gpt-3.5-turbo-instruct', 'gpt-3.5-turbo-instruct:20230824-v2'],
    ['claude-3-5-sonnet-latest', 'claude-3-5-sonnet-20241022'],
    ['claude-3-5-sonnet-v2@20241022', 'claude-3-5-sonnet-20241022'],
    ['mistral-large-latest', 'mistral-large-2411'],
    ['grok-4', 'grok-4-0709'],
    ['command-r', 'command-r-08-2024'],
    ['doubao-1-5-pro-32k', 'doubao-1-5-pro-32k-250115'],
    ['qwen/qwen3-235b-a22b-2507', 'qwen/qwen3-235b-a22b-07-25'],
  ],
  'revision or variant': [
    ['gemini-1.5-flash', 'gemini-1.5-flash-002'],
    ['gemini-2.5-pro', 'gemini-2.5-pro-preview-05-06'],
    ['gpt-4', 'gpt-4-1106-preview'],
    ['grok-4-fast', 'grok-4-fast-reasoning'],
    ['deepseek/deepseek-r1:free', 'deepseek/deepseek-r1'],
    ['llama3.1', 'llama3.1:latest'],
    ['deepseek-v3', 'deepseek-v3-0324'],
    ['qwen2.5-7b-instruct', '/models/Qwen2.5-7B-Instruct.gguf'],
  ],
  'order of the words': [['anthropic/claude-sonnet-4.5', 'anthropic/claude-4.5-sonnet-20250929']],
}

const others: readonly Names[] = [
  ['gpt-4o', 'gpt-4o-mini'],
  ['gpt-4.1-mini', 'gpt-4.1-nano-2025-04-14'],
  ['gpt-4', 'gpt-4-32k'],
  ['gpt-5', 'gpt-5.1'],
  ['gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'],
  ['claude-3-haiku', 'claude-3-opus'],
  ['claude-sonnet-4-5', 'claude-sonnet-4-20250514'],
  ['claude-3-5-sonnet-20240620', 'claude-3-5-sonnet-v2@20241022'],
  ['mistral-large-2407', 'mistral-large-2411'],
  ['gemini-2.5-pro-preview-03-25', 'gemini-2.5-pro-preview-05-06'],
  ['deepseek-v3', 'deepseek-v3.1'],
  ['deepseek-chat', 'deepseek-reasoner'],
  ['qwen-turbo', 'qwen-plus-2025-04-28'],
  ['llama3:8b', 'llama3:70b'],
  ['grok-4-fast-non-reasoning', 'grok-4-fast-reasoning'],
  ['meta-llama/llama-3.1-8b-instruct', 'anthropic/claude-opus-4'],
]

/** The model that each recorded response was asked from. */
const recorded: Readonly<Record<string, string>> = {
  'alibaba/alibaba-tool-call': 'qwen3-max',
  'anthropic/anthropic-json-tool.1': 'claude-haiku-4-5',
  'anthropic/anthropic-text': 'claude-sonnet-4-5@20250929',
  'anthropic/anthropic-tool-no-args': 'claude-3-opus-latest',
  'completions/openai-completion-text': 'gpt-3.5-turbo-instruct',
  'deepseek/deepseek-json': 'deepseek/deepseek-reasoner',
  'google/google-text': 'models/gemini-3-pro-preview',
  'groq/groq-tool-call': 'Llama-3.3-70B-Versatile',
  'mistral/mistral-text': 'mistral-small',
  'moonshotai/moonshotai-text': 'kimi-k3',
  'openai/openai-text': 'gpt-4.1-nano',
  'openai-compatible/xai-tool-call': 'grok-3-mini-latest',
  'perplexity/perplexity-text': 'sonar',
  'responses/xai-web-search-tool.1': 'grok-4-fast',
}
const folder = process.env['RECORDINGS_DIR'] ?? ''

describe('model names', () => {
  for (const [difference, pairs] of Object.entries(same))
    test(`${difference} – is not another model`, () => {
      for (const [asked, served] of pairs) {
        assert.ok(isSameModel(asked, served), `${asked}: ${served}`)
        assert.ok(isSameModel(served, asked), `${served}: ${asked}`)
      }
    })

  test('other models and other dates – are recognized', () => {
    for (const [asked, served] of others) {
      assert.ok(!isSameModel(asked, served), `${asked}: ${served}`)
      assert.ok(!isSameModel(served, asked), `${served}: ${asked}`)
    }
  })

  test('no name, or a model of the upstream’s choice – never differs', () => {
    for (const [asked, served] of [
      ['gpt-4o', ''],
      ['gpt-4o', ' '],
      ['openrouter/auto', 'openai/gpt-5'],
      ['moonshot-v1-auto', 'moonshot-v1-8k'],
      ['ep-20250101120000-abcde', 'doubao-1-5-pro-32k'],
    ] as const)
      assert.ok(isSameModel(asked, served), `${asked}: ${served}`)
    assert.ok(!isSameModel('gpt-5', 'openrouter/auto'))
  })

  test('recorded responses – are of the model that they were asked from', { skip: folder === '' }, () => {
    for (const [name, asked] of Object.entries(recorded)) {
      const body = parseBoundedJson(readFileSync(join(folder, `${name}.json`), 'utf8'))
      assert.ok(isObject(body))
      const served = body['model'] ?? body['modelVersion']
      assert.ok(typeof served === 'string', name)
      assert.ok(isSameModel(asked, served), `${asked}: ${served}`)
      assert.ok(!isSameModel('gpt-4o-mini', served), served)
    }
  })

  test('the longest names – are compared at once', () => {
    const startedMs = performance.now()
    for (const part of ['a-', 'a.', './', 'a/', '-v1', ':0', '20', '-20'])
      assert.ok(!isSameModel('x', part.repeat(128)))
    assert.ok(performance.now() - startedMs < 100)
  })
})
