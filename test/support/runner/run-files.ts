/** Runs files of tests with node:test, two at a time, and prints one line a file. */

import { run, type EventData } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

export const root: string = fileURLToPath(new URL('..', import.meta.url))

const endsInTime = new URL('ends-in-time.ts', import.meta.url).href

export interface Round {
  readonly files: readonly string[]
  readonly timeoutMs: number
  /** Said before each file's name. */
  readonly label?: string
  /** A module that is loaded ahead of each file, and what it finds in its environment. */
  readonly ahead?: { readonly module: string; readonly env: Readonly<Record<string, string>> }
}

interface FileReport {
  passed: number
  /** Of its tests together. */
  durationMs: number
  isPrinted: boolean
  readonly failures: string[]
  readonly notes: string[]
  output: string
}

/** The file that was run; `file` is where the test is written, which may be one that the first imports. */
function fileOf(event: { file?: string | undefined }): string {
  return 'entryFile' in event && typeof event.entryFile === 'string' ? event.entryFile : (event.file ?? '')
}

function shortName(file: string): string {
  return file.replace(root, '')
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** What the test threw: node's own wrapper around it only says that a test failed. */
function wordsOf(error: Error): string {
  const thrown = error.cause ?? error
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : inspect(thrown)
  const ofTheProject = text.split('\n').filter((line) => !/^ +at .*node:(internal|async_hooks)/.test(line))
  return ofTheProject.map((line) => `      ${line}`).join('\n')
}

function isOnlyAboutChildren(error: Error): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}

function printReport(name: string, report: FileReport, durationMs: number): void {
  report.isPrinted = true
  const bad = report.failures.length > 0
  console.log(`${bad ? 'FAILED' : 'ok    '} ${name}: ${report.passed} passed, ${seconds(durationMs)}`)
  for (const note of report.notes) console.log(`       ${note}`)
  for (const failure of report.failures) console.log(failure)
  if (bad && report.output !== '') console.log(`    printed by the file:\n${report.output}`)
}

export class Result {
  passed = 0
  failed = 0
  /** Also where nothing says of itself that it failed. */
  isGood = true
  durationMs = 0
  /** Files by the reason why something of them was left out. */
  readonly leftOut = new Map<string, Set<string>>()

  leave(name: string, reason: string): void {
    this.leftOut.set(reason, (this.leftOut.get(reason) ?? new Set()).add(name))
  }
}

export async function runRound(round: Round, result: Result): Promise<void> {
  const { files, timeoutMs, label = '', ahead } = round
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
  const modules = [endsInTime, ...(ahead ? [ahead.module] : [])]
  const stream = run({
    files: files.map((file) => root + file),
    concurrency: 2,
    timeout: timeoutMs,
    execArgv: modules.flatMap((module) => ['--import', module]),
    ...(ahead && { env: { ...process.env, ...ahead.env } }),
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
    if (typeof skip === 'string') result.leave(nameOf(file), skip)
    else if (details.type !== 'suite') {
      reportOf(file).passed += 1
      result.passed += 1
    }
  })
  stream.on('test:fail', (event) => {
    const file = fileOf(event)
    const { name, details } = event
    const report = reportOf(file)
    addTime(event)
    if (!isOnlyAboutChildren(details.error)) {
      result.failed += 1
      report.failures.push(`    × ${shortName(name)}\n${wordsOf(details.error)}`)
    }
    // The file itself failed, for instance while it was read: it has no summary of its own.
    if (name === file) printReport(nameOf(file), report, details.duration_ms)
  })
  stream.on('test:summary', (event) => {
    const { success, duration_ms: durationMs } = event
    const file = fileOf(event)
    if (file !== '') return printReport(nameOf(file), reportOf(file), durationMs)
    result.isGood &&= success
    result.durationMs += durationMs
  })
  await stream.resume().toArray()
  // A file that had to be ended had no time for a summary.
  for (const [file, report] of reports)
    if (file !== '' && !report.isPrinted) printReport(nameOf(file), report, report.durationMs)
}
