/**
 * One measurement of one subject: a load for some seconds, and the resources that the subject's processes
 * used.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { clientModel } from './payloads.ts'
import { cpuMicros, threadMicros, threadRoles, type ThreadMicros } from './cpu.ts'
import type { LoadMessage, LoadResult, LoadSettings, LoadTotals } from './load-generator.ts'
import type { Subject } from './subjects.ts'

export interface Sample extends LoadResult {
  /** Processor time of the subject during the measurement, over all its threads and processes. */
  cpuMicros: number
  /** Of a product: the same, by thread. */
  threads?: ThreadMicros
  /** Of a product: durable commits during the measurement. */
  commits?: number
  /** Why the sample does not count: responses failed or were not charged. */
  invalid?: string
}

/** How long requests in flight at the end of the measurement may take. */
const drainSeconds = 20

export type Load = Omit<LoadSettings, 'port' | 'key' | 'headers' | 'model' | 'isPassthrough'>

export async function measure(subject: Subject, load: Load): Promise<Sample> {
  const { port, key, headers = [], model = clientModel } = subject
  const isPassthrough = subject.isPassthrough ?? model === clientModel
  const settings: LoadSettings = { ...load, port, key, headers, model, isPassthrough }
  const child = fork(fileURLToPath(new URL('./load-generator.ts', import.meta.url)), [
    JSON.stringify(settings),
  ])
  let before: Usage | undefined
  let sample: Sample | undefined
  let totals: LoadTotals | undefined
  child.on('message', (message: LoadMessage) => {
    if (message.phase === 'measuring') before = usageOf(subject)
    if (message.phase === 'measured' && before)
      sample = { ...message.result, ...difference(usageOf(subject), before) }
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

type Usage = Pick<Sample, 'cpuMicros' | 'threads' | 'commits'>

/** So far. */
function usageOf(subject: Subject): Usage {
  if (subject.pid === 0) return { cpuMicros: 0 }
  const cpu = cpuMicros(subject.pid)
  if (!subject.countCommits) return { cpuMicros: cpu }
  return { cpuMicros: cpu, threads: threadMicros(subject.pid), commits: subject.countCommits() }
}

function difference(after: Usage, before: Usage): Usage {
  const cpu = after.cpuMicros - before.cpuMicros
  const { threads, commits } = after
  if (!threads || !before.threads || commits === undefined) return { cpuMicros: cpu }
  const { threads: earlier, commits: earlierCommits = 0 } = before
  const used = threadRoles.map((role) => [role, Math.max(0, threads[role] - earlier[role])] as const)
  return {
    cpuMicros: cpu,
    threads: Object.fromEntries(used) as ThreadMicros,
    commits: commits - earlierCommits,
  }
}
