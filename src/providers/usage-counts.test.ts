import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAnthropicUsage } from './anthropic/anthropic-usage.ts'
import { parseResponsesUsage } from './openai/responses-usage.ts'
import { parseUsage, parseUsageOf } from './usage.ts'
import { mergeUsage } from './usage-counts.ts'

const totals = { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 }
const priced = { input: 1000, cachedInput: 400, cacheWrite: 0, output: 50, reasoning: 0 }
const written = { ...priced, cachedInput: 0, cacheWrite: 400 }

describe('Counts of a usage', () => {
  test('A count never falls, null is no count, and details stay until they are replaced', () => {
    const first = { ...totals, prompt_tokens_details: { cached_tokens: 400 } }
    for (const next of [totals, { ...totals, prompt_tokens_details: null }, { prompt_tokens: 0 }, {}])
      assert.deepEqual(parseUsage(mergeUsage(first, next)), priced)
    assert.deepEqual(mergeUsage({ a: 1, list: [1] }, { a: '3', list: [] }), { a: 3, list: [1] })
    assert.deepEqual(mergeUsage({ tier: 'flex' }, { tier: 'default' }), { tier: 'default' })
    assert.deepEqual(mergeUsage(undefined, totals), totals)
  })

  test('Every name of cache reads and writes counts, as a total or in the details', () => {
    const reads = ['cached_tokens', 'prompt_cache_hit_tokens', 'cache_read_input_tokens']
    const writes = ['cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens']
    for (const [names, expected] of [
      [reads, priced],
      [writes, written],
    ] as const) {
      for (const name of names) {
        assert.deepEqual(parseUsage({ ...totals, [name]: 400 }), expected, name)
        assert.deepEqual(parseUsage({ ...totals, prompt_tokens_details: { [name]: 400 } }), expected, name)
        const details = { input_tokens: 1000, output_tokens: 50, input_tokens_details: { [name]: 400 } }
        assert.deepEqual(parseResponsesUsage({ usage: details }), expected, name)
      }
    }
  })

  test('A zero hides no other name, and lifetimes of the cache count by themselves', () => {
    const zero = { prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } }
    assert.deepEqual(parseUsage({ ...totals, ...zero, prompt_cache_hit_tokens: 400 }), priced)
    assert.deepEqual(parseUsage({ ...totals, ...zero, cache_creation_input_tokens: 400 }), written)
    const lifetimes = { cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 100 } }
    assert.deepEqual(parseUsage({ ...totals, prompt_tokens_details: lifetimes }), {
      ...written,
      cacheWrite1h: 100,
    })
    const anthropic = { input_tokens: 600, output_tokens: 50, cache_creation_input_tokens: 0, ...lifetimes }
    assert.deepEqual(parseAnthropicUsage(anthropic), { ...written, cacheWrite1h: 100 })
  })

  test('Counts that are written as strings are read', () => {
    const text = {
      prompt_tokens: '1000',
      completion_tokens: '50',
      prompt_tokens_details: { cached_tokens: '400' },
    }
    assert.deepEqual(parseUsage(text), priced)
    assert.equal(parseUsage({ prompt_tokens: 'many', completion_tokens: 50 }), null)
    assert.deepEqual(
      parseAnthropicUsage({ input_tokens: '600', output_tokens: '50', cache_read_input_tokens: '400' }),
      priced,
    )
  })

  test('The usage is found in the last choice, and where Groq has it', () => {
    const usage = { ...totals, cached_tokens: 400 }
    assert.deepEqual(parseUsageOf({ choices: [{ index: 0 }, { index: 1, usage }] }), priced)
    assert.deepEqual(parseUsageOf({ choices: [], x_groq: { usage } }), priced)
    assert.deepEqual(parseUsageOf({ usage: null, choices: [{ usage }] }), priced)
    assert.equal(parseUsageOf({ choices: [{}] }), null)
  })

  test('A prompt of zero tokens is read from the total', () => {
    assert.equal(parseUsage({ ...totals, prompt_tokens: 0 })?.input, 1000)
    assert.equal(parseUsage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })?.input, 0)
  })
})
