/** A process that has loaded the project and runs tests for one mutant after the other. child-pool.ts starts it. */
import fastCheck from 'fast-check'

import { startCoverage, stopCoverage, takeCoverage } from './coverage.ts'
import type { Mutant } from './mutate.ts'
import { urlOfNextLoad } from './mutated-imports.ts'
import { runTestFile } from './run-test-file.ts'

/** What the parent asks for. */
export type Task =
  /** Runs a test file without a change, and says which of the mutants it executes. */
  | {
      readonly kind: 'measure'
      readonly file: string
      readonly reached: readonly string[]
      readonly mutants: readonly Mutant[]
    }
  /** Runs the test file with a mutant. */
  | {
      readonly kind: 'test'
      readonly file: string
      readonly reached: readonly string[]
      readonly mutant: Mutant
      readonly tests: number
    }

export interface TaskResult {
  /** The first failure; null: all tests passed. */
  readonly failure: string | null
  readonly durationMs: number
  readonly cpuMs: number
  readonly tests: number
  /** Of `measure`: the indexes of the mutants whose code ran. */
  readonly covered: readonly number[]
  readonly rssBytes: number
}

async function run(task: Task): Promise<TaskResult> {
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const mutant = task.kind === 'test' ? task.mutant : undefined
  const url = urlOfNextLoad(task.file, { mutant, reached: new Set(task.reached) })
  if (task.kind === 'measure') startCoverage()
  const { ended, failure } = await runTestFile(url)
  const durationMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuBefore)
  const covered = task.kind === 'measure' ? coveredOf(task.mutants, url) : []
  const isShort = task.kind === 'test' && ended < task.tests
  return {
    failure: failure ?? (isShort ? `${task.tests - ended} tests did not run` : null),
    durationMs,
    cpuMs: (user + system) / 1000,
    tests: ended,
    covered,
    rssBytes: process.memoryUsage.rss(),
  }
}

function coveredOf(mutants: readonly Mutant[], url: string): number[] {
  const scripts = takeCoverage()
  stopCoverage()
  const load = url.slice(url.indexOf('?'))
  return mutants.flatMap(({ file, start }, index) => {
    const path = `/${file}${load}`
    const script = scripts.entries().find(([each]) => each.endsWith(path))
    return script?.[1](start) ? [index] : []
  })
}

// Shrinking a failure is for people.
fastCheck.configureGlobal({ endOnFailure: true })
// The tests talk to the terminal; the results go over the channel.
process.on('message', (task: Task) => {
  void run(task).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
