import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, test } from 'node:test'
import { runSeeds } from './seeds.ts'

describe('money simulator', () => {
  test('two million seeds – violate no invariant', async (t) => {
    const results = await runSeeds({ from: 1, count: 2_000_000, threads: availableParallelism(), bug: null })
    t.diagnostic(`${results.seeds} seeds, ${results.steps} steps`)
    assert.deepEqual(results.firstFailures, [])
  })
})
