/**
 * Aggregates samples: medians over the rounds, and ratios within one round, in which both sides had the same
 * machine.
 */

import { threadRoles, type ThreadMicros, type ThreadRole } from './cpu.ts'
import type { Sample } from './measure.ts'
import type { Measurement } from './plan.ts'
import { median, quartiles, type Quartiles } from './quartiles.ts'
import type { SubjectName } from './subjects.ts'

/** The samples of one measurement, by subject, one per round. */
export interface MeasuredLoad {
  measurement: Measurement
  samples: Map<SubjectName, Sample[]>
}

export interface Figures {
  /** Processor time of all threads and processes per request or chunk. */
  micros: Quartiles
  perCorePerSecond: number
  /** Responses or chunks per second, as the load generator measured them. */
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Stream chunks per read of the client. 1: each was delivered individually. */
  chunksPerRead: number
  /** Relative to the base of the measurement in the same round. */
  ratio: Quartiles | undefined
  /** Of the product: processor time per request or chunk, by thread. */
  threads: ThreadMicros | undefined
  /** Of the product: durable commits per request or chunk. */
  commits: number | undefined
  invalid: string | undefined
}

export function computeFigures(measured: MeasuredLoad, subject: SubjectName): Figures | undefined {
  const samples = measured.samples.get(subject) ?? []
  if (samples.length === 0) return undefined
  const micros = samples.map((sample) => microsOf(measured, sample))
  const baselineSamples = measured.samples.get(measured.measurement.base?.name ?? 'baseline') ?? []
  const ratios = micros.flatMap((own, round) => {
    const baseline = baselineSamples[round]
    return baseline ? [own / microsOf(measured, baseline)] : []
  })
  return {
    micros: quartiles(micros),
    perCorePerSecond: 1e6 / median(micros),
    perSecond: median(samples.map((sample) => unitsOf(measured, sample) / sample.seconds)),
    p50Ms: median(samples.map((sample) => sample.p50Ms)),
    p99Ms: median(samples.map((sample) => sample.p99Ms)),
    chunksPerRead: median(samples.map((sample) => sample.events / Math.max(1, sample.reads))),
    ratio: ratios.length > 0 ? quartiles(ratios) : undefined,
    threads: threadsPerUnit(measured, samples),
    commits: commitsPerUnit(measured, samples),
    invalid: samples.find((sample) => sample.invalid !== undefined)?.invalid,
  }
}

/** The latency that a subject adds to the median of calling the upstream directly, per round. */
export function addedLatencyMs(measured: MeasuredLoad, subject: SubjectName): Quartiles | undefined {
  const direct = measured.samples.get('direct') ?? []
  const added = (measured.samples.get(subject) ?? []).flatMap((sample, round) => {
    const baseline = direct[round]
    return baseline ? [sample.p50Ms - baseline.p50Ms] : []
  })
  return added.length > 0 ? quartiles(added) : undefined
}

function threadsPerUnit(measured: MeasuredLoad, samples: Sample[]): ThreadMicros | undefined {
  const perUnit = (role: ThreadRole): number =>
    median(samples.map((sample) => (sample.threads?.[role] ?? NaN) / unitsOf(measured, sample)))
  if (samples.some((sample) => sample.threads === undefined)) return undefined
  const entries = threadRoles.map((role) => [role, perUnit(role)] as const)
  return Object.fromEntries(entries) as ThreadMicros
}

function commitsPerUnit(measured: MeasuredLoad, samples: Sample[]): number | undefined {
  if (samples.some((sample) => sample.commits === undefined)) return undefined
  return median(samples.map((sample) => (sample.commits ?? NaN) / unitsOf(measured, sample)))
}

function microsOf(measured: MeasuredLoad, sample: Sample): number {
  return sample.cpuMicros / unitsOf(measured, sample)
}

function unitsOf({ measurement }: MeasuredLoad, sample: Sample): number {
  return measurement.unit === 'chunk' ? sample.events : sample.answers
}
