import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RetryBudget } from './retry-budget.ts'

function takeAll(budget: RetryBudget, now: number): number {
  let taken = 0
  while (budget.tryTake(now)) taken += 1
  return taken
}

describe('RetryBudget', () => {
  test('idle node – ten retries per second', () => {
    const budget = new RetryBudget()
    assert.equal(takeAll(budget, 1_000_000), 300, 'for thirty seconds')
    assert.equal(takeAll(budget, 1_015_000), 0)
    assert.equal(takeAll(budget, 1_030_000), 300)
    assert.deepEqual([budget.granted, budget.denied], [600, 3])
  })

  test('busy node – a fifth of its requests', () => {
    const budget = new RetryBudget()
    for (let count = 0; count < 10_000; count += 1) budget.recordRequest(1_000_000 + count)
    assert.equal(takeAll(budget, 1_010_000), 2000)
  })
})
