/** Runs test files with node:test, some at a time, and prints one line per file. */

import { run, type EventData } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

import { readUsage, type FileUsage } from './report-usage.ts'

export const root: string = fileURLToPath(new URL('../../..', import.meta.url))

const preloads = ['../../../src/lib/relative-imports.ts', './exit-after-tests.ts', './report-usage.ts'].map(
  (path) => new URL(path, import.meta.url).href,
)
/** The folder that bin/sluice.js uses. */
const compileCache = `${root}node_modules/.cache/compile`

export interface TestRun {
  readonly files: readonly string[]
  readonly timeoutMs: number
  /** How many files run at a time. */
  readonly concurrency: number
  /** Whether each test gets a line as soon as it ends. */
  readonly printsTests: boolean
  /** An existing folder, for what the files write about their use of CPU and programs. */
  readonly usageDir: string
  /** Ends the run: its files are terminated. */
  readonly signal: AbortSignal
  /** Printed before each file's name. */
  readonly label?: string
  /** A module to preload into each file's process, and environment variables for it. */
  readonly preload?: { readonly module: string; readonly env: Readonly<Record<string, string>> }
}

interface FileReport {
  passed: number
  /** The sum over its tests. */
  durationMs: number
  isPrinted: boolean
  readonly failures: string[]
  readonly notes: string[]
  output: string
}

/** The file that was run. `event.file` is where the test is written, which may be a file that the run one imports. */
function fileOf(event: { file?: string | undefined }): string {
  return 'entryFile' in event && typeof event.entryFile === 'string' ? event.entryFile : (event.file ?? '')
}

function shortName(file: string): string {
  return file.replace(root, '')
}

export function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** What the test threw: the wrapper that node:test puts around it only says that a test failed. */
function formatFailure(error: Error): string {
  const thrown = error.cause ?? error
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : inspect(thrown)
  const lines = text.split('\n').filter((line) => !/^ +at .*node:(internal|async_hooks)/.test(line))
  return lines.map((line) => `      ${line}`).join('\n')
}

function isOnlyFailedSubtests(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}

function printReport(name: string, report: FileReport, durationMs: number): void {
  report.isPrinted = true
  const hasFailed = report.failures.length > 0
  console.log(
    `${hasFailed ? 'FAILED' : 'ok    '} ${name}: ${report.passed} passed, ${formatSeconds(durationMs)}`,
  )
  for (const note of report.notes) console.log(`       ${note}`)
  for (const failure of report.failures) console.log(failure)
  if (hasFailed && report.output !== '') console.log(`    printed by the file:\n${report.output}`)
}

export class RunResult {
  passed = 0
  failed = 0
  /** False also when a run fails although no single test reports a failure. */
  isGood = true
  /** Names of files by the reason why tests of theirs were skipped. */
  readonly skipped = new Map<string, Set<string>>()
  readonly usage: FileUsage[] = []

  skip(name: string, reason: string): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? new Set()).add(name))
  }
}

export async function runFiles(testRun: TestRun, result: RunResult): Promise<void> {
  const { files, timeoutMs, concurrency, printsTests, usageDir, signal, label = '', preload } = testRun
  if (files.length === 0) return
  const reports = new Map<string, FileReport>()
  const nameOf = (file: string): string => label + shortName(file)
  const reportOf = (file: string): FileReport => {
    const report = reports.get(file) ?? {
      passed: 0,
      durationMs: 0,
      isPrinted: false,
      failures: [],
      notes: [],
      output: '',
    }
    reports.set(file, report)
    return report
  }
  const modules = [...preloads, ...(preload ? [preload.module] : [])]
  const stream = run({
    files: files.map((file) => root + file),
    concurrency,
    timeout: timeoutMs,
    signal,
    execArgv: modules.flatMap((module) => ['--import', module]),
    env: { ...process.env, ...preload?.env, TEST_USAGE_DIR: usageDir, NODE_COMPILE_CACHE: compileCache },
  })
  const addTime = (event: EventData.TestPass | EventData.TestFail): void => {
    if (event.nesting === 0) reportOf(fileOf(event)).durationMs += event.details.duration_ms
  }
  stream.on('test:stdout', (event) => (reportOf(fileOf(event)).output += event.message))
  stream.on('test:stderr', (event) => (reportOf(fileOf(event)).output += event.message))
  stream.on('test:diagnostic', (event) => {
    if (fileOf(event) !== '') reportOf(fileOf(event)).notes.push(event.message)
  })
  stream.on('test:pass', (event) => {
    const file = fileOf(event)
    const { skip, details } = event
    addTime(event)
    if (typeof skip === 'string') result.skip(nameOf(file), skip)
    else if (details.type !== 'suite') {
      reportOf(file).passed += 1
      result.passed += 1
      if (printsTests) console.log(`  ✓ ${event.name} (${formatSeconds(details.duration_ms)})`)
    }
  })
  stream.on('test:fail', (event) => {
    const file = fileOf(event)
    const { name, details } = event
    const report = reportOf(file)
    addTime(event)
    if (!isOnlyFailedSubtests(details.error)) {
      result.failed += 1
      report.failures.push(`    × ${shortName(name)}\n${formatFailure(details.error)}`)
    }
    // The file itself failed, for example while loading: it emits no summary.
    if (name === file) printReport(nameOf(file), report, details.duration_ms)
  })
  stream.on('test:summary', (event) => {
    const { success, duration_ms: durationMs } = event
    const file = fileOf(event)
    if (file !== '') return printReport(nameOf(file), reportOf(file), durationMs)
    result.isGood &&= success
  })
  await stream.resume().toArray()
  for (const usage of readUsage(usageDir)) result.usage.push({ ...usage, file: nameOf(usage.file) })
  // A file that was killed emits no summary.
  for (const [file, report] of reports)
    if (file !== '' && !report.isPrinted) printReport(nameOf(file), report, report.durationMs)
}
