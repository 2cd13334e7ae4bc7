/** One measurement of one subject: a load for some seconds, and what the subject's processes took meanwhile. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { clientModel } from './payloads.ts'
import { cpuMicros } from './cpu.ts'
import type { LoadMessage, LoadResult, LoadSettings, LoadTotals } from './load-generator.ts'
import type { Subject } from './subjects.ts'

export interface Sample extends LoadResult {
  /** Processor time of the subject during the measured seconds, all its threads and processes together. */
  cpuMicros: number
  /** Why the sample does not count: answers that failed or were not charged. */
  invalid?: string
}

/** How long what is in flight at the end of the measured time may take. */
const drainSeconds = 20

export type Load = Omit<LoadSettings, 'port' | 'key' | 'model' | 'isPassedOn'>

export async function measure(subject: Subject, load: Load): Promise<Sample> {
  const { port, key, model = clientModel } = subject
  const settings: LoadSettings = { ...load, port, key, model, isPassedOn: model === clientModel }
  const child = fork(fileURLToPath(new URL('load.ts', import.meta.url)), [JSON.stringify(settings)])
  let before = 0
  let sample: Sample | undefined
  let totals: LoadTotals | undefined
  child.on('message', (message: LoadMessage) => {
    if (message.phase === 'measuring') before = takenBy(subject)
    if (message.phase === 'measured') sample = { ...message.result, cpuMicros: takenBy(subject) - before }
    if (message.phase === 'drained') totals = message.totals
  })
  const patience = setTimeout(
    () => child.kill('SIGKILL'),
    (load.warmSeconds + load.seconds + drainSeconds) * 1000,
  )
  await once(child, 'exit')
  clearTimeout(patience)
  if (!sample) throw new Error(`the load on ${subject.title} broke off`)
  const fault = totals ? await faultOf(subject, totals) : 'answers that never came'
  return fault === undefined ? sample : { ...sample, invalid: fault }
}

async function faultOf(subject: Subject, totals: LoadTotals): Promise<string | undefined> {
  if (totals.failures > 0) return `${totals.failures} failed: ${totals.reasons.join('; ')}`
  if (totals.answers === 0) return 'no answers'
  try {
    await subject.charged?.(totals.answers)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function takenBy(subject: Subject): number {
  return subject.pid === 0 ? 0 : cpuMicros(subject.pid)
}
