/**
 * `npm run bench`: compares the product with nginx and the baseline relay in one run, taking turns. Prints
 * the tables and, after a complete run, writes them to docs/performance.md. Exits with 1 if a response failed
 * or was not charged.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { measureCluster } from './cluster.ts'
import { writeCpuCharts } from './cpu-chart.ts'
import { peakRssBytes, rssBytes } from './cpu.ts'
import { measureDiskSync } from './disk-sync.ts'
import type { MeasuredLoad } from './figures.ts'
import { measureLedger } from './ledger.ts'
import { measureOverloads } from './overload.ts'
import { startPeers } from './peers.ts'
import { reducedExtent, buildPlan, groups, streamPaceMs, type Extent, type Group } from './plan.ts'
import { startProduct, translatingSubjects } from './product.ts'
import type { Run } from './measured-run.ts'
import { renderReport } from './report.ts'
import { resultsOf } from './results-file.ts'
import { measureInRounds } from './rounds.ts'
import { nginxVersion, startBaselineRelay, startNginx, startUpstream } from './subjects.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'
import { measureVerification } from './verification.ts'

const pathOfReport = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
const pathOfResults = fileURLToPath(new URL('../docs/performance.json', import.meta.url))
/** After two checks of the collector (`idle-garbage-collection.ts`) and V8's own delay. */
const idleAfterMs = 25_000
/** A group that needs other programs than a complete run. */
const optionalGroup = 'peers'

const help = `npm run bench -- [options]
  --only ${groups.join(',')}
                                       measure some groups, without writing docs/performance.md
  --seconds 5                          measured time per sample, and warm-up per load
  --rounds 7                           samples per relay
  --workers 1                          workers per relay
  --peers <directory>                  also measure other gateways that are installed there: see bench/peers.ts
  --data-dir <directory>               where the product stores its data; default: the system's temporary directory
`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: groups.join(',') },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '7' },
    workers: { type: 'string', default: '1' },
    peers: { type: 'string' },
    'data-dir': { type: 'string', default: tmpdir() },
    help: { type: 'boolean', default: false },
  },
})

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

/** Waits until what a start leaves to do is done, then reads the memory of each process. */
async function measureIdleMemory(processes: readonly Subject[]): Promise<Map<Subject, number>> {
  await delay(idleAfterMs)
  return new Map(processes.map((relay) => [relay, rssBytes(relay.pid)]))
}

/** Runs the selected groups on the subjects. */
async function measureAll(
  environment: BenchEnvironment,
  subjects: Subject[],
  extent: Extent,
  selected: readonly string[],
): Promise<Run> {
  const { directory, workers } = environment
  const isSelected = (group: Group): boolean => selected.includes(group)
  const reduced = reducedExtent(extent)
  const sync = measureDiskSync(directory)
  const relays = await startSubjects(environment)
  subjects.push(...relays)
  const processes = relays.filter(({ model }) => model === undefined)
  const idle = isSelected('memory') ? await measureIdleMemory(processes) : null
  if (values.peers !== undefined && isSelected('peers'))
    subjects.push(...(await startPeers(values.peers, environment)))
  const measured: MeasuredLoad[] = []
  for (const measurement of buildPlan(extent)) {
    const { group } = measurement
    if (!isSelected(group) || (group === optionalGroup && values.peers === undefined)) continue
    const row = await measureInRounds(measurement, { environment, subjects, warmSeconds: extent.seconds })
    if (row) measured.push(row)
  }
  const ledger = isSelected('ledger') ? await measureLedger(directory, reduced.seconds, reduced.rounds) : []
  const verification = isSelected('verification') ? await measureVerification(directory) : null
  const cluster = isSelected('cluster')
    ? await measureCluster(directory, reduced.seconds, reduced.rounds)
    : null
  const overload = isSelected('overload') ? await measureOverloads(environment, extent) : null
  const isComplete =
    groups.every((group) => group === optionalGroup || isSelected(group)) &&
    relays.some(({ name }) => name === 'sluice')
  const memoryRows = processes.map((subject) => ({
    subject,
    idleMiB: (idle?.get(subject) ?? NaN) / 2 ** 20,
    peakMiB: peakRssBytes(subject.pid) / 2 ** 20,
  }))
  for (const relay of relays) await relay.verify?.()
  return {
    date: new Date().toISOString().slice(0, 10),
    ...extent,
    workers,
    nginx: nginxVersion(),
    sync,
    subjects,
    measured,
    ledger,
    verification,
    cluster,
    overload,
    memory: idle && memoryRows,
    isComplete,
  }
}

async function main(): Promise<void> {
  if (values.help) {
    console.log(help)
    return
  }
  const [seconds, rounds, workers] = [values.seconds, values.rounds, values.workers].map(Number)
  const selected = values.only.split(',')
  const unknown = selected.filter((group) => !groups.some((known) => known === group))
  if (unknown.length > 0 || !seconds || !rounds || !workers) throw new Error(`Invalid options.\n${help}`)

  const directory = mkdtempSync(join(values['data-dir'], 'sluice-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const upstream = await startUpstream(streamPaceMs)
  const subjects = [upstream]
  try {
    const environment = { upstreamPort: upstream.port, workers, directory }
    const run = await measureAll(environment, subjects, { seconds, rounds }, selected)
    const report = renderReport(run)
    console.log(`\n${report}`)
    if (!run.isComplete) return
    writeFileSync(pathOfReport, report)
    writeFileSync(pathOfResults, `${JSON.stringify(resultsOf(run), null, 2)}\n`)
    writeCpuCharts()
    console.log(`written to ${pathOfReport}`)
  } finally {
    for (const subject of subjects.toReversed()) await subject.stop()
  }
}

await main()
