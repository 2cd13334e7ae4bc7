/**
 * One measurement of one subject: a load for some seconds, and the resources that the subject's processes
 * used.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { clientModel } from './payloads.ts'
import { cpuMicros } from './cpu.ts'
import type { LoadMessage, LoadResult, LoadSettings, LoadTotals } from './load-generator.ts'
import type { Subject } from './subjects.ts'

export interface Sample extends LoadResult {
  /** Processor time of the subject during the measurement, over all its threads and processes. */
  cpuMicros: number
  /** Why the sample does not count: responses failed or were not charged. */
  invalid?: string
}

/** How long requests in flight at the end of the measurement may take. */
const drainSeconds = 20

export type Load = Omit<LoadSettings, 'port' | 'key' | 'model' | 'isPassthrough'>

export async function measure(subject: Subject, load: Load): Promise<Sample> {
  const { port, key, model = clientModel } = subject
  const settings: LoadSettings = { ...load, port, key, model, isPassthrough: model === clientModel }
  const child = fork(fileURLToPath(new URL('./load-generator.ts', import.meta.url)), [
    JSON.stringify(settings),
  ])
  let before = 0
  let sample: Sample | undefined
  let totals: LoadTotals | undefined
  child.on('message', (message: LoadMessage) => {
    if (message.phase === 'measuring') before = cpuMicrosOf(subject)
    if (message.phase === 'measured') sample = { ...message.result, cpuMicros: cpuMicrosOf(subject) - before }
    if (message.phase === 'drained') totals = message.totals
  })
  const timeout = setTimeout(
    () => child.kill('SIGKILL'),
    (load.warmSeconds + load.seconds + drainSeconds) * 1000,
  )
  await once(child, 'exit')
  clearTimeout(timeout)
  if (!sample) throw new Error(`the load on ${subject.title} was interrupted`)
  const invalid = totals ? await invalidReason(subject, totals) : 'missing responses'
  return invalid === undefined ? sample : { ...sample, invalid }
}

async function invalidReason(subject: Subject, totals: LoadTotals): Promise<string | undefined> {
  if (totals.failures > 0) return `${totals.failures} failed: ${totals.reasons.join('; ')}`
  if (totals.answers === 0) return 'no responses'
  try {
    await subject.checkCharged?.(totals.answers)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function cpuMicrosOf(subject: Subject): number {
  return subject.pid === 0 ? 0 : cpuMicros(subject.pid)
}
