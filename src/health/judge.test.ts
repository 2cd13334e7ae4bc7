import assert from 'node:assert/strict'
import { test } from 'node:test'
import { burnRules, failingShare, isBurning, judgeIll, judgeWell, type Past } from './judge.ts'

const terms = { windowMs: 60_000, minimum: 5, recoveryMs: 30_000, objective: 0.999 }
const now = 100 * 60_000

/** Moments at which requests ended. */
function pastOf(answered: readonly number[], failed: readonly number[]): Past {
  const count = (ends: readonly number[], from: number): number => ends.filter((at) => at > from).length
  return {
    since: (from) => ({ answered: count(answered, from), failed: count(failed, from) }),
    lastFailure: failed.length === 0 ? null : Math.max(...failed),
  }
}

/** So many moments, evenly from `from` to `to` seconds ago. */
function moments(count: number, from: number, to: number): number[] {
  return Array.from({ length: count }, (_, index) => now - (from - ((from - to) * index) / count) * 1000)
}

test('a stray failure among many opens nothing, a share that eats the budget does', () => {
  const many = moments(2000, 60, 1)
  const well = (past: Past) => judgeWell(past, terms, { now, since: 0 })
  assert.deepEqual(well(pastOf(many, moments(6, 60, 1))), { kind: 'unchanged' })
  assert.deepEqual(well(pastOf(many, moments(40, 10, 1))), { kind: 'failing', severity: 'minor' })
  assert.deepEqual(well(pastOf([], moments(4, 10, 1))), { kind: 'unchanged' })
  assert.deepEqual(well(pastOf([], moments(5, 10, 1))), { kind: 'failing', severity: 'critical' })
})

test('with little traffic an outage shows in ten windows, and what an incident has told of opens no second', () => {
  const rare = pastOf([], moments(6, 590, 10))
  assert.equal(judgeWell(rare, terms, { now, since: 0 }).kind, 'failing')
  assert.equal(judgeWell(rare, terms, { now, since: now - 200_000 }).kind, 'unchanged')
})

test('a model is well again when it answers and has not fallen short for the time of recovery', () => {
  const ill = (past: Past, since = now - 300_000) => judgeIll(past, terms, { now, since }).kind
  assert.equal(ill(pastOf(moments(10, 25, 1), moments(50, 200, 40))), 'recovered')
  assert.equal(ill(pastOf(moments(10, 5, 1), moments(50, 200, 6))), 'failing')
  assert.equal(ill(pastOf(moments(10, 25, 1), []), now - 10_000), 'unchanged', 'too early to say')
  assert.equal(ill(pastOf([], moments(50, 200, 40))), 'unchanged', 'silence proves nothing')
  assert.equal(
    ill(pastOf([now - 50_000], moments(50, 200, 60))),
    'recovered',
    'one answer after the last failure',
  )
  assert.equal(ill(pastOf([], []), now - 26 * 60_000), 'quiet')
})

test('the share that counts as failing is never below the objective’s own', () => {
  for (const objective of [0.5, 0.9, 0.99, 0.999, 0.9999]) {
    assert.ok(failingShare(objective) >= 1 - objective - 1e-12, String(objective))
    assert.ok(failingShare(objective) <= 0.5, String(objective))
  }
})

test('a budget burns when the long window says so and the short one still does', () => {
  const [fast] = burnRules
  assert.ok(fast)
  const bounds = { objective: 0.999, minimum: 5 }
  const hot = { answered: 980, failed: 20 }
  const cold = { answered: 1000, failed: 0 }
  assert.equal(isBurning({ long: hot, short: hot }, fast, bounds), true)
  assert.equal(isBurning({ long: hot, short: cold }, fast, bounds), false)
  assert.equal(isBurning({ long: cold, short: hot }, fast, bounds), false)
  assert.equal(isBurning({ long: { answered: 0, failed: 4 }, short: hot }, fast, bounds), false)
})
