/** Runs many seeds on several threads. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Bug } from './bugs.ts'
import { Simulation } from './simulation.ts'

export interface SeedRange {
  readonly from: number
  readonly count: number
  readonly bug: Bug | null
}

export interface SeedResults {
  readonly seeds: number
  readonly steps: number
  readonly failures: number
  /** The first few failures. */
  readonly firstFailures: readonly { readonly seed: number; readonly message: string }[]
}

const maxReported = 5

/** Runs seeds one after the other in this thread. */
export function runRange({ from, count, bug }: SeedRange): SeedResults {
  let steps = 0
  let broken = 0
  const first: { seed: number; message: string }[] = []
  for (let seed = from; seed < from + count; seed += 1) {
    const simulation = new Simulation(seed, bug)
    try {
      simulation.run()
    } catch (error) {
      broken += 1
      const message = error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error)
      if (first.length < maxReported) first.push({ seed, message })
    }
    steps += simulation.steps
  }
  return { seeds: count, steps, failures: broken, firstFailures: first }
}

function runInThread(range: SeedRange): Promise<SeedResults> {
  const { promise, resolve, reject } = Promise.withResolvers<SeedResults>()
  const worker = new Worker(new URL(import.meta.url), { workerData: range })
  worker.on('message', resolve)
  worker.on('error', reject)
  return promise
}

/** Divides the seeds among threads. */
export async function runSeeds({
  threads,
  ...range
}: SeedRange & { readonly threads: number }): Promise<SeedResults> {
  const share = Math.ceil(range.count / threads)
  const ranges: SeedRange[] = []
  for (let done = 0; done < range.count; done += share) {
    ranges.push({ ...range, from: range.from + done, count: Math.min(share, range.count - done) })
  }
  const results = await Promise.all(ranges.map(runInThread))
  const sum = (of: (results: SeedResults) => number): number =>
    results.reduce((total, each) => total + of(each), 0)
  return {
    seeds: sum(({ seeds }) => seeds),
    steps: sum(({ steps }) => steps),
    failures: sum(({ failures }) => failures),
    firstFailures: results.flatMap(({ firstFailures }) => firstFailures).slice(0, maxReported),
  }
}

if (!isMainThread && parentPort) parentPort.postMessage(runRange(workerData as SeedRange))
