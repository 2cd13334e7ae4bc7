/** Which tests find which mutants. */
import type { SourceFile } from '../support/source-files.ts'
import { forEach, type TestProcess } from './child-pool.ts'
import { ImportGraph } from './import-graph.ts'
import { moneyFiles } from './money-files.ts'
import type { Mutant } from './mutate.ts'

export interface Outcome {
  readonly mutant: Mutant
  /** The first failure, with the file of its test; null: the mutant survived. */
  readonly failure: string | null
  /** How many test files were run. None: no test executes the changed code. */
  readonly files: number
}

interface MeasuredFile {
  readonly file: string
  readonly durationMs: number
  readonly cpuMs: number
  readonly tests: number
}

export interface Trial {
  readonly mutants: readonly Mutant[]
  readonly sources: readonly SourceFile[]
  readonly processes: readonly TestProcess[]
  /** Milliseconds of `performance.now()`; what is not tried until then is left out. */
  readonly deadline: number
  readonly onOutcome: (outcome: Outcome) => void
  /** A test file was run without a change; `failure`: it fails, and is not used. */
  readonly onMeasured: (file: string, durationMs: number, failure: string | null) => void
  /** A mutant survives the tests of its own module; those of the others are next. */
  readonly onRemaining: (mutant: Mutant) => void
}

/** `src/ledger/caps.ts` → `src/ledger` */
const moduleOf = (file: string): string => file.split('/', 2).join('/')
const simulator = 'test/mutants/simulator-seeds.ts'
const measureTimeoutMs = 180_000
/** Of the time that is left, for the tests without a change. */
const measureShare = 0.4

class Trials {
  readonly #trial: Trial
  readonly #graph: ImportGraph
  readonly #importers = new Map<string, string[]>()
  readonly #moneyModules = new Set(moneyFiles().map(moduleOf))

  constructor(trial: Trial) {
    this.#trial = trial
    this.#graph = new ImportGraph(trial.sources)
  }

  #importersOf(file: string): string[] {
    const importers = this.#importers.get(file) ?? [...this.#graph.importersOf([file]).keys()]
    this.#importers.set(file, importers)
    return importers
  }

  /** The unit tests that reach the mutants, and what stands for the simulator, the nearest first. */
  #testsOf(reached: ReadonlyMap<string, number>, modules: ReadonlySet<string>): string[] {
    return [...reached]
      .filter(([file]) => (file === simulator || file.endsWith('.test.ts')) && modules.has(moduleOf(file)))
      .toSorted(([, a], [, b]) => a - b)
      .map(([file]) => file)
  }

  /** Which test files of these modules execute which mutants, the fastest first. */
  async #measure(
    mutants: readonly Mutant[],
    modules: ReadonlySet<string>,
  ): Promise<{ covering: ReadonlyMap<Mutant, readonly MeasuredFile[]>; isComplete: boolean }> {
    const { processes, deadline, onMeasured } = this.#trial
    const reached = this.#graph.importersOf([...new Set(mutants.map(({ file }) => file))])
    const covering = new Map<Mutant, MeasuredFile[]>(mutants.map((mutant) => [mutant, []]))
    const start = performance.now()
    const measureUntil = start + (deadline - start) * measureShare
    const measureFile = async (file: string, process: TestProcess): Promise<void> => {
      const task = { kind: 'measure', file, reached: [...reached.keys()], mutants } as const
      const { failure, durationMs, cpuMs, tests, covered } = await process.run(task, measureTimeoutMs)
      onMeasured(file, durationMs, failure)
      if (failure !== null) return
      for (const index of covered) {
        const mutant = mutants[index]
        if (mutant) covering.get(mutant)?.push({ file, durationMs, cpuMs, tests })
      }
    }
    const isOver = (): boolean => performance.now() > measureUntil
    const files = this.#testsOf(reached, modules)
    const measured = await forEach(files, processes, measureFile, isOver)
    for (const each of covering.values()) each.sort((a, b) => a.cpuMs - b.cpuMs)
    return { covering, isComplete: measured === files.length }
  }

  /** Tries the mutants against the tests of these modules. Those that survive all of them are the result. */
  async #tryIn(mutants: readonly Mutant[], modules: ReadonlySet<string>): Promise<Outcome[]> {
    const { processes, deadline, onOutcome } = this.#trial
    const { covering, isComplete } = await this.#measure(mutants, modules)
    const survivors: Outcome[] = []
    const tryMutant = async (mutant: Mutant, process: TestProcess): Promise<void> => {
      let files = 0
      for (const { file, durationMs, tests } of covering.get(mutant) ?? []) {
        files += 1
        const task = { kind: 'test', file, reached: this.#importersOf(mutant.file), mutant, tests } as const
        const { failure } = await process.run(task, 10_000 + 5 * durationMs)
        if (failure !== null) return onOutcome({ mutant, failure: `${file}: ${failure}`, files })
      }
      if (isComplete) survivors.push({ mutant, failure: null, files })
    }
    await forEach(mutants, processes, tryMutant, () => performance.now() > deadline)
    return survivors
  }

  /** First the tests of the module and the simulator, then those of the other modules that decide about money. */
  async run(): Promise<void> {
    const modules = Map.groupBy(this.#trial.mutants, ({ file }) => moduleOf(file))
    for (const [module, mutants] of modules) {
      const own = new Set([module, moduleOf(simulator)])
      const survivors = await this.#tryIn(mutants, own)
      const remaining = survivors.map(({ mutant }) => mutant)
      for (const mutant of remaining) this.#trial.onRemaining(mutant)
      const last =
        remaining.length === 0 ? [] : await this.#tryIn(remaining, this.#moneyModules.difference(own))
      const tried = new Map(survivors.map(({ mutant, files }) => [mutant, files]))
      for (const { mutant, files } of last)
        this.#trial.onOutcome({ mutant, failure: null, files: files + (tried.get(mutant) ?? 0) })
    }
  }
}

/** Tries mutants until the deadline: for each, runs the tests that execute the changed code until one fails. */
export async function tryMutants(trial: Trial): Promise<void> {
  await new Trials(trial).run()
}
