import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, test } from 'node:test'
import { bugs } from './bugs.ts'
import { trials } from '../test/support/runner/suite.ts'
import { runRange, runSeeds } from './seeds.ts'

const seeds = trials({ short: 1000, all: 20_000 })

describe('money simulator', () => {
  test(`${seeds} seeds – violate no invariant under crashes, lost and repeated messages, clock jumps`, async (t) => {
    const startedAt = performance.now()
    const results = await runSeeds({ from: 1, count: seeds, threads: availableParallelism(), bug: null })
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    t.diagnostic(`${results.seeds} seeds, ${results.steps} steps, ${seconds} s`)
    assert.deepEqual(results.firstFailures, [])
    assert.equal(results.seeds, seeds)
  })

  test('a seed – always gives the same run', () => {
    const range = { from: 1, count: 20, bug: 'confirmed before durable' as const }
    assert.deepEqual(runRange(range), runRange(range))
  })

  for (const bug of bugs) {
    test(`the injected bug "${bug}" – is caught`, (t) => {
      const results = runRange({ from: 1, count: 400, bug })
      t.diagnostic(
        `caught in ${results.failures} of ${results.seeds} seeds: ${results.firstFailures[0]?.message ?? ''}`,
      )
      assert.ok(results.failures > 0)
    })
  }
})
