/**
 * `node sim/run.ts --seeds N [--from S] [--bug '…']` runs the simulation with N seeds on all cores and prints
 * the first seeds that violate an invariant. `--from S --seeds 1` repeats a single seed.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { bugs } from './bugs.ts'
import { runSeeds } from './seeds.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '1' },
    bug: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
  },
})
const bug = bugs.find((each) => each === values.bug) ?? null
if (values.bug !== undefined && bug === null) throw new Error(`--bug must be one of: ${bugs.join(', ')}`)

const startedAt = performance.now()
const results = await runSeeds({
  from: Number(values.from),
  count: Number(values.seeds),
  threads: Number(values.threads),
  bug,
})
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${results.seeds} seeds, ${results.steps} steps, ${results.failures} failed, ${seconds} s`)
for (const { seed, message } of results.firstFailures) console.log(`seed ${seed}: ${message}`)
process.exitCode = results.failures > 0 ? 1 : 0
