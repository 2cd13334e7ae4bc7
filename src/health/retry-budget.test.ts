import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetryBudget } from './retry-budget.ts'

function takeAll(budget: RetryBudget, now: number): number {
  let taken = 0
  while (budget.take(now)) taken += 1
  return taken
}

test('a quiet node may try again ten times a second', () => {
  const budget = new RetryBudget()
  assert.equal(takeAll(budget, 1_000_000), 300, 'for thirty seconds')
  assert.equal(takeAll(budget, 1_015_000), 0)
  assert.equal(takeAll(budget, 1_030_000), 300)
  assert.deepEqual([budget.granted, budget.denied], [600, 3])
})

test('a busy node may try a fifth of its requests again', () => {
  const budget = new RetryBudget()
  for (let count = 0; count < 10_000; count += 1) budget.request(1_000_000 + count)
  assert.equal(takeAll(budget, 1_010_000), 2000)
})
