/**
 * The load of the bench, a process of its own: N connections over raw sockets, each asking again as soon as it has its
 * answer, each answer compared byte by byte. Started with an IPC channel and its settings as JSON in the first
 * argument; tells when it begins to measure, what it measured, and, when nothing is in flight, what was answered in all.
 */

import { createHistogram } from 'node:perf_hooks'

import { Caller } from './load-connection.ts'
import { questionBody } from './payloads.ts'
import type { Question } from './payloads.ts'

export interface LoadSettings {
  port: number
  key: string
  question: Question
  model: string
  /** The answer is passed on, byte for byte; else translated. */
  isPassedOn: boolean
  connections: number
  warmSeconds: number
  seconds: number
}

export interface LoadResult {
  seconds: number
  answers: number
  /** Events of streams, and the reads in which they came: fewer reads than events means that the relay gathered. */
  events: number
  reads: number
  /** Of whole answers until their last byte, of streams until their first event, in ms. */
  p50Ms: number
  p99Ms: number
  /** Processor time of this generator. */
  ownCpuMicros: number
}

/** Over the whole load: warming up, measuring and what was still in flight then. */
export interface LoadTotals {
  answers: number
  failures: number
  /** A few of their reasons. */
  reasons: string[]
}

export type LoadMessage =
  | { phase: 'measuring' }
  | { phase: 'measured'; result: LoadResult }
  | { phase: 'drained'; totals: LoadTotals }

const settings = JSON.parse(process.argv[2] ?? '{}') as LoadSettings
const latency = createHistogram()
const counts = { answers: 0, events: 0, reads: 0 }
const totals: LoadTotals = { answers: 0, failures: 0, reasons: [] }
let asking = true
let ended = 0

const request = requestBytes()
const callers = Array.from(
  { length: settings.connections },
  () =>
    new Caller({
      port: settings.port,
      request,
      streamed: settings.question === 'stream',
      isPassedOn: settings.isPassedOn,
      tell: told,
    }),
)

function told(caller: Caller, event: 'answer' | 'failure' | 'read', value: number | string): void {
  if (event === 'read') {
    counts.reads++
    counts.events += Number(value)
    return
  }
  if (event === 'answer') {
    counts.answers++
    totals.answers++
    latency.record(Math.max(1, Math.round(Number(value) * 1e6)))
  } else {
    totals.failures++
    if (totals.reasons.length < 5) totals.reasons.push(String(value))
  }
  if (asking) {
    caller.ask()
    return
  }
  caller.hangUp()
  if (++ended === callers.length) end()
}

function requestBytes(): Buffer {
  const body = questionBody(settings.question, settings.model)
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: 127.0.0.1:${settings.port}`,
    `authorization: Bearer ${settings.key}`,
    'content-type: application/json',
    'accept: application/json',
    'user-agent: bench',
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

function send(message: LoadMessage): void {
  process.send?.(message)
}

function end(): void {
  send({ phase: 'drained', totals })
  process.disconnect?.()
}

function measure(): void {
  Object.assign(counts, { answers: 0, events: 0, reads: 0 })
  latency.reset()
  const start = performance.now()
  const cpu = process.cpuUsage()
  send({ phase: 'measuring' })
  setTimeout(() => {
    asking = false
    const own = process.cpuUsage(cpu)
    const result: LoadResult = {
      seconds: (performance.now() - start) / 1000,
      ...counts,
      p50Ms: latency.percentile(50) / 1e6,
      p99Ms: latency.percentile(99) / 1e6,
      ownCpuMicros: own.user + own.system,
    }
    send({ phase: 'measured', result })
  }, settings.seconds * 1000)
}

for (const caller of callers) caller.ask()
setTimeout(measure, settings.warmSeconds * 1000)
process.once('disconnect', () => process.exit())
