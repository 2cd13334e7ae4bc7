import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  burnRules,
  failureThreshold,
  isBurning,
  evaluateFailing,
  evaluateHealthy,
  type RecentOutcomeCounts,
} from './objective-evaluation.ts'

const options = { windowMs: 60_000, minFailures: 5, recoveryMs: 30_000, objective: 0.999 }
const now = 100 * 60_000

/** The outcomes of requests that ended at these times. */
function outcomesAt(answered: readonly number[], failed: readonly number[]): RecentOutcomeCounts {
  const count = (ends: readonly number[], from: number): number => ends.filter((at) => at > from).length
  return {
    since: (from) => ({ answered: count(answered, from), failed: count(failed, from) }),
    lastFailure: failed.length === 0 ? null : Math.max(...failed),
  }
}

/** Times distributed evenly between `from` and `to` seconds ago. */
function moments(count: number, from: number, to: number): number[] {
  return Array.from({ length: count }, (_, index) => now - (from - ((from - to) * index) / count) * 1000)
}

describe('objective evaluation', () => {
  test('evaluateHealthy – ignores a single failure, but not one that exceeds the budget', () => {
    const many = moments(2000, 60, 1)
    const evaluateHealthyModel = (past: RecentOutcomeCounts) =>
      evaluateHealthy(past, options, { now, since: 0 })
    assert.deepEqual(evaluateHealthyModel(outcomesAt(many, moments(6, 60, 1))), { kind: 'unchanged' })
    assert.deepEqual(evaluateHealthyModel(outcomesAt(many, moments(40, 10, 1))), {
      kind: 'failing',
      severity: 'minor',
    })
    assert.deepEqual(evaluateHealthyModel(outcomesAt([], moments(4, 10, 1))), { kind: 'unchanged' })
    assert.deepEqual(evaluateHealthyModel(outcomesAt([], moments(5, 10, 1))), {
      kind: 'failing',
      severity: 'critical',
    })
  })

  test('evaluateHealthy – uses ten windows with little traffic; ignores earlier incidents', () => {
    const rare = outcomesAt([], moments(6, 590, 10))
    assert.equal(evaluateHealthy(rare, options, { now, since: 0 }).kind, 'failing')
    assert.equal(evaluateHealthy(rare, options, { now, since: now - 200_000 }).kind, 'unchanged')
  })

  test('evaluateFailing – recovers once the objective was met for the recovery time', () => {
    const evaluateFailingModel = (past: RecentOutcomeCounts, since = now - 300_000) =>
      evaluateFailing(past, options, { now, since }).kind
    assert.equal(evaluateFailingModel(outcomesAt(moments(10, 25, 1), moments(50, 200, 40))), 'recovered')
    assert.equal(evaluateFailingModel(outcomesAt(moments(10, 5, 1), moments(50, 200, 6))), 'failing')
    assert.equal(
      evaluateFailingModel(outcomesAt(moments(10, 25, 1), []), now - 10_000),
      'unchanged',
      'too early to say',
    )
    assert.equal(
      evaluateFailingModel(outcomesAt([], moments(50, 200, 40))),
      'unchanged',
      'no requests prove nothing',
    )
    assert.equal(
      evaluateFailingModel(outcomesAt([now - 50_000], moments(50, 200, 60))),
      'recovered',
      'one success after the last failure',
    )
    assert.equal(evaluateFailingModel(outcomesAt([], []), now - 26 * 60_000), 'quiet')
  })

  test('failureThreshold – is never below the objective’s error budget', () => {
    for (const objective of [0.5, 0.9, 0.99, 0.999, 0.9999]) {
      assert.ok(failureThreshold(objective) >= 1 - objective - 1e-12, String(objective))
      assert.ok(failureThreshold(objective) <= 0.5, String(objective))
    }
  })

  test('isBurning – requires the rate in the long window and still in the short one', () => {
    const [fast] = burnRules
    assert.ok(fast)
    const bounds = { objective: 0.999, minFailures: 5 }
    const hot = { answered: 980, failed: 20 }
    const cold = { answered: 1000, failed: 0 }
    assert.equal(isBurning({ long: hot, short: hot }, fast, bounds), true)
    assert.equal(isBurning({ long: hot, short: cold }, fast, bounds), false)
    assert.equal(isBurning({ long: cold, short: hot }, fast, bounds), false)
    assert.equal(isBurning({ long: { answered: 0, failed: 4 }, short: hot }, fast, bounds), false)
  })
})
