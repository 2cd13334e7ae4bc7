/**
 * `npm run bench`: the product beside nginx and the bare relay, in one run, taking turns. Prints the tables, and after
 * a whole run writes them to docs/performance.md. Ends with 1 when an answer failed or was not charged.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { measureCluster } from './cluster.ts'
import { peakRssBytes } from './cpu.ts'
import { measureSync } from './disk-sync.ts'
import { figuresOf } from './figures.ts'
import type { Measured } from './figures.ts'
import { measureLedger } from './ledger.ts'
import { measure } from './measure.ts'
import { groups, planOf, streamPaceMs } from './plan.ts'
import type { Measurement } from './plan.ts'
import { measurePressure } from './overload.ts'
import { startProduct, translatingSubjects } from './product.ts'
import { reportOf } from './report.ts'
import { nginxVersion, startBareRelay, startNginx, startUpstream } from './subjects.ts'
import type { Place, Subject } from './subjects.ts'

const help = `npm run bench -- [options]
  --only 1kb,40kb,stream,latency,256,dialects,ledger,cluster,pressure   measure a part, and do not write docs/performance.md
  --seconds 2.5                        measured time of one sample
  --rounds 3                           how often each relay has its turn
  --workers 1                          workers of each relay
  --data-dir <directory>               where the product keeps its data; default the system's temporary directory
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

/** The subjects that can be started on this machine; says in one line what is left out. */
async function startSubjects(place: Place): Promise<Subject[]> {
  const subjects: Subject[] = []
  if (nginxVersion() === undefined) console.log('nginx is not installed: left out')
  else subjects.push(await startNginx(place))
  subjects.push(await startBareRelay(place))
  await startProduct(place).then(
    (product) => subjects.push(product, ...translatingSubjects(product)),
    (error: unknown) => {
      console.log(`Sluice did not start: left out (${String(error)})`)
      process.exitCode = 1
    },
  )
  return subjects
}

/** So many seconds of each load before anything is measured, the same for every relay. */
const warmSeconds = { '1kb': 6, '40kb': 3, stream: 4 } as const

/** What is measured is a relay that has served for a while: code that has run but a little is compiled half-way. */
async function warmUp(subjects: Subject[]): Promise<void> {
  for (const subject of subjects) {
    for (const question of ['1kb', '40kb', 'stream'] as const) {
      const load = { question, connections: 64, warmSeconds: 0, seconds: warmSeconds[question] }
      const { invalid } = await measure(subject, load)
      if (invalid !== undefined) console.log(`${subject.title}, warming up: ${invalid}`)
    }
  }
}

async function measureInTurns(
  measurement: Measurement,
  subjects: Subject[],
  rounds: number,
): Promise<Measured> {
  const measured: Measured = { measurement, samples: new Map() }
  const taking = subjects.filter((subject) => measurement.subjects.includes(subject.name))
  for (let round = 0; round < rounds; round++) {
    for (const subject of taking) {
      const sample = await measure(subject, measurement.load)
      measured.samples.set(subject.name, [...(measured.samples.get(subject.name) ?? []), sample])
    }
  }
  const told = taking.map((subject) => {
    const figures = figuresOf(measured, subject.name)
    if (figures?.invalid !== undefined) process.exitCode = 1
    return `${subject.title} ${figures?.invalid ?? `${figures?.micros.toFixed(1)} µs, p50 ${figures?.p50Ms.toFixed(2)} ms`}`
  })
  console.log(`${measurement.title}: ${told.join(' · ')}`)
  return measured
}

async function main(): Promise<void> {
  if (values.help) {
    console.log(help)
    return
  }
  const [seconds, rounds, workers] = [values.seconds, values.rounds, values.workers].map(Number)
  const only = values.only.split(',')
  const unknown = only.filter((group) => !groups.some((known) => known === group))
  if (unknown.length > 0 || !seconds || !rounds || !workers) throw new Error(`cannot be understood\n${help}`)

  const directory = mkdtempSync(join(values['data-dir'], 'sluice-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const upstream = await startUpstream(streamPaceMs)
  const subjects = [upstream]
  try {
    const sync = measureSync(directory)
    const place = { upstreamPort: upstream.port, workers, directory }
    subjects.push(...(await startSubjects(place)))
    const relays = subjects.slice(1)
    await warmUp(relays)
    const measured: Measured[] = []
    for (const measurement of planOf(seconds).filter(({ group }) => only.includes(group))) {
      measured.push(await measureInTurns(measurement, subjects, rounds))
    }
    const ledger = only.includes('ledger') ? await measureLedger(directory, seconds, rounds) : []
    const cluster = only.includes('cluster') ? await measureCluster(directory, seconds, rounds) : null
    const pressure = only.includes('pressure') ? await measurePressure(place, seconds, rounds) : null
    const processes = relays.filter(({ model }) => model === undefined)
    const peaks = new Map(processes.map((relay) => [relay, peakRssBytes(relay.pid)]))
    const date = new Date().toISOString().slice(0, 10)
    const nginx = nginxVersion()
    const report = reportOf({
      date,
      seconds,
      rounds,
      workers,
      nginx,
      sync,
      subjects,
      measured,
      ledger,
      cluster,
      pressure,
      peakRssBytes: peaks,
    })
    console.log(`\n${report}`)
    for (const relay of relays) await relay.verify?.()
    const whole =
      groups.every((group) => only.includes(group)) && relays.some(({ name }) => name === 'sluice')
    if (!whole) return
    mkdirSync(join(pathOfReport, '..'), { recursive: true })
    writeFileSync(pathOfReport, report)
    console.log(`written to ${pathOfReport}`)
  } finally {
    for (const subject of subjects.toReversed()) await subject.stop()
  }
}

await main()
