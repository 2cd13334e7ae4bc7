/** Measures subjects in alternating rounds, so that all of them have the same machine. */

import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

import { computeFigures } from './figures.ts'
import type { MeasuredLoad } from './figures.ts'
import { measure } from './measure.ts'
import type { Sample } from './measure.ts'
import type { Measurement } from './plan.ts'
import { startProduct } from './product.ts'
import { startBaselineRelay } from './subjects.ts'
import type { BenchEnvironment, Subject } from './subjects.ts'

export interface RoundsContext {
  readonly environment: BenchEnvironment
  readonly subjects: readonly Subject[]
  /** Of the load of a row, before its first round. */
  readonly warmSeconds: number
}

/** Measures one row of the plan and prints its figures. Undefined if fewer than two subjects run. */
export async function measureInRounds(
  measurement: Measurement,
  context: RoundsContext,
): Promise<MeasuredLoad | undefined> {
  const participants = context.subjects.filter(({ name }) => measurement.subjects.includes(name))
  if (participants.length < 2) return undefined
  const measured: MeasuredLoad = { measurement, samples: new Map() }
  const { repeats, isFresh = false } = measurement
  if (repeats === undefined && !isFresh) await warmUp(participants, measurement, context.warmSeconds)
  for (let round = 0; round < measurement.rounds; round++) {
    for (const subject of participants) {
      const { load } = measurement
      const sample = isFresh
        ? await measureFresh(subject, measurement, context.environment)
        : await measure(subject, load)
      measured.samples.set(subject.name, [...(measured.samples.get(subject.name) ?? []), sample])
    }
  }
  printSummary(measured, participants)
  return measured
}

/** Code that has run only briefly is not fully optimised yet. */
async function warmUp(
  subjects: readonly Subject[],
  { load, title }: Measurement,
  seconds: number,
): Promise<void> {
  for (const subject of subjects) {
    const { invalid } = await measure(subject, { ...load, warmSeconds: 0, seconds })
    if (invalid !== undefined) console.log(`${title}: ${subject.title}, warming up: ${invalid}`)
  }
}

/** Measures another instance of this subject, which ends afterwards. */
async function measureFresh(
  { name }: Subject,
  { load }: Measurement,
  environment: BenchEnvironment,
): Promise<Sample> {
  const directory = mkdtempSync(join(environment.directory, 'fresh-'))
  const start = name === 'sluice' ? startProduct : startBaselineRelay
  const subject = await start({ ...environment, directory })
  try {
    return await measure(subject, load)
  } finally {
    await subject.stop()
  }
}

function printSummary(measured: MeasuredLoad, participants: readonly Subject[]): void {
  const summaries = participants.map((subject) => {
    const figures = computeFigures(measured, subject.name)
    if (figures?.invalid !== undefined) process.exitCode = 1
    return `${subject.title} ${figures?.invalid ?? `${figures?.micros.median.toFixed(1)} µs, p50 ${figures?.p50Ms.toFixed(2)} ms`}`
  })
  console.log(`${measured.measurement.title}: ${summaries.join(' · ')}`)
}
