/** Runs test files with node:test, in a few processes that share a queue of files, and prints one line per file. */

import { join } from 'node:path'
import { run, type EventData } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

import { createQueue, isEmpty } from './file-queue.ts'
import { readUsage, type FileUsage } from './report-usage.ts'

export const root: string = fileURLToPath(new URL('../../..', import.meta.url))

const preloads = ['../../../src/lib/relative-imports.ts', './exit-after-tests.ts', './report-usage.ts'].map(
  (path) => new URL(path, import.meta.url).href,
)
const workerFile = fileURLToPath(new URL('./test-worker.ts', import.meta.url))
/** The folder that bin/sluice.js uses. */
const compileCache = `${root}node_modules/.cache/compile`
/** How long a process may go on after the time of its file, before it is ended. */
const graceMs = 30_000

export interface TestRun {
  readonly files: readonly string[]
  /** Of these files, those that have a process of their own. */
  readonly alone: ReadonlySet<string>
  /** Of these files, those whose failures may be due to a browser or a client that is not ours. */
  readonly repeatable: ReadonlySet<string>
  /** For one file. */
  readonly timeoutMs: number
  /** How many processes run at a time. */
  readonly concurrency: number
  /** Whether each test gets a line as soon as it ends. */
  readonly printsTests: boolean
  /** An existing folder, for the queues and for what the files write about their use of CPU and programs. */
  readonly usageDir: string
  /** Ends the run: its files are terminated. */
  readonly signal: AbortSignal
  /** Printed before each file's name. */
  readonly label?: string
  /** A module to preload into each process, and environment variables for it. */
  readonly preload?: { readonly module: string; readonly env: Readonly<Record<string, string>> }
}

interface FileReport {
  passed: number
  readonly failures: string[]
  readonly notes: string[]
  output: string
}

const emptyReport = (): FileReport => ({ passed: 0, failures: [], notes: [], output: '' })

function shortName(file: string): string {
  return file.replace(root, '')
}

export function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** What the test threw: the wrapper that node:test puts around it only says that a test failed. */
function formatFailure(error: Error): string {
  const thrown = error.cause ?? error
  const cause =
    thrown instanceof Error && thrown.cause !== undefined ? `\ncaused by ${inspect(thrown.cause)}` : ''
  const text = (thrown instanceof Error ? (thrown.stack ?? thrown.message) : inspect(thrown)) + cause
  const lines = text.split('\n').filter((line) => !/^ +at .*node:(internal|async_hooks)/.test(line))
  return lines.map((line) => `      ${line}`).join('\n')
}

function isOnlyFailedSubtests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}

export class RunResult {
  passed = 0
  failed = 0
  /** False also when a run fails although no single test reports a failure. */
  isGood = true
  /** How many tests of each failed file passed and failed, by the name that is printed. */
  readonly failures = new Map<string, { readonly passed: number; readonly failed: number }>()
  /** Files that failed at first, and passed alone. */
  readonly flaky: string[] = []
  /** Names of files by the reason why tests of theirs were skipped. */
  readonly skipped = new Map<string, Set<string>>()
  readonly usage: FileUsage[] = []

  skip(name: string, reason: string): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? new Set()).add(name))
  }
}

/** In the process of test-worker.ts, files are subtests of one test. */
const fileNesting = 1

/** What the events of one process say about its files, which it runs one after another. */
class WorkerReport {
  readonly #run: TestRun
  readonly #result: RunResult
  readonly #failedBefore: number
  #file: string | undefined
  #report = emptyReport()
  hasBegun = false

  constructor(testRun: TestRun, result: RunResult) {
    this.#run = testRun
    this.#result = result
    this.#failedBefore = result.failed
  }

  get #name(): string {
    return (this.#run.label ?? '') + shortName(this.#file ?? '')
  }

  begin(file: string): void {
    this.hasBegun = true
    this.#file = file
    this.#report = emptyReport()
  }

  addOutput(text: string): void {
    this.#report.output += text
  }

  addNote(text: string): void {
    if (this.#file !== undefined) this.#report.notes.push(text)
  }

  pass({ nesting, name, skip, details }: EventData.TestPass): void {
    if (nesting === fileNesting) return this.#finish(details.duration_ms)
    if (typeof skip === 'string') this.#result.skip(this.#name, skip)
    else if (details.type !== 'suite') {
      this.#report.passed += 1
      this.#result.passed += 1
      if (this.#run.printsTests) console.log(`  ✓ ${name} (${formatSeconds(details.duration_ms)})`)
    }
  }

  fail({ nesting, name, details }: EventData.TestFail): void {
    if (!isOnlyFailedSubtests(details.error)) this.#fail(name, formatFailure(details.error))
    if (nesting === fileNesting) this.#finish(details.duration_ms)
  }

  /** The process has ended. */
  close(isGood: boolean): void {
    if (this.#file !== undefined) {
      this.#fail(this.#file, '      the process ended before the file was finished')
      this.#finish(0)
    }
    if (!isGood && this.#result.failed === this.#failedBefore) this.#result.isGood = false
  }

  #fail(name: string, text: string): void {
    this.#result.failed += 1
    this.#report.failures.push(`    × ${shortName(name)}\n${text}`)
  }

  #finish(durationMs: number): void {
    const { passed, failures, notes, output } = this.#report
    const hasFailed = failures.length > 0
    const lines = [
      `${hasFailed ? 'FAILED' : 'ok    '} ${this.#name}: ${passed} passed, ${formatSeconds(durationMs)}`,
      ...notes.map((note) => `       ${note}`),
      ...failures,
      ...(hasFailed && output !== '' ? [`    printed by the file:\n${output}`] : []),
    ]
    console.log(lines.join('\n'))
    if (hasFailed) this.#result.failures.set(this.#name, { passed, failed: failures.length })
    this.#file = undefined
  }
}

/** Runs one process until it ends. False: it has taken no file. */
async function runWorker(queuePath: string, testRun: TestRun, result: RunResult): Promise<boolean> {
  const { timeoutMs, usageDir, preload } = testRun
  const report = new WorkerReport(testRun, result)
  // A file that blocks its event loop does not see its time-out.
  const silence = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const restartTimer = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(), timeoutMs + graceMs)
  }
  restartTimer()
  const modules = [...preloads, ...(preload ? [preload.module] : [])]
  const stream = run({
    files: [workerFile],
    concurrency: 1,
    signal: AbortSignal.any([testRun.signal, silence.signal]),
    execArgv: modules.flatMap((module) => ['--import', module]),
    env: {
      ...process.env,
      ...preload?.env,
      TEST_QUEUE: queuePath,
      TEST_USAGE_DIR: usageDir,
      NODE_COMPILE_CACHE: compileCache,
    },
  })
  let isGood = true
  stream.on('test:dequeue', ({ nesting, name }) => {
    restartTimer()
    if (nesting === fileNesting) report.begin(name)
  })
  for (const event of ['test:stdout', 'test:stderr'] as const)
    stream.on(event, ({ message }) => report.addOutput(message))
  stream.on('test:diagnostic', ({ nesting, message }) => {
    if (nesting >= fileNesting) report.addNote(message)
  })
  stream.on('test:pass', (event) => {
    if (event.nesting >= fileNesting) report.pass(event)
  })
  stream.on('test:fail', (event) => {
    if (event.nesting >= fileNesting) report.fail(event)
  })
  stream.on('test:summary', ({ success }) => (isGood &&= success))
  await stream.resume().toArray()
  clearTimeout(timer)
  report.close(isGood)
  return report.hasBegun
}

let queues = 0

/** More files than these do not fail by chance. */
const maxFlaky = 2

/**
 * Runs the files once, and then each that failed and drives a foreign program once more, alone. What it printed at first
 * is kept.
 */
export async function runFiles(testRun: TestRun, result: RunResult): Promise<void> {
  await runOnce(testRun, result)
  const nameOf = (file: string): string => (testRun.label ?? '') + file
  const failed = testRun.files.filter(
    (file) => testRun.repeatable.has(file) && result.failures.has(nameOf(file)),
  )
  if (result.flaky.length + failed.length > maxFlaky) return
  for (const file of failed) {
    const repeated = new RunResult()
    await runOnce({ ...testRun, files: [file] }, repeated)
    if (repeated.failed > 0 || !repeated.isGood) continue
    const first = result.failures.get(nameOf(file)) ?? { passed: 0, failed: 0 }
    result.failed -= first.failed
    result.passed += repeated.passed - first.passed
    result.flaky.push(nameOf(file))
  }
}

async function runOnce(testRun: TestRun, result: RunResult): Promise<void> {
  const { files, alone, concurrency, usageDir, signal, timeoutMs } = testRun
  const openQueue = (selected: readonly string[]) => {
    const path = join(usageDir, `queue-${++queues}.json`)
    const queue = createQueue(
      path,
      selected.map((file) => root + file),
      timeoutMs,
    )
    return { run: () => runWorker(path, testRun, result), isEmpty: () => signal.aborted || isEmpty(queue) }
  }
  const single = files.filter((file) => alone.has(file)).map((file) => openQueue([file]))
  const shared = openQueue(files.filter((file) => !alone.has(file)))
  const runNext = async (): Promise<void> => {
    for (let next = single.shift(); next !== undefined; next = single.shift()) await next.run()
    // A process that dies, or that has become too large, is followed by another.
    while (!shared.isEmpty() && (await shared.run()));
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, files.length) }, runNext))
  if (!shared.isEmpty()) result.isGood = false
  const names = testRun.label ?? ''
  for (const usage of readUsage(usageDir))
    result.usage.push({ ...usage, file: names + shortName(usage.file) })
}
