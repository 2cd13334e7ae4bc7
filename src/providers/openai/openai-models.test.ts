import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { withoutHints } from '../request-hints.ts'
import { hintsRejectedBy } from './openai-models.ts'

describe('hintsRejectedBy', () => {
  test('models – take either an effort or sampling parameters', () => {
    const hints = { temperature: 0.5, top_p: 0.9, reasoning_effort: 'low', user: 'u' }
    const sent = (model: string): string[] => Object.keys(withoutHints(hints, hintsRejectedBy(model)))
    for (const model of ['gpt-4o', 'gpt-4.1-mini', 'gpt-4', 'gpt-4-turbo', 'gpt-3.5-turbo', 'openai/gpt-4o'])
      assert.deepEqual(sent(model), ['temperature', 'top_p', 'user'], model)
    for (const model of ['gpt-5-chat-latest', 'chatgpt-4o-latest'])
      assert.deepEqual(sent(model), ['temperature', 'top_p', 'user'], model)
    for (const model of ['o1', 'o3-mini', 'o4-mini-2025-04-16', 'gpt-5', 'gpt-5-nano', 'gpt-5-2025-08-07'])
      assert.deepEqual(sent(model), ['reasoning_effort', 'user'], model)
    for (const model of ['gpt-5.2', 'gpt-45', 'gpt-oss-120b', 'qwen3-max', 'o', 'oracle-1'])
      assert.deepEqual(sent(model), Object.keys(hints), model)
  })
})
