/**
 * `node sim/run.ts --seeds N [--from S] [--bug '…']`: runs the simulated node from N seeds, on every core, and tells the
 * first seeds that break a promise. A seed that broke runs again alone with `--from S --seeds 1`.
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
if (values.bug !== undefined && bug === null) throw new Error(`--bug is one of: ${bugs.join(', ')}`)

const startedAt = performance.now()
const outcome = await runSeeds({
  from: Number(values.from),
  count: Number(values.seeds),
  threads: Number(values.threads),
  bug,
})
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${outcome.seeds} seeds, ${outcome.steps} steps, ${outcome.broken} broken, ${seconds} s`)
for (const { seed, words } of outcome.first) console.log(`seed ${seed}: ${words}`)
process.exitCode = outcome.broken > 0 ? 1 : 0
