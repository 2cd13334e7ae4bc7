import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Rates, type Claim, type RateLimits } from './rate-limiter.ts'

const none: RateLimits = { rpm: null, tpm: null, concurrency: null }
const start = 1_790_000_000_000

function claims(account: Partial<RateLimits>, key: Partial<RateLimits> = {}): Claim[] {
  return [
    { subject: 'account:a', limits: { ...none, ...account } },
    { subject: 'key:k', limits: { ...none, ...key } },
  ]
}

test('of 200 calls at once under 60 a minute exactly 60 are admitted, and the next 60 a minute later', () => {
  const rates = new Rates()
  const limits = claims({ rpm: 60 })
  const attempt = (from: number, now: number): number => {
    let admitted = 0
    for (let index = 0; index < 200; index += 1) {
      if (rates.reserve(`${from}-${index}`, limits, 1, now) === null) admitted += 1
    }
    return admitted
  }
  assert.equal(attempt(0, start + 500), 60)
  const denial = rates.reserve('more', limits, 1, start + 500)
  assert.deepEqual(denial, {
    subject: 'account:a',
    rate: 'requests per minute',
    limit: 60,
    retryAfterMs: 60_500,
  })
  assert.equal(attempt(1, start + 500 + 60_500 - 1), 0)
  assert.equal(attempt(2, start + 500 + 60_500), 60)
})

test('refused by one window, a call has consumed no other, of the account or the key', () => {
  const all: Claim[][] = [
    claims({ rpm: 100, tpm: 1000, concurrency: 10 }, { rpm: 0 }),
    claims({ rpm: 100, tpm: 1000, concurrency: 10 }, { tpm: 5 }),
    claims({ rpm: 100, tpm: 1000, concurrency: 10 }, { concurrency: 0 }),
    claims({ rpm: 100, tpm: 5, concurrency: 10 }, { rpm: 10 }),
    claims({ rpm: 100, tpm: 1000, concurrency: 0 }, { rpm: 10 }),
  ]
  for (const each of all) {
    const rates = new Rates()
    assert.ok(rates.reserve('r', each, 10, start))
    const wide = claims({ rpm: 100, tpm: 1000 }, { rpm: 100, tpm: 1000 })
    const { remainingRequests, remainingTokens } = rates.status(wide, start)
    assert.deepEqual([remainingRequests, remainingTokens], [100, 1000])
    rates.finish('r', 10, start)
    rates.giveBack('r')
  }
})

test('of several limits in the way the longest wait is told, and no wait for what never fits', () => {
  const rates = new Rates()
  const limits = claims({ rpm: 1, concurrency: 1 }, { tpm: 100 })
  rates.reserve('a', limits, 60, start)
  assert.partialDeepStrictEqual(rates.reserve('b', limits, 60, start + 30_000), {
    rate: 'requests per minute',
    retryAfterMs: 31_000,
  })
  assert.partialDeepStrictEqual(rates.reserve('b', limits, 101, start + 30_000), {
    rate: 'tokens per minute',
    retryAfterMs: null,
  })
})

test('tokens are reserved as estimated and corrected by what they were', () => {
  const rates = new Rates()
  const limits = claims({ tpm: 1000 })
  const left = (now: number) => rates.status(limits, now).remainingTokens
  rates.reserve('small', limits, 400, start)
  assert.equal(left(start), 600)
  rates.finish('small', 100, start + 1000)
  assert.equal(left(start + 1000), 900)
  rates.reserve('large', limits, 400, start + 1000)
  rates.finish('large', 5000, start + 90_000)
  assert.equal(left(start + 90_000), 0, 'a surplus counts from when it is known')
  assert.ok(rates.reserve('next', limits, 1, start + 91_000))
  assert.equal(left(start + 90_000 + 61_000), 1000)
})

test('a ledger’s no gives everything back', () => {
  const rates = new Rates()
  const limits = claims({ rpm: 1, tpm: 100, concurrency: 1 })
  for (let index = 0; index < 5; index += 1) {
    assert.equal(rates.reserve(`r${index}`, limits, 100, start), null)
    rates.giveBack(`r${index}`)
  }
})

test('a request that comes twice takes one slot, and its end frees it', () => {
  const rates = new Rates()
  const limits = claims({ concurrency: 1 })
  rates.reserve('r', limits, 1, start)
  rates.reserve('r', limits, 1, start)
  rates.finish('r', null, start)
  rates.finish('r', null, start)
  assert.equal(rates.reserve('next', limits, 1, start), null)
  assert.ok(rates.reserve('beside', limits, 1, start))
})

test('no slot leaks and no window is exceeded over 100,000 random operations', () => {
  const operation = fc.record({
    what: fc.constantFrom('reserve', 'reserve', 'finish', 'give back', 'sweep'),
    id: fc.nat(30).map(String),
    pass: fc.oneof(fc.constant(0), fc.nat(2000), fc.nat(70_000)),
    tokens: fc.nat(300),
  })
  fc.assert(
    fc.property(fc.array(operation, { minLength: 100, maxLength: 100, size: 'max' }), (operations) => {
      const rates = new Rates()
      const limits = claims({ rpm: 20, tpm: 2000, concurrency: 5 }, { rpm: 10, concurrency: 3 })
      const running = new Map<string, number>()
      const admitted: { at: number; tokens: number }[] = []
      let now = start
      for (const { what, id, pass, tokens } of operations) {
        now += pass
        if (what === 'reserve' && !running.has(id)) {
          const recent = admitted.filter((each) => Math.floor(each.at / 1000) > Math.floor(now / 1000) - 61)
          const used = recent.reduce((sum, each) => sum + each.tokens, 0)
          const fits = recent.length < 10 && used + tokens <= 2000 && running.size < 3
          assert.equal(rates.reserve(id, limits, tokens, now) === null, fits)
          if (!fits) continue
          running.set(id, admitted.length)
          admitted.push({ at: now, tokens })
        } else if (what === 'finish') {
          rates.finish(id, null, now)
          running.delete(id)
        } else if (what === 'give back') {
          rates.giveBack(id)
          const index = running.get(id)
          if (index !== undefined) admitted[index] = { at: 0, tokens: 0 }
          running.delete(id)
        } else rates.sweep(now)
      }
    }),
    { numRuns: 1000 },
  )
})

test('what was admitted before a restart is remembered, and who is quiet is forgotten', () => {
  const rates = new Rates()
  const limits = claims({ rpm: 2, tpm: 100 })
  rates.remember(['account:a', 'key:k'], start - 30_000, 60)
  rates.remember(['account:a', 'key:k'], start - 70_000, 60)
  assert.partialDeepStrictEqual(rates.status(limits, start), { remainingRequests: 1, remainingTokens: 40 })
  rates.reserve('r', limits, 1, start)
  rates.sweep(start + 120_000)
  assert.equal(rates.size, 2, 'a running request keeps its subjects')
  rates.finish('r', 1, start + 120_000)
  rates.sweep(start + 200_000)
  assert.equal(rates.size, 0)
})
