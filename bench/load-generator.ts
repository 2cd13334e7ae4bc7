/**
 * The load generator, a process of its own: N connections over raw sockets, each sending the next request as
 * soon as it has its response, and each response compared byte by byte. Started with an IPC channel and its
 * settings as JSON in the first argument. It reports when it starts to measure, what it measured and, when
 * nothing is in flight any more, the totals.
 */

import { createHistogram } from 'node:perf_hooks'

import { LoadConnection } from './load-connection.ts'
import { expectedResponse, pathFor } from './operation-payloads.ts'
import { requestBody } from './payloads.ts'
import type { RequestKind } from './payloads.ts'

export interface LoadSettings {
  port: number
  key: string
  /** Lines of the request's head, in addition to the usual ones. */
  headers: readonly string[]
  kind: RequestKind
  model: string
  /** Responses are passed through byte for byte; otherwise they are translated. */
  isPassthrough: boolean
  connections: number
  warmSeconds: number
  seconds: number
}

export interface LoadResult {
  seconds: number
  answers: number
  /**
   * Events of streams and the reads in which they arrived. Fewer reads than events mean that the relay
   * batched them.
   */
  events: number
  reads: number
  /** Until the last byte of a non-streaming response, or the first event of a stream, in ms. */
  p50Ms: number
  p99Ms: number
  /** Processor time of this load generator. */
  ownCpuMicros: number
}

/** Over the whole load: warm-up, measurement and draining. */
export interface LoadTotals {
  answers: number
  failures: number
  /** Some of their reasons. */
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
let isSending = true
let closedConnections = 0

const request = requestBytes()
const expected = expectedResponse(settings.kind)
const connections = Array.from(
  { length: settings.connections },
  () =>
    new LoadConnection({
      port: settings.port,
      request,
      isStream: settings.kind === 'stream' || settings.kind === 'responses-stream',
      expected,
      isPassthrough: settings.isPassthrough,
      onEvent: onConnectionEvent,
    }),
)

function onConnectionEvent(
  caller: LoadConnection,
  event: 'answer' | 'failure' | 'read',
  value: number | string,
): void {
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
  if (isSending) {
    caller.sendRequest()
    return
  }
  caller.close()
  if (++closedConnections === connections.length) finish()
}

function requestBytes(): Buffer {
  const body = requestBody(settings.kind, settings.model)
  const head = [
    `POST ${pathFor(settings.kind)} HTTP/1.1`,
    `host: 127.0.0.1:${settings.port}`,
    `authorization: Bearer ${settings.key}`,
    'content-type: application/json',
    'accept: application/json',
    'user-agent: bench',
    ...settings.headers,
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

function send(message: LoadMessage): void {
  process.send?.(message)
}

function finish(): void {
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
    isSending = false
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

for (const caller of connections) caller.sendRequest()
setTimeout(measure, settings.warmSeconds * 1000)
process.once('disconnect', () => process.exit())
