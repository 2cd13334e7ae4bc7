import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LocalRateLimiter } from './local-rate-limiter.ts'
import { newSubjects } from './rate-limit-subjects.fixture.ts'

describe('LocalRateLimiter', () => {
  test('denial – names the whole limit, not the share of this node', async (t) => {
    const rates = new LocalRateLimiter(
      () => ({ nodes: 3, index: 2 }),
      () => 1_790_000_000_000,
    )
    t.after(() => rates.close())
    const subjects = newSubjects({ rpm: 62 })
    const denials = Array.from({ length: 21 }, (_, call) => rates.reserve(`call-${call}`, subjects, 1).denial)
    assert.deepEqual(new Set(denials.slice(0, 20)), new Set([null]))
    assert.partialDeepStrictEqual(denials[20], {
      rate: 'requests per minute',
      limit: 62,
      retryAfterMs: 61_000,
    })
    const slot = rates.reserve('slot', newSubjects({ concurrency: 1 }), 1).denial
    assert.partialDeepStrictEqual(slot, { rate: 'concurrent requests', limit: 1, retryAfterMs: 1000 })
    const tokens = newSubjects({}, { tpm: 90 })
    const large = { rate: 'tokens per minute', limit: 90 }
    assert.partialDeepStrictEqual(rates.reserve('90', tokens, 90).denial, { ...large, retryAfterMs: 61_000 })
    assert.partialDeepStrictEqual(rates.reserve('91', tokens, 91).denial, { ...large, retryAfterMs: null })
    const none = newSubjects({ rpm: 0 })
    assert.partialDeepStrictEqual(rates.reserve('none', none, 1).denial, { limit: 0, retryAfterMs: null })
  })
})
