/**
 * Runs the tests with node:test.
 *
 *     npm test                    the short suite: unit tests, contracts, the end-to-end tests on SQLite
 *     npm test -- ledger money    every test file whose path contains one of the words, one line per test
 *     npm test -- --changed       what the change against HEAD reaches; --since <ref> compares with another commit
 *     npm run test:all            all *.test.ts, then the end-to-end tests again on clusters
 *     npm run test:rest           the same without what `npm test` has run with as many trials
 *     npm run check:long          also the *.long.ts and the longer end-to-end tests on clusters
 *
 * `--cluster` runs the end-to-end tests on clusters only. support/runner/test-headers.ts says how a file belongs to a
 * suite. A test that cannot run on this machine skips itself with a reason, and the reasons are listed at the end. With
 * LEAVE_NOTHING_OUT=1 a skipped test is a failure, unless its reason begins with `only on some machines`: what no
 * package installs, such as loop devices.
 */
import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { findOverrun, measureReference, readBudgets } from './support/runner/cpu-budget.ts'
import { changedFiles, reachedTests } from './support/runner/changed-files.ts'
import type { FileUsage } from './support/runner/report-usage.ts'
import { formatSeconds, root, runFiles, RunResult, type TestRun } from './support/runner/run-files.ts'
import { suites, type Suite } from './support/runner/suite.ts'
import {
  clusterFiles,
  drivesForeignProgram,
  needsOwnProcess,
  suiteOf,
} from './support/runner/test-headers.ts'

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    rest: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
    changed: { type: 'boolean', default: false },
    since: { type: 'string' },
  },
})
const suite = chosenSuite()
/** Less than a suite. */
const isPartial =
  words.length > 0 || values.rest || values.cluster || values.changed || values.since !== undefined
const timeoutMs = values.long ? 3_600_000 : 900_000
const hasWords = words.length > 0
/** Several times what the tests write at a time. */
const minMemoryBytes = 8 * 2 ** 30

function chosenSuite(): Suite {
  if (values.long) return 'long'
  return values.all || values.rest || values.cluster ? 'all' : 'short'
}

const readText = (file: string): string => readFileSync(join(root, file), 'utf8')
const isSelected = (file: string): boolean => !hasWords || words.some((word) => file.includes(word))

function isInSuite(file: string): boolean {
  const text = readText(file)
  const shortest = suiteOf(file, text)
  if (values.rest && shortest === 'short' && !text.includes('trials(')) return false
  const widest = hasWords && suite === 'short' ? 'all' : suite
  return suites.indexOf(shortest) <= suites.indexOf(widest)
}

function selectFiles(): string[] {
  const selected = globSync('{src,console,test,sim,bench,clients}/**/*.{test,long}.ts', {
    cwd: root,
    exclude: ['**/node_modules', '**/.venv', 'console/dist*'],
  })
    .filter((file) => isSelected(file) && isInSuite(file))
    .toSorted()
    // The longest, end-to-end tests, first: otherwise one core waits for the last of them.
    .toReversed()
  const ref = values.since ?? (values.changed ? 'HEAD' : undefined)
  return ref === undefined ? selected : reachedTests(selected, changedFiles(ref))
}

/** Runs end-to-end tests again with every relay as a node of a cluster; returns the number of files. */
async function runOnClusters(runSelected: (run: Partial<TestRun>) => Promise<void>): Promise<number> {
  const selected = clusterFiles(root, values.long)
  const withRedis = selected.withRedis.filter(isSelected)
  const noRedis = selected.withoutRedis.filter(isSelected)
  if (withRedis.length === 0) return 0
  const { startPostgres, postgresSkipReason } = await import('../src/db/postgres/postgres.fixture.ts')
  const { startRedis, redisSkipReason } = await import('../src/shared/redis.fixture.ts')
  const missing = postgresSkipReason === false ? redisSkipReason : postgresSkipReason
  if (missing !== false) {
    result.skip('the end-to-end tests on a cluster', missing)
    return 0
  }
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  try {
    await postgres.createTemplate()
    const preloadWith = (redisUrl: string) => ({
      module: new URL('./support/runner/cluster-backend.ts', import.meta.url).href,
      env: { TEST_CLUSTER_POSTGRES: postgres.databaseUrl('postgres'), TEST_CLUSTER_REDIS: redisUrl },
    })
    const label = 'on a cluster: '
    await runSelected({ files: withRedis, label, preload: preloadWith(redis.url) })
    const labelNoRedis = 'on a cluster without Redis: '
    await runSelected({ files: noRedis, label: labelNoRedis, preload: preloadWith('') })
  } finally {
    await redis.stop()
    await postgres.remove()
  }
  return withRedis.length + noRedis.length
}

/** Prints which files took the most CPU time, and how many servers were started. */
function printUsage(usage: readonly FileUsage[]): void {
  if (usage.length < 2) return
  const sum = (value: (each: FileUsage) => number): number =>
    usage.reduce((total, each) => total + value(each), 0)
  console.log('Most CPU time:')
  for (const { file, cpuMs, relays, others } of usage.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, 10))
    console.log(
      `  ${formatSeconds(cpuMs).padStart(7)}  ${file} (${relays} relays, ${others} other programs started)`,
    )
  console.log(
    `Together ${formatSeconds(sum(({ cpuMs }) => cpuMs))} of CPU time, ` +
      `${sum(({ relays }) => relays)} relays and ${sum(({ others }) => others)} other programs started`,
  )
}

/** Whether a complete run of the suite has kept its budget of CPU time; prints what it used, and what grew. */
function keepsBudget(usage: readonly FileUsage[]): boolean {
  const budgets = readBudgets()
  const budget = budgets.suites[suite]
  if (isPartial || budget === undefined) return true
  const referenceMs = measureReference()
  const cpuMs = usage.reduce((total, each) => total + each.cpuMs, 0)
  console.log(
    `${Math.round(cpuMs / referenceMs)} units of CPU time, of which the budget allows ${budget}; ` +
      `one is ${formatSeconds(referenceMs)} here`,
  )
  const overrun = findOverrun(usage, referenceMs, budget, budgets)
  for (const line of overrun ?? []) console.log(`  ${line}`)
  return overrun === undefined
}

/**
 * Creates the folder for everything that the tests write, in memory if there is room: thousands of disk syncs of
 * databases that live for seconds are most of what the tests would wait for.
 */
function createRunFolder(): string {
  const memory = '/dev/shm'
  const stats = process.env['TMPDIR'] === undefined && existsSync(memory) ? statfsSync(memory) : undefined
  const hasRoom = stats !== undefined && stats.bavail * stats.bsize >= minMemoryBytes
  const folder = mkdtempSync(join(hasRoom ? memory : tmpdir(), 'sluice-tests-'))
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755)
  return folder
}

const startedAt = performance.now()
const result = new RunResult()
const folder = createRunFolder()
Object.assign(process.env, { TMPDIR: folder, TEST_SUITE: suite })
// One more than there are cores, because tests wait for each other's processes and for time-outs of the product.
const concurrency = availableParallelism() + 1
// An interrupted run starts no more files, ends those that run, and removes its folder.
const interruption = new AbortController()
const children = new Set<ChildProcess>()
subscribe('child_process', (message) => children.add((message as { process: ChildProcess }).process))
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interruption.abort()
    for (const child of children) child.kill()
  })
}
const runSelected = (run: Partial<TestRun>): Promise<void> => {
  const { signal } = interruption
  const filesWith = (has: (text: string) => boolean): Set<string> =>
    new Set((run.files ?? []).filter((file) => has(readText(file))))
  const alone = filesWith(needsOwnProcess)
  const repeatable = filesWith(drivesForeignProgram)
  const settings = {
    alone,
    repeatable,
    timeoutMs,
    concurrency,
    printsTests: hasWords,
    usageDir: folder,
    signal,
  }
  return signal.aborted ? Promise.resolve() : runFiles({ files: [], ...settings, ...run }, result)
}

const files = values.cluster ? [] : selectFiles()
await runSelected({ files })
const fileCount = files.length + (suite === 'short' ? 0 : await runOnClusters(runSelected))
rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
const { passed, failed, isGood, skipped } = result

console.log('')
for (const [reason, names] of skipped) console.log(`skipped: ${[...names].join(', ')}: ${reason}`)
printUsage(result.usage)
const isWithinBudget = keepsBudget(result.usage)
const duration = formatSeconds(performance.now() - startedAt)
if (result.flaky.length > 0) console.log(`${result.flaky.length} flaky: ${result.flaky.join(', ')}`)
console.log(`${passed} passed, ${failed} failed, in ${fileCount} files and ${duration}`)

const avoidable = [...skipped.keys()].filter((reason) => !reason.startsWith('only on some machines'))
const isIncomplete = process.env['LEAVE_NOTHING_OUT'] === '1' && avoidable.length > 0
if (isIncomplete) console.log('Tests were skipped, which LEAVE_NOTHING_OUT=1 forbids.')
if (fileCount === 0) console.log(`No test file has a path with ${words.join(' or ')}.`)
process.exitCode =
  failed > 0 || !isGood || !isWithinBudget || interruption.signal.aborted || isIncomplete || fileCount === 0
    ? 1
    : 0
