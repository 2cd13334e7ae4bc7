import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { RateLimiter, type RateLimitSubject, type RateLimits } from './rate-limiter.ts'

const none: RateLimits = { rpm: null, tpm: null, concurrency: null }
const start = 1_790_000_000_000

function subjectsWith(account: Partial<RateLimits>, key: Partial<RateLimits> = {}): RateLimitSubject[] {
  return [
    { subject: 'account:a', limits: { ...none, ...account } },
    { subject: 'key:k', limits: { ...none, ...key } },
  ]
}

describe('RateLimiter', () => {
  test('reserve – admits exactly 60 of 200 calls under 60 rpm, and 60 more a minute later', () => {
    const limiter = new RateLimiter()
    const limits = subjectsWith({ rpm: 60 })
    const attempt = (from: number, now: number): number => {
      let admitted = 0
      for (let index = 0; index < 200; index += 1) {
        if (limiter.reserve(`${from}-${index}`, limits, 1, now) === null) admitted += 1
      }
      return admitted
    }
    assert.equal(attempt(0, start + 500), 60)
    const denial = limiter.reserve('more', limits, 1, start + 500)
    assert.deepEqual(denial, {
      subject: 'account:a',
      rate: 'requests per minute',
      limit: 60,
      retryAfterMs: 60_500,
    })
    assert.equal(attempt(1, start + 500 + 60_500 - 1), 0)
    assert.equal(attempt(2, start + 500 + 60_500), 60)
  })

  test('reserve – a call denied by one limit consumes no other', () => {
    const all: RateLimitSubject[][] = [
      subjectsWith({ rpm: 100, tpm: 1000, concurrency: 10 }, { rpm: 0 }),
      subjectsWith({ rpm: 100, tpm: 1000, concurrency: 10 }, { tpm: 5 }),
      subjectsWith({ rpm: 100, tpm: 1000, concurrency: 10 }, { concurrency: 0 }),
      subjectsWith({ rpm: 100, tpm: 5, concurrency: 10 }, { rpm: 10 }),
      subjectsWith({ rpm: 100, tpm: 1000, concurrency: 0 }, { rpm: 10 }),
    ]
    for (const each of all) {
      const limiter = new RateLimiter()
      assert.ok(limiter.reserve('r', each, 10, start))
      const wide = subjectsWith({ rpm: 100, tpm: 1000 }, { rpm: 100, tpm: 1000 })
      const { remainingRequests, remainingTokens } = limiter.status(wide, start)
      assert.deepEqual([remainingRequests, remainingTokens], [100, 1000])
      limiter.finish('r', 10, start)
      limiter.cancel('r')
    }
  })

  test('reserve – returns the longest wait of several denials, and none if it never fits', () => {
    const limiter = new RateLimiter()
    const limits = subjectsWith({ rpm: 1, concurrency: 1 }, { tpm: 100 })
    limiter.reserve('a', limits, 60, start)
    assert.partialDeepStrictEqual(limiter.reserve('b', limits, 60, start + 30_000), {
      rate: 'requests per minute',
      retryAfterMs: 31_000,
    })
    assert.partialDeepStrictEqual(limiter.reserve('b', limits, 101, start + 30_000), {
      rate: 'tokens per minute',
      retryAfterMs: null,
    })
  })

  test('finish – corrects the estimated tokens by the actual ones', () => {
    const limiter = new RateLimiter()
    const limits = subjectsWith({ tpm: 1000 })
    const left = (now: number) => limiter.status(limits, now).remainingTokens
    limiter.reserve('small', limits, 400, start)
    assert.equal(left(start), 600)
    limiter.finish('small', 100, start + 1000)
    assert.equal(left(start + 1000), 900)
    limiter.reserve('large', limits, 400, start + 1000)
    limiter.finish('large', 5000, start + 90_000)
    assert.equal(left(start + 90_000), 0, 'a surplus counts from the end of the request')
    assert.ok(limiter.reserve('next', limits, 1, start + 91_000))
    assert.equal(left(start + 90_000 + 61_000), 1000)
  })

  test('cancel – gives everything back', () => {
    const limiter = new RateLimiter()
    const limits = subjectsWith({ rpm: 1, tpm: 100, concurrency: 1 })
    for (let index = 0; index < 5; index += 1) {
      assert.equal(limiter.reserve(`r${index}`, limits, 100, start), null)
      limiter.cancel(`r${index}`)
    }
  })

  test('reserve – a request reserved twice takes one slot, which its end frees', () => {
    const limiter = new RateLimiter()
    const limits = subjectsWith({ concurrency: 1 })
    limiter.reserve('r', limits, 1, start)
    limiter.reserve('r', limits, 1, start)
    limiter.finish('r', null, start)
    limiter.finish('r', null, start)
    assert.equal(limiter.reserve('next', limits, 1, start), null)
    assert.ok(limiter.reserve('another', limits, 1, start))
  })

  test('random operations – leak no slot and exceed no window (100,000 operations)', () => {
    const operation = fc.record({
      what: fc.constantFrom('reserve', 'reserve', 'finish', 'cancel', 'sweep'),
      id: fc.nat(30).map(String),
      pass: fc.oneof(fc.constant(0), fc.nat(2000), fc.nat(70_000)),
      tokens: fc.nat(300),
    })
    fc.assert(
      fc.property(fc.array(operation, { minLength: 100, maxLength: 100, size: 'max' }), (operations) => {
        const limiter = new RateLimiter()
        const limits = subjectsWith({ rpm: 20, tpm: 2000, concurrency: 5 }, { rpm: 10, concurrency: 3 })
        const running = new Map<string, number>()
        const admitted: { at: number; tokens: number }[] = []
        let now = start
        for (const { what, id, pass, tokens } of operations) {
          now += pass
          if (what === 'reserve' && !running.has(id)) {
            const recent = admitted.filter((each) => Math.floor(each.at / 1000) > Math.floor(now / 1000) - 61)
            const used = recent.reduce((sum, each) => sum + each.tokens, 0)
            const fits = recent.length < 10 && used + tokens <= 2000 && running.size < 3
            assert.equal(limiter.reserve(id, limits, tokens, now) === null, fits)
            if (!fits) continue
            running.set(id, admitted.length)
            admitted.push({ at: now, tokens })
          } else if (what === 'finish') {
            limiter.finish(id, null, now)
            running.delete(id)
          } else if (what === 'cancel') {
            limiter.cancel(id)
            const index = running.get(id)
            if (index !== undefined) admitted[index] = { at: 0, tokens: 0 }
            running.delete(id)
          } else limiter.sweep(now)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('restore and sweep – count requests before a restart, and remove idle subjects', () => {
    const limiter = new RateLimiter()
    const limits = subjectsWith({ rpm: 2, tpm: 100 })
    limiter.restore(['account:a', 'key:k'], start - 30_000, 60)
    limiter.restore(['account:a', 'key:k'], start - 70_000, 60)
    assert.partialDeepStrictEqual(limiter.status(limits, start), {
      remainingRequests: 1,
      remainingTokens: 40,
    })
    limiter.reserve('r', limits, 1, start)
    limiter.sweep(start + 120_000)
    assert.equal(limiter.size, 2, 'a running request keeps its subjects')
    limiter.finish('r', 1, start + 120_000)
    limiter.sweep(start + 200_000)
    assert.equal(limiter.size, 0)
  })
})
