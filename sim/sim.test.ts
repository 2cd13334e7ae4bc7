import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { bugs } from './bugs.ts'
import { runRange, runSeeds } from './seeds.ts'

const seeds = 20_000

test(`${seeds} seeds: crashes, late, lost and repeated messages, clock jumps and period ends break no promise`, async (t) => {
  const startedAt = performance.now()
  const outcome = await runSeeds({ from: 1, count: seeds, threads: availableParallelism(), bug: null })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  t.diagnostic(`${outcome.seeds} seeds, ${outcome.steps} steps, ${seconds} s`)
  assert.deepEqual(outcome.first, [])
  assert.equal(outcome.seeds, seeds)
})

test('the same seed gives the same run', () => {
  const range = { from: 1, count: 20, bug: 'told before durable' as const }
  assert.deepEqual(runRange(range), runRange(range))
})

for (const bug of bugs) {
  test(`the bug "${bug}", put in on purpose, is caught`, (t) => {
    const outcome = runRange({ from: 1, count: 400, bug })
    t.diagnostic(`caught in ${outcome.broken} of ${outcome.seeds} seeds: ${outcome.first[0]?.words ?? ''}`)
    assert.ok(outcome.broken > 0)
  })
}
