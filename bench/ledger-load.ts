/** A worker's thread that only holds and settles: so many at once, over the same line to the authority as a real one's. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'

import { newId } from '../src/lib/ids.ts'
import type { RequestOutcome } from '../src/relay/bookkeeper.ts'
import { WorkerPort } from '../src/server/worker-port.ts'

export interface LedgerLoad {
  readonly authority: MessagePort
  readonly keyId: string
  readonly model: string
}

/** Asked of this thread; it answers with `LedgerSample`. */
export interface LedgerAsk {
  readonly inFlight: number
  readonly seconds: number
}

export interface LedgerSample {
  readonly inFlight: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const usage = { input: 100, cachedInput: 0, cacheWrite: 0, output: 50, reasoning: 0 }

function outcomeOf(model: string): RequestOutcome {
  return {
    httpStatus: 200,
    outcome: 'ok',
    upstream: null,
    finish: 'stop',
    errorCode: null,
    firstTokenMs: null,
    durationMs: 1,
    attempts: '[]',
    upstreamCost: null,
    isClamped: false,
    stream: false,
    model,
  }
}

/** One request's money: set aside, then charged, and on the disk. Its milliseconds. */
async function once(port: WorkerPort, { keyId, model }: LedgerLoad): Promise<number> {
  const startedMs = performance.now()
  const id = newId('req')
  const tokens = { inputTokens: 100, results: 1, askedTokens: 100 }
  const held = await port.hold({ id, keyId, model, ...tokens, stream: false })
  if (!held.granted) throw new Error(`a hold was refused: ${held.code}`)
  const outcome = outcomeOf(model)
  await port.settle({ id, usage, cause: 'provider', servedModel: null, outcome }, null)
  return performance.now() - startedMs
}

async function measure(port: WorkerPort, load: LedgerLoad, ask: LedgerAsk): Promise<LedgerSample> {
  const { inFlight, seconds } = ask
  const tookMs: number[] = []
  const startedMs = performance.now()
  const untilMs = startedMs + seconds * 1000
  const caller = async (): Promise<void> => {
    while (performance.now() < untilMs) tookMs.push(await once(port, load))
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  const lastedMs = performance.now() - startedMs
  tookMs.sort((left, right) => left - right)
  const at = (share: number): number => tookMs[Math.floor(share * (tookMs.length - 1))] ?? NaN
  return { inFlight, perSecond: (tookMs.length / lastedMs) * 1000, p50Ms: at(0.5), p99Ms: at(0.99) }
}

function serve(load: LedgerLoad, parent: MessagePort): void {
  const port = new WorkerPort(load.authority)
  const nothing = (): void => undefined
  const done = (): Promise<void> => Promise.resolve()
  port.serve({
    changed: done,
    count: done,
    state: nothing,
    circuits: nothing,
    learned: nothing,
    drain: nothing,
    end: nothing,
  })
  parent.on('message', (ask: LedgerAsk) => {
    void measure(port, load, ask).then((sample) => parent.postMessage(sample))
  })
}

if (parentPort) serve(workerData as LedgerLoad, parentPort)
