import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EarlyAborts } from './early-aborts.ts'

const hourMs = 3_600_000

describe('EarlyAborts', () => {
  test('count – as many as allowed are free in any 60 minutes, per account', () => {
    const aborts = new EarlyAborts(3)
    const times = [0, 10, 20, 30, hourMs - 1, hourMs + 20, hourMs + 30, hourMs * 2 + 19, hourMs * 2 + 20]
    const free = times.map((now) => aborts.count('a', { tokens: 1, now }))
    // All count, free or not: before each, at most two in the hour if it is free.
    const expected = times.map((now, index) => {
      const before = times.slice(0, index).filter((time) => now - time < hourMs)
      return before.length < 3
    })
    assert.deepEqual(free, expected)
    assert.deepEqual(free.slice(0, 4), [true, true, true, false])
    assert.ok(free.slice(4).includes(true))
    assert.equal(aborts.count('b', { tokens: 1, now: hourMs * 2 + 20 }), true)
  })

  test('Free ones have at most 200,000 tokens of input together in 60 minutes', () => {
    const aborts = new EarlyAborts(3)
    const free = [150_000, 50_000, 1].map((tokens, now) => aborts.count('a', { tokens, now }))
    assert.deepEqual(free, [true, true, false])
    assert.equal(aborts.count('a', { tokens: 149_999, now: hourMs }), true)
    assert.equal(aborts.count('b', { tokens: 200_001, now: 0 }), false)
  })

  test('count – with 0 none is free, and nothing is remembered', () => {
    const aborts = new EarlyAborts(0)
    assert.deepEqual(
      [aborts.count('a', { tokens: 1, now: 0 }), aborts.count('a', { tokens: 1, now: hourMs }), aborts.size],
      [false, false, 0],
    )
  })

  test('count – forgets accounts after an hour, and the oldest of too many', () => {
    const aborts = new EarlyAborts(1, 3)
    for (const account of ['a', 'b', 'c', 'd']) aborts.count(account, { tokens: 1, now: 1 })
    assert.equal(aborts.size, 3)
    assert.equal(aborts.count('d', { tokens: 1, now: 2 }), false)
    assert.equal(aborts.count('a', { tokens: 1, now: 2 }), true, 'was forgotten')
    aborts.count('e', { tokens: 1, now: 2 + hourMs })
    assert.equal(aborts.size, 1)
  })
})
