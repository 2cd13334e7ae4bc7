/**
 * `npm run bench`: compares the product with nginx and the baseline relay in one run, taking turns. Prints
 * the tables and, after a complete run, writes them to docs/performance.md, their loads to docs/performance.json, and
 * the chart of the READMEs. Exits with 1 if a response failed
 * or was not charged.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { measureCluster } from './cluster.ts'
import { writeCpuCharts } from './cpu-chart.ts'
import { peakRssBytes } from './cpu.ts'
import { measureDiskSync } from './disk-sync.ts'
import { computeFigures } from './figures.ts'
import type { MeasuredLoad } from './figures.ts'
import { measureLedger } from './ledger.ts'
import { measure } from './measure.ts'
import { groups, buildPlan, streamPaceMs } from './plan.ts'
import type { Measurement } from './plan.ts'
import { measureOverloads } from './overload.ts'
import type { RequestKind } from './payloads.ts'
import { startProduct, translatingSubjects } from './product.ts'
import { renderReport } from './report.ts'
import { resultsOf } from './results.ts'
import { nginxVersion, startBaselineRelay, startNginx, startUpstream } from './subjects.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'
import { measureVerification } from './verification.ts'

const help = `npm run bench -- [options]
  --only 1kb,40kb,stream,latency,256,formats,operations,ledger,verification,cluster,overload   measure some groups, without writing docs/performance.md
  --seconds 2.5                        measured time per sample
  --rounds 3                           samples per relay
  --workers 1                          workers per relay
  --data-dir <directory>               where the product stores its data; default: the system's temporary directory
`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: groups.join(',') },
    seconds: { type: 'string', default: '2.5' },
    rounds: { type: 'string', default: '3' },
    workers: { type: 'string', default: '1' },
    'data-dir': { type: 'string', default: tmpdir() },
    help: { type: 'boolean', default: false },
  },
})

const pathOfReport = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
const pathOfResults = fileURLToPath(new URL('../docs/performance.json', import.meta.url))

/** Starts the subjects that this machine supports and prints which are left out. */
async function startSubjects(environment: BenchEnvironment): Promise<Subject[]> {
  const subjects: Subject[] = []
  if (nginxVersion() === undefined) console.log('nginx is not installed: skipped')
  else subjects.push(await startNginx(environment))
  subjects.push(await startBaselineRelay(environment))
  await startProduct(environment).then(
    (product) => subjects.push(product, ...translatingSubjects(product)),
    (error: unknown) => {
      console.log(`Sluice did not start: skipped (${String(error)})`)
      process.exitCode = 1
    },
  )
  return subjects
}

/** Seconds of each load before anything is measured, the same for every relay. */
const warmSeconds: Partial<Record<RequestKind, number>> = { '1kb': 6, '40kb': 3 }

/**
 * Measures relays that have served for a while: code that has run only briefly is not fully optimised yet.
 */
async function warmUp(subjects: Subject[], plan: Measurement[]): Promise<void> {
  for (const subject of subjects) {
    const own = plan.filter((each) => each.group === 'operations' && each.subjects.includes(subject.name))
    for (const kind of new Set<RequestKind>(['1kb', '40kb', 'stream', ...own.map(({ load }) => load.kind)])) {
      const load = { kind, connections: 64, warmSeconds: 0, seconds: warmSeconds[kind] ?? 4 }
      const { invalid } = await measure(subject, load)
      if (invalid !== undefined) console.log(`${subject.title}, warming up: ${invalid}`)
    }
  }
}

async function measureInRounds(
  measurement: Measurement,
  subjects: Subject[],
  rounds: number,
): Promise<MeasuredLoad> {
  const measured: MeasuredLoad = { measurement, samples: new Map() }
  const participants = subjects.filter((subject) => measurement.subjects.includes(subject.name))
  for (let round = 0; round < rounds; round++) {
    for (const subject of participants) {
      const sample = await measure(subject, measurement.load)
      measured.samples.set(subject.name, [...(measured.samples.get(subject.name) ?? []), sample])
    }
  }
  const summaries = participants.map((subject) => {
    const figures = computeFigures(measured, subject.name)
    if (figures?.invalid !== undefined) process.exitCode = 1
    return `${subject.title} ${figures?.invalid ?? `${figures?.micros.toFixed(1)} µs, p50 ${figures?.p50Ms.toFixed(2)} ms`}`
  })
  console.log(`${measurement.title}: ${summaries.join(' · ')}`)
  return measured
}

async function main(): Promise<void> {
  if (values.help) {
    console.log(help)
    return
  }
  const [seconds, rounds, workers] = [values.seconds, values.rounds, values.workers].map(Number)
  const selectedGroups = values.only.split(',')
  const unknown = selectedGroups.filter((group) => !groups.some((known) => known === group))
  if (unknown.length > 0 || !seconds || !rounds || !workers) throw new Error(`Invalid options.\n${help}`)

  const directory = mkdtempSync(join(values['data-dir'], 'sluice-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const upstream = await startUpstream(streamPaceMs)
  const subjects = [upstream]
  try {
    const sync = measureDiskSync(directory)
    const environment = { upstreamPort: upstream.port, workers, directory }
    subjects.push(...(await startSubjects(environment)))
    const relays = subjects.slice(1)
    const plan = buildPlan(seconds).filter(({ group }) => selectedGroups.includes(group))
    await warmUp(relays, plan)
    const measured: MeasuredLoad[] = []
    for (const measurement of plan) {
      measured.push(await measureInRounds(measurement, subjects, rounds))
    }
    const ledger = selectedGroups.includes('ledger') ? await measureLedger(directory, seconds, rounds) : []
    const verification = selectedGroups.includes('verification') ? await measureVerification(directory) : null
    const cluster = selectedGroups.includes('cluster')
      ? await measureCluster(directory, seconds, rounds)
      : null
    const overload = selectedGroups.includes('overload')
      ? await measureOverloads(environment, seconds, rounds)
      : null
    const processes = relays.filter(({ model }) => model === undefined)
    const peaks = new Map(processes.map((relay) => [relay, peakRssBytes(relay.pid)]))
    const date = new Date().toISOString().slice(0, 10)
    const nginx = nginxVersion()
    const run = {
      date,
      seconds,
      rounds,
      workers,
      nginx,
      sync,
      subjects,
      measured,
      ledger,
      verification,
      cluster,
      overload,
      peakRssBytes: peaks,
    }
    const report = renderReport(run)
    console.log(`\n${report}`)
    for (const relay of relays) await relay.verify?.()
    const isCompleteRun =
      groups.every((group) => selectedGroups.includes(group)) && relays.some(({ name }) => name === 'sluice')
    if (!isCompleteRun) return
    mkdirSync(join(pathOfReport, '..'), { recursive: true })
    writeFileSync(pathOfReport, report)
    writeFileSync(pathOfResults, `${JSON.stringify(resultsOf(run), null, 2)}\n`)
    writeCpuCharts()
    console.log(`written to ${pathOfReport}`)
  } finally {
    for (const subject of subjects.toReversed()) await subject.stop()
  }
}

await main()
