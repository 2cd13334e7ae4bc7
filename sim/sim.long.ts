import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { runSeeds } from './seeds.ts'

test('two million seeds break no promise', async (t) => {
  const outcome = await runSeeds({ from: 1, count: 2_000_000, threads: availableParallelism(), bug: null })
  t.diagnostic(`${outcome.seeds} seeds, ${outcome.steps} steps`)
  assert.deepEqual(outcome.first, [])
})
