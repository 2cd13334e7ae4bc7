/** Processes that run tests for mutants, one task at a time each. One that hangs or grows is replaced. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { Task, TaskResult } from './child.ts'

const childModule = fileURLToPath(new URL('child.ts', import.meta.url))
/** What a process keeps of the mutants that it has loaded. */
const maxRssBytes = 900 * 2 ** 20

export class TestProcess {
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | undefined

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  /** Runs a task. A process that does not answer within the time, or ends, has found the mutant, too. */
  async run(task: Task, timeoutMs: number): Promise<TaskResult> {
    const child = (this.#child ??= await this.#start())
    const { promise, resolve } = Promise.withResolvers<TaskResult>()
    const startedAt = performance.now()
    const endWith = (failure: string): void => {
      const durationMs = performance.now() - startedAt
      resolve({ failure, durationMs, cpuMs: durationMs, tests: 0, covered: [], rssBytes: Infinity })
    }
    const timer = setTimeout(() => endWith(`no end within ${Math.round(timeoutMs / 1000)} s`), timeoutMs)
    const onExit = (): void => endWith('the process ended')
    child.once('exit', onExit)
    child.once('message', resolve)
    child.send(task)
    const result = await promise
    clearTimeout(timer)
    child.off('exit', onExit)
    child.off('message', resolve)
    const isSuspect = result.failure?.startsWith('outside of a test') === true
    if (isSuspect || result.rssBytes > maxRssBytes) await this.stop()
    return result
  }

  async stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async #start(): Promise<ChildProcess> {
    const child = fork(childModule, {
      env: this.#env,
      execArgv: ['--test-reporter=dot', '--test-reporter-destination=/dev/null'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const failure = once(child, 'exit').then(() => {
      throw new Error('A process for tests of mutants did not start.')
    })
    await Promise.race([once(child, 'message'), failure])
    return child
  }
}

/** Handles all items, each process one after the other, until `isOver`. Returns how many were handled. */
export async function forEach<Item>(
  items: readonly Item[],
  processes: readonly TestProcess[],
  handle: (item: Item, process: TestProcess) => Promise<void>,
  isOver: () => boolean = () => false,
): Promise<number> {
  let next = 0
  const work = async (process: TestProcess): Promise<void> => {
    while (!isOver()) {
      const item = items[next]
      if (item === undefined) return
      next += 1
      await handle(item, process)
    }
  }
  await Promise.all(processes.map(work))
  return next
}
