import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SlidingWindow } from './sliding-window.ts'

/** A reference implementation that keeps every event with its second. */
class ReferenceWindow {
  #events: { second: number; amount: number }[] = []

  add(second: number, amount: number): void {
    this.#events.push({ second, amount })
  }

  used(second: number): number {
    const inside = this.#events.filter((event) => event.second > second - 61 && event.second <= second)
    return inside.reduce((sum, event) => sum + event.amount, 0)
  }

  secondsUntil(second: number, amount: number, limit: number): number {
    if (amount > limit) return Infinity
    let wait = 0
    while (this.used(second) - this.#leaving(second, wait) + amount > limit) wait += 1
    return wait
  }

  #leaving(second: number, wait: number): number {
    const left = this.#events.filter(
      (event) => event.second > second - 61 && event.second <= second - 61 + wait,
    )
    return left.reduce((sum, event) => sum + event.amount, 0)
  }
}

describe('SlidingWindow', () => {
  test('random operations – equal a reference window (100,000 operations)', () => {
    const operation = fc.record({
      pass: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(90)),
      amount: fc.nat(20),
      what: fc.constantFrom('add', 'add', 'take back', 'ask', 'wait'),
    })
    const runs = fc.array(operation, { minLength: 100, maxLength: 100, size: 'max' })
    fc.assert(
      fc.property(runs, (operations) => {
        const window = new SlidingWindow()
        const reference = new ReferenceWindow()
        let second = 1_790_000_000
        let last = { second, amount: 0 }
        for (const { pass, amount, what } of operations) {
          second += pass
          if (what === 'add') {
            window.add(second, amount)
            reference.add(second, amount)
            last = { second, amount }
          } else if (what === 'take back') {
            window.add(last.second, -last.amount)
            reference.add(last.second, -last.amount)
            last = { second, amount: 0 }
          } else if (what === 'ask') assert.equal(window.used(second), reference.used(second))
          else
            assert.equal(
              window.secondsUntilFits(second, amount, 50),
              reference.secondsUntil(second, amount, 50),
            )
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('limit – is never exceeded in any 60 s, to the millisecond', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(4000), { minLength: 200, maxLength: 400, size: 'max' }), (pauses) => {
        const window = new SlidingWindow()
        const admitted: number[] = []
        let now = 1_790_000_000_123
        for (const pause of pauses) {
          now += pause
          const second = Math.floor(now / 1000)
          if (window.secondsUntilFits(second, 1, 10) > 0) continue
          window.add(second, 1)
          admitted.push(now)
        }
        for (const [index, at] of admitted.entries()) {
          assert.ok((admitted[index + 10] ?? Infinity) - at >= 60_000)
        }
        assert.ok(admitted.length >= 10)
      }),
      { numRuns: 50 },
    )
  })

  test('secondsUntilFits – is exact: a second less is too early', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(90), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 30 }),
        (passes, limit) => {
          const window = new SlidingWindow()
          let second = 1_790_000_000
          for (const pass of passes) {
            second += pass
            const wait = window.secondsUntilFits(second, 1, limit)
            if (wait > 0) {
              assert.ok(window.secondsUntilFits(second + wait - 1, 1, limit) > 0)
              second += wait
              assert.equal(window.secondsUntilFits(second, 1, limit), 0)
            }
            window.add(second, 1)
          }
        },
      ),
    )
  })

  test('secondsUntilFits – is Infinity for an amount larger than the limit', () => {
    assert.equal(new SlidingWindow().secondsUntilFits(1_790_000_000, 11, 10), Infinity)
  })
})
