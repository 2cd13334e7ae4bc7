/** Writes down what was measured, as Markdown: one table of verdicts, one table per load, and how to read them. */

import { cpus, release, totalmem } from 'node:os'

import { addedMs, figuresOf } from './figures.ts'
import type { ClusterRun } from './cluster.ts'
import type { Figures, Measured } from './figures.ts'
import type { SyncTimes } from './disk-sync.ts'
import type { LedgerFigures } from './ledger.ts'
import { grouped, table, type Verdict } from './markdown.ts'
import { pressureTable, pressureVerdicts, type PressureFigures } from './overload.ts'
import type { Subject, SubjectName } from './subjects.ts'

export interface Run {
  date: string
  seconds: number
  rounds: number
  workers: number
  nginx: string | undefined
  sync: SyncTimes
  subjects: Subject[]
  measured: Measured[]
  ledger: LedgerFigures[]
  /** Null: PostgreSQL is not installed, or it was not asked for. */
  cluster: ClusterRun | null
  pressure: PressureFigures | null
  peakRssBytes: Map<Subject, number>
}

const leastSettledPerSecond = 10_000
const leastOverNodesPerSecond = 15_000
const mostOverNodesMs = 50

export function verdictsOf(run: Run): Verdict[] {
  const loads = run.measured.flatMap((measured) => {
    const { judged = ['sluice' as const] } = measured.measurement
    return judged.flatMap((name) => verdictOf(run, measured, name))
  })
  const ledger = run.ledger.map(({ inFlight, perSecond }) => ({
    what: `The ledger alone, ${inFlight} requests in flight`,
    target: `holds and settles ≥ ${grouped(leastSettledPerSecond)} a second`,
    figure: grouped(perSecond),
    met: perSecond >= leastSettledPerSecond,
  }))
  const pressure = run.pressure === null ? [] : pressureVerdicts(run.pressure)
  return [...loads, ...ledger, ...clusterVerdict(run), ...pressure]
}

/** By the load under which it settles the most within the bound, else the most at all. */
function clusterVerdict({ cluster }: Run): Verdict[] {
  if (cluster === null) return []
  const within = cluster.figures.filter(({ chargeP99Ms }) => chargeP99Ms <= mostOverNodesMs)
  const [best] = (within.length > 0 ? within : cluster.figures).toSorted(
    (one, other) => other.perSecond - one.perSecond,
  )
  if (!best) return []
  const { perSecond, chargeP99Ms, p99Ms } = best
  return [
    {
      what: 'The ledger of three nodes, one hot account',
      target: `holds and settles ≥ ${grouped(leastOverNodesPerSecond)} a second, p99 of a charge ≤ ${mostOverNodesMs} ms`,
      figure: `${grouped(perSecond)}, ${chargeP99Ms.toFixed(0)} ms (${p99Ms.toFixed(0)} ms with its hold)`,
      met: perSecond >= leastOverNodesPerSecond && chargeP99Ms <= mostOverNodesMs,
    },
  ]
}

function verdictOf(run: Run, measured: Measured, name: SubjectName): Verdict[] {
  const { measurement } = measured
  const own = figuresOf(measured, name)
  if (!own) return []
  const title = run.subjects.find((subject) => subject.name === name)?.title ?? name
  const verdict = (target: string, figure: string, met: boolean): Verdict[] => [
    {
      what: name === 'sluice' ? measurement.title : `${measurement.title}: ${title}`,
      target,
      figure: own.invalid ?? figure,
      met: met && own.invalid === undefined,
    },
  ]
  const { targetRatio, targetAddedMs, targetNoFailure } = measurement
  if (targetRatio !== undefined && own.ratio !== undefined) {
    const base = measurement.base?.words ?? 'the bare relay'
    const what = `CPU per ${measurement.unit} ≤ ${targetRatio} × ${base}`
    return verdict(what, `${own.ratio.toFixed(2)} ×`, own.ratio <= targetRatio)
  }
  if (targetAddedMs !== undefined) {
    const most = targetAddedMs + run.sync.p50Ms
    const added = addedMs(measured, name) ?? Infinity
    const what = `adds ≤ ${most.toFixed(2)} ms to the median (${targetAddedMs} ms and one disk sync)`
    return verdict(what, `${added.toFixed(2)} ms`, added <= most)
  }
  if (targetNoFailure) return verdict('no failure', 'none', true)
  return []
}

export function reportOf(run: Run): string {
  return [
    '# Performance',
    '',
    `Made by \`npm run bench\` on ${run.date}; do not edit.`,
    '',
    machine(run),
    '',
    '## Against what we hold ourselves to',
    '',
    ...table(
      ['Load', 'Target', 'Measured', ''],
      verdictsOf(run).map(({ what, target, figure, met }) => [what, target, figure, met ? 'met' : 'missed']),
    ),
    '',
    ...run.measured.flatMap((measured) => [
      `## ${measured.measurement.title}`,
      '',
      ...loadTable(run, measured),
      '',
    ]),
    ...ledgerTable(run),
    ...clusterTable(run),
    ...(run.pressure === null ? [] : pressureTable(run.pressure)),
    '## Memory',
    '',
    ...table(
      ['', 'Peak resident memory over the whole run'],
      [...run.peakRssBytes].map(([subject, bytes]) => [subject.title, `${Math.round(bytes / 2 ** 20)} MB`]),
    ),
    '',
    ...howToRead(run),
    '',
  ].join('\n')
}

function machine(run: Run): string {
  const [first] = cpus()
  return [
    `${first?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB;`,
    `Linux ${release()}; Node ${process.versions.node}; nginx ${run.nginx ?? 'not installed'};`,
    `a disk sync of 4 KiB takes ${run.sync.p50Ms.toFixed(2)} ms (p50; p99 ${run.sync.p99Ms.toFixed(2)} ms).`,
    `${run.workers} worker${run.workers === 1 ? '' : 's'} each; ${run.rounds} rounds of ${run.seconds} s.`,
  ].join(' ')
}

function loadTable(run: Run, measured: Measured): string[] {
  const { unit, group, base } = measured.measurement
  const latency = group === 'latency'
  const stream = unit === 'chunk'
  const head = ['', `CPU µs per ${unit}`, `${unit}s/s per core`, `${unit}s/s seen`, 'p50 ms', 'p99 ms']
  const last = latency ? 'added to p50, ms' : `× ${base?.words ?? 'bare relay'}`
  const rows = run.subjects.flatMap((subject) => {
    const figures = figuresOf(measured, subject.name)
    if (!figures) return []
    const cells =
      figures.invalid === undefined
        ? numbersOf(figures, subject.pid > 0)
        : [`invalid: ${figures.invalid}`, '', '', '', '']
    const compared = latency ? addedMs(measured, subject.name)?.toFixed(2) : figures.ratio?.toFixed(2)
    return [[subject.title, ...cells, compared ?? '', ...(stream ? [figures.chunksPerRead.toFixed(2)] : [])]]
  })
  return table([...head, last, ...(stream ? ['chunks per read'] : [])], rows)
}

function ledgerTable({ ledger }: Run): string[] {
  if (ledger.length === 0) return []
  const head = ['', 'CPU µs per request', 'requests/s seen', 'p50 ms', 'p99 ms']
  const rows = ledger.map(({ inFlight, micros, perSecond, p50Ms, p99Ms }) => [
    `${inFlight} in flight`,
    micros.toFixed(1),
    grouped(perSecond),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
  ])
  return ['## The ledger alone: hold and settle', '', ...table(head, rows), '']
}

function clusterTable({ cluster }: Run): string[] {
  if (cluster === null) return []
  const head = [
    '',
    'CPU µs per request: nodes',
    'database',
    'requests/s seen',
    'p50 ms',
    'p99 ms',
    'p99 ms of the charge alone',
  ]
  const rows = cluster.figures.map(
    ({ inFlight, nodeMicros, databaseMicros, perSecond, p50Ms, p99Ms, chargeP99Ms }) => [
      `${inFlight} in flight`,
      nodeMicros.toFixed(1),
      databaseMicros.toFixed(1),
      grouped(perSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      chargeP99Ms.toFixed(2),
    ],
  )
  const { requests, entries, journal } = cluster.bytesPerRequest
  const bytes = `Each request adds ${grouped(requests)} bytes to its table, ${grouped(entries)} to the entries and ${grouped(journal)} to the journal, indexes included.`
  return [
    '## The ledger of three nodes: hold and settle on one account',
    '',
    ...table(head, rows),
    '',
    bytes,
    '',
  ]
}

function numbersOf(figures: Figures, isMeasured: boolean): string[] {
  const range = `${figures.lowestMicros.toFixed(0)}–${figures.highestMicros.toFixed(0)}`
  return [
    isMeasured ? `${figures.micros.toFixed(1)} (${range})` : '',
    isMeasured ? grouped(figures.perCorePerSecond) : '',
    grouped(figures.perSecond),
    figures.p50Ms.toFixed(2),
    figures.p99Ms.toFixed(2),
  ]
}

function howToRead(run: Run): string[] {
  return [
    '## How to read and repeat this',
    '',
    '`npm run bench` takes some minutes and wants the machine for itself. `npm run bench -- --only 1kb,stream` measures',
    `a part (of 1kb, 40kb, stream, latency, 256, dialects, ledger, cluster, pressure), \`--seconds\`, \`--rounds\` and \`--workers\` change the rest, and`,
    '`--data-dir` the disk. Only a whole run writes this page. nginx is left out where it is not installed.',
    '',
    'The relays stand side by side in one run, each in front of the same upstream on the same machine, over loopback and',
    'without TLS, and take turns: every load is measured on one after another, then again, and figures are medians over',
    'the rounds (lowest and highest in brackets). Load generator and upstream are processes of their own over raw sockets;',
    'their processor time does not count. Every answer is compared byte by byte.',
    '',
    '- **nginx, plain proxy** passes bytes on with keep-alive on both sides: about what the kernel costs.',
    '- **bare relay** (`bench/bare-relay.ts`): node:http and undici `dispatch`, one key looked up, the body parsed, the model',
    '  renamed, written again, the usage read and summed in memory; no limits, no ledger, no disk.',
    '- **Sluice** runs as shipped: authentication, limits (set, never reached) and durable exact billing on, log at its',
    '  default level. After each load its ledger must verify, hold nothing and have charged every answer to the nano;',
    '  otherwise the row is invalid.',
    '',
    `- **CPU µs**: user and system time of the whole process tree and all its threads, per request or streamed chunk.`,
    '- **per core**: a million divided by that. **seen**: what the load generator got, with everything on one machine.',
    '- **p50, p99**: until the last byte of a whole answer, the first event of a stream.',
    '- **× bare relay**: CPU against the bare relay’s in the same round.',
    '- **Translated**: upstreams that speak another format, with the same words and the same usage; **× passing on** is CPU',
    '  against the product where nothing is translated, in the same round.',
    '- **added to p50**: against asking the upstream directly in the same round. An answer is paid for durably before its',
    '  last byte goes out, and its hold before the first: the hold’s sync hides behind an upstream that takes its time, and',
    '  shows where the upstream answers at once.',
    '- **chunks per read**: 1.00 when each chunk reached the caller by itself; more when a relay was late and gathered them.',
    '- **The ledger alone**: one worker’s thread holds and settles over the same line to the authority as a relay’s, through the',
    '  store to the disk, without HTTP and upstream; p50 and p99 are from asking for the hold until the bill is on the disk.',
    '- **The ledger of three nodes**: the same on three processes over one PostgreSQL (with `fsync`), all of it for one account;',
    '  everything on this one machine, the database included. A charge alone is timed from when its cost is known until its',
    '  bill is on the disk. Afterwards the ledger must verify.',
    '- **Too much is asked**: a product of its own, by more connections than it can serve, beside connections that send one byte in ten',
    '  seconds, and with streams whose upstream has fallen silent. What is told are medians over the rounds, in turns.',
    '- *1 KB* and *40 KB* are the sizes of the request’s body; whole answers have about 1 KB.',
    `- Each relay ran with ${run.workers} worker${run.workers === 1 ? '' : 's'}: Sluice’s worker threads (beside its threads for money and disk), nginx’s worker`,
    '  processes, the bare relay’s threads.',
  ]
}
