/** Many seeds, on several threads. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Bug } from './bugs.ts'
import { World } from './simulation.ts'

export interface Range {
  readonly from: number
  readonly count: number
  readonly bug: Bug | null
}

export interface Outcome {
  readonly seeds: number
  readonly steps: number
  readonly broken: number
  /** The first few that broke, and how. */
  readonly first: readonly { readonly seed: number; readonly words: string }[]
}

const toldMost = 5

/** Runs seeds one after the other, in this thread. */
export function runRange({ from, count, bug }: Range): Outcome {
  let steps = 0
  let broken = 0
  const first: { seed: number; words: string }[] = []
  for (let seed = from; seed < from + count; seed += 1) {
    const world = new World(seed, bug)
    try {
      world.run()
    } catch (error) {
      broken += 1
      const words = error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error)
      if (first.length < toldMost) first.push({ seed, words })
    }
    steps += world.steps
  }
  return { seeds: count, steps, broken, first }
}

function inThread(range: Range): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
  const worker = new Worker(new URL(import.meta.url), { workerData: range })
  worker.on('message', resolve)
  worker.on('error', reject)
  return promise
}

/** Divides the seeds among threads. */
export async function runSeeds({
  threads,
  ...range
}: Range & { readonly threads: number }): Promise<Outcome> {
  const share = Math.ceil(range.count / threads)
  const ranges: Range[] = []
  for (let done = 0; done < range.count; done += share) {
    ranges.push({ ...range, from: range.from + done, count: Math.min(share, range.count - done) })
  }
  const outcomes = await Promise.all(ranges.map(inThread))
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, each) => total + of(each), 0)
  return {
    seeds: sum(({ seeds }) => seeds),
    steps: sum(({ steps }) => steps),
    broken: sum(({ broken }) => broken),
    first: outcomes.flatMap(({ first }) => first).slice(0, toldMost),
  }
}

if (!isMainThread && parentPort) parentPort.postMessage(runRange(workerData as Range))
