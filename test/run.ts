/**
 * `npm test`: runs every *.test.ts of the project with node:test, two files at a time, and prints one line a file.
 * `npm test -- ledger money` runs the files whose path contains one of the words; `--long` adds the *.long.ts files.
 * A test that cannot run on this machine skips itself with a reason, which is told in one line at the end;
 * with LEAVE_NOTHING_OUT=1 that is a failure, unless the reason begins with `only on some machines`: what no package
 * brings, such as loop devices.
 */
import { globSync } from 'node:fs'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect, parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

interface FileReport {
  passed: number
  readonly failures: string[]
  readonly notes: string[]
  output: string
}

function filesToRun(words: readonly string[], long: boolean): string[] {
  const endings = long ? '{test,long}' : 'test'
  return globSync(`{src,console,test,sim,bench,clients}/**/*.${endings}.ts`, {
    cwd: root,
    exclude: ['**/node_modules', '**/.venv', 'console/dist*'],
  })
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .toSorted()
}

/** The file that was run; `file` is where the test is written, which may be one that the first imports. */
function fileOf(event: { file?: string | undefined }): string {
  return 'entryFile' in event && typeof event.entryFile === 'string' ? event.entryFile : (event.file ?? '')
}

function shortName(file: string): string {
  return file.replace(root, '')
}

function seconds(ms: number): string {
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
  const bad = report.failures.length > 0
  console.log(`${bad ? 'FAILED' : 'ok    '} ${name}: ${report.passed} passed, ${seconds(durationMs)}`)
  for (const note of report.notes) console.log(`       ${note}`)
  for (const failure of report.failures) console.log(failure)
  if (bad && report.output !== '') console.log(`    printed by the file:\n${report.output}`)
}

async function runFiles(files: readonly string[], timeoutMs: number) {
  const reports = new Map<string, FileReport>()
  const leftOut = new Map<string, Set<string>>()
  const total = { passed: 0, failed: 0, durationMs: 0 }
  const reportOf = (file: string): FileReport => {
    const report = reports.get(file) ?? { passed: 0, failures: [], notes: [], output: '' }
    reports.set(file, report)
    return report
  }
  // forceExit: a file whose test failed half-way may leave a server open and would otherwise never end.
  const stream = run({
    files: files.map((file) => root + file),
    concurrency: 2,
    timeout: timeoutMs,
    forceExit: true,
  })
  stream.on('test:stdout', (event) => (reportOf(fileOf(event)).output += event.message))
  stream.on('test:stderr', (event) => (reportOf(fileOf(event)).output += event.message))
  stream.on('test:diagnostic', (event) => {
    if (fileOf(event) !== '') reportOf(fileOf(event)).notes.push(event.message)
  })
  stream.on('test:pass', (event) => {
    const file = fileOf(event)
    const { skip, details } = event
    if (typeof skip === 'string') leftOut.set(skip, (leftOut.get(skip) ?? new Set()).add(shortName(file)))
    else if (details.type !== 'suite') reportOf(file).passed += 1
  })
  stream.on('test:fail', (event) => {
    const file = fileOf(event)
    const { name, details } = event
    const report = reportOf(file)
    if (!isOnlyAboutChildren(details.error)) {
      report.failures.push(`    × ${shortName(name)}\n${wordsOf(details.error)}`)
    }
    // The file itself failed, for instance while it was read: it has no summary of its own.
    if (name === file) printReport(shortName(file), report, details.duration_ms)
  })
  stream.on('test:summary', (event) => {
    const { counts, duration_ms: durationMs } = event
    const file = fileOf(event)
    if (file !== '') return printReport(shortName(file), reportOf(file), durationMs)
    total.passed = counts.passed
    total.failed = counts.tests - counts.passed - counts.skipped
    total.durationMs = durationMs
  })
  await stream.resume().toArray()
  return { ...total, leftOut }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean', default: false } },
})
const files = filesToRun(positionals, values.long)
const { passed, failed, durationMs, leftOut } = await runFiles(files, values.long ? 3_600_000 : 900_000)

console.log('')
for (const [reason, names] of leftOut) console.log(`left out: ${[...names].join(', ')}: ${reason}`)
console.log(`${passed} passed, ${failed} failed, in ${files.length} files and ${seconds(durationMs)}`)

const avoidable = [...leftOut.keys()].filter((reason) => !reason.startsWith('only on some machines'))
const incomplete = process.env['LEAVE_NOTHING_OUT'] === '1' && avoidable.length > 0
if (incomplete) console.log('Something was left out, and LEAVE_NOTHING_OUT=1 forbids that.')
if (files.length === 0) console.log(`No test file has a path with ${positionals.join(' or ')}.`)
process.exitCode = failed > 0 || incomplete || files.length === 0 ? 1 : 0
