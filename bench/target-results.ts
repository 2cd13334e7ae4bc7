/** What a run was to reach, and whether it has. */

import type { ClusterFigures } from './cluster.ts'
import { addedLatencyMs, computeFigures } from './figures.ts'
import type { Figures, MeasuredLoad } from './figures.ts'
import { grouped } from './markdown.ts'
import { overloadResults } from './overload.ts'
import type { Run } from './measured-run.ts'
import type { SubjectName } from './subjects.ts'
import { compare, hundredths, single, type TargetResult } from './targets.ts'
import { verificationResult } from './verification.ts'

const minSettledPerSecond = 10_000
const minClusterPerSecond = 15_000
const maxClusterMs = 50
const idleBounds = { required: 220, goal: 150 }
const peakBounds = { required: 450, goal: 300 }

export function targetResults(run: Run): TargetResult[] {
  const loads = run.measured.flatMap((measured) => {
    const { targetSubjects = ['sluice' as const] } = measured.measurement
    return targetSubjects.flatMap((name) => loadResult(run, measured, name))
  })
  const ledger = run.ledger.map(({ inFlight, perSecond }) => {
    const load = `Ledger only, ${inFlight} requests in flight`
    const measure = 'holds and settles per second'
    const target = { load, measure, required: minSettledPerSecond, isMinimum: true, format: grouped }
    return compare(target, single(perSecond))
  })
  const overload = run.overload === null ? [] : overloadResults(run.overload)
  const verification = run.verification === null ? [] : [verificationResult(run.verification)]
  return [...loads, ...memoryResults(run), ...ledger, ...verification, ...clusterResult(run), ...overload]
}

function loadResult(run: Run, measured: MeasuredLoad, name: SubjectName): TargetResult[] {
  const { measurement } = measured
  const { targetRatio, targetAddedMs, targetNoFailure, unit, base } = measurement
  const own = computeFigures(measured, name)
  // A repetition counts with what it repeats.
  const isRepetition = run.measured.some(({ measurement: { title } }) => title === measurement.repeats)
  if (!own || isRepetition) return []
  const title = run.subjects.find((subject) => subject.name === name)?.title ?? name
  const load = name === 'sluice' ? measurement.title : `${measurement.title}: ${title}`
  const worse = worseOf(run, measurement.title, own, name)
  if (targetRatio !== undefined && worse.ratio !== undefined) {
    const measure = `CPU per ${unit}, × ${base?.label ?? 'the baseline relay'}`
    return [compare({ load, measure, ...targetRatio, format: hundredths }, worse.ratio, worse.invalid)]
  }
  const added = addedLatencyMs(measured, name)
  if (targetAddedMs !== undefined && added !== undefined) {
    const { p50Ms: sync } = run.sync
    const measure = `ms added to the median, less one disk sync (${hundredths(sync)} ms)`
    const less = { q1: added.q1 - sync, median: added.median - sync, q3: added.q3 - sync }
    return [compare({ load, measure, ...targetAddedMs, format: hundredths }, less, own.invalid)]
  }
  if (!targetNoFailure) return []
  return [compare({ load, measure: 'failures', required: 0, format: grouped }, single(0), own.invalid)]
}

/** These figures or those of the repetition, whichever are worse. */
function worseOf(run: Run, title: string, own: Figures, name: SubjectName): Figures {
  const repetition = run.measured.find(({ measurement }) => measurement.repeats === title)
  const repeated = repetition && computeFigures(repetition, name)
  if (!repeated || own.invalid !== undefined) return own
  const isWorse = repeated.invalid !== undefined || (repeated.ratio?.q3 ?? 0) > (own.ratio?.q3 ?? 0)
  return isWorse ? repeated : own
}

function memoryResults({ memory, isComplete }: Run): TargetResult[] {
  if (memory === null) return []
  const format = grouped
  const idle = { load: 'Idle, 25 seconds after a start', measure: 'memory, MB', ...idleBounds, format }
  const peak = { load: 'The entire run', measure: 'peak memory, MB', ...peakBounds, format }
  return memory
    .filter(({ subject }) => subject.name === 'sluice')
    .flatMap(({ idleMiB, peakMiB }) => [
      compare(idle, single(idleMiB)),
      ...(isComplete ? [compare(peak, single(peakMiB))] : []),
    ])
}

/** The load with the highest throughput within the latency bound, otherwise with the highest throughput at all. */
function clusterResult({ cluster }: Run): TargetResult[] {
  if (cluster === null) return []
  const within = cluster.figures.filter(({ chargeP99Ms }) => chargeP99Ms <= maxClusterMs)
  const [best] = (within.length > 0 ? within : cluster.figures).toSorted(
    (one, other) => other.perSecond - one.perSecond,
  )
  return best ? [hotAccountResult(best)] : []
}

function hotAccountResult({ perSecond, chargeP99Ms, p99Ms }: ClusterFigures): TargetResult {
  const isMet = perSecond >= minClusterPerSecond && chargeP99Ms <= maxClusterMs
  return {
    load: 'Ledger of three nodes, one hot account',
    measure: 'holds and settles per second; p99 of a charge',
    required: `≥ ${grouped(minClusterPerSecond)}; ≤ ${maxClusterMs} ms`,
    goal: '',
    figure: `${grouped(perSecond)}; ${chargeP99Ms.toFixed(0)} ms (${p99Ms.toFixed(0)} ms with its hold)`,
    result: isMet ? 'met' : 'missed',
  }
}
