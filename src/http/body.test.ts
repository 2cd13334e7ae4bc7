import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../errors.ts'
import { BodyBudget } from './body.ts'

const KiB = 1024
const MiB = 1024 * KiB
const small = 60 * KiB
const bounds = { bodyLimitBytes: 20 * MiB, bodiesLimitBytes: 256 * MiB }

/** The status of the rejection; 200: reserved. */
function tryReserve(budget: BodyBudget, account: string, bytes: number, bodyBytes = bytes): number {
  try {
    budget.reserve(account, bytes, bodyBytes)
    return 200
  } catch (error) {
    assert.ok(error instanceof ApiError)
    assert.equal(error.detail.retryAfterMs, 1000)
    return error.status
  }
}

/** Reserves large bodies of many accounts until none gets more. */
function fillWithLargeBodies(budget: BodyBudget): void {
  for (let account = 0; account < 20; account += 1)
    while (tryReserve(budget, `large-${account}`, MiB) === 200);
}

describe('body budget', () => {
  test('account – holds at most an eighth, and gets 429 with what to do beyond', () => {
    const budget = new BodyBudget(bounds)
    for (let held = 0; held < 32; held += 1) assert.equal(tryReserve(budget, 'a', MiB), 200)
    assert.equal(tryReserve(budget, 'a', 1), 429)
    assert.throws(() => budget.reserve('a', 1, 1), /33554432 bytes\. Wait until/)
    assert.equal(tryReserve(budget, 'b', MiB), 200)
    budget.release('a', MiB)
    assert.equal(tryReserve(budget, 'a', MiB), 200)
  })

  test('large bodies of many accounts – leave an eighth, in which every account gets small ones', () => {
    const budget = new BodyBudget(bounds)
    fillWithLargeBodies(budget)
    assert.equal(budget.heldBytes, 224 * MiB)
    assert.equal(tryReserve(budget, 'new', 1, MiB), 503)
    assert.equal(tryReserve(budget, 'large-0', small), 503)
    // One account alone cannot take the reserved part either.
    let taken = 0
    while (tryReserve(budget, 'greedy', small) === 200) taken += small
    assert.ok(taken > 3 * MiB && taken <= 4 * MiB, String(taken))
    for (const account of ['b', 'c', 'd']) assert.equal(tryReserve(budget, account, small), 200)
  })

  test('body of the maximum size – fits into any empty budget that is as large', () => {
    for (const bodiesLimitBytes of [20 * MiB, 21 * MiB, 64 * MiB, 160 * MiB, 1024 * MiB]) {
      const budget = new BodyBudget({ ...bounds, bodiesLimitBytes })
      assert.equal(tryReserve(budget, 'a', 20 * MiB), 200, String(bodiesLimitBytes))
    }
    assert.equal(tryReserve(new BodyBudget({ ...bounds, bodiesLimitBytes: 2 * MiB }), 'a', 3 * MiB), 503)
  })

  test('any reservations – never exceed the limit, and leave nothing when released', () => {
    const reservation = fc.record({
      account: fc.constantFrom('a', 'b', 'c'),
      bytes: fc.integer({ min: 0, max: 3000 }),
      bodyBytes: fc.constantFrom(1000, 100_000),
    })
    fc.assert(
      fc.property(fc.array(reservation), fc.integer({ min: 1, max: 20_000 }), (all, bodiesLimitBytes) => {
        const budget = new BodyBudget({ bodyLimitBytes: 3000, bodiesLimitBytes })
        const held = all.filter(
          ({ account, bytes, bodyBytes }) => tryReserve(budget, account, bytes, bodyBytes) === 200,
        )
        assert.ok(budget.heldBytes <= bodiesLimitBytes)
        assert.equal(
          budget.heldBytes,
          held.reduce((sum, { bytes }) => sum + bytes, 0),
        )
        for (const { account, bytes } of held) budget.release(account, bytes)
        assert.equal(budget.heldBytes, 0)
        assert.equal(tryReserve(budget, 'a', Math.min(3000, bodiesLimitBytes)), 200)
      }),
    )
  })
})
