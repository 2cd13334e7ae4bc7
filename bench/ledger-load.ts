/** A worker's thread that only holds and settles: so many at once, over the same line to the authority as a real one's. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'

import { newId } from '../src/lib/ids.ts'
import { outcome as ended } from '../src/relay/request-outcome.fixture.ts'
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
  /** From asking for the hold until the bill is on the disk. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the second half alone: from when the cost is known until the bill is on the disk. */
  readonly chargeP99Ms: number
}

const usage = { input: 100, cachedInput: 0, cacheWrite: 0, output: 50, reasoning: 0 }

/** One request's money: set aside, then charged, and on the disk. Its milliseconds, and those of the charge. */
async function once(port: WorkerPort, { keyId, model }: LedgerLoad): Promise<[number, number]> {
  const startedMs = performance.now()
  const id = newId('req')
  const tokens = { inputTokens: 100, results: 1, askedTokens: 100 }
  const held = await port.hold({ id, keyId, model, ...tokens, stream: false })
  if (!held.granted) throw new Error(`a hold was refused: ${held.code}`)
  const heldMs = performance.now()
  const outcome = { ...ended, model }
  await port.settle({ id, usage, cause: 'provider', servedModel: null, outcome }, null)
  const chargedMs = performance.now()
  return [chargedMs - startedMs, chargedMs - heldMs]
}

/** The given share of the values lies at or below. */
function shareOf(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(share * (values.length - 1))] ?? NaN
}

async function measure(port: WorkerPort, load: LedgerLoad, ask: LedgerAsk): Promise<LedgerSample> {
  const { inFlight, seconds } = ask
  const tookMs: number[] = []
  const chargesMs: number[] = []
  const startedMs = performance.now()
  const untilMs = startedMs + seconds * 1000
  const caller = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const [whole, charge] = await once(port, load)
      tookMs.push(whole)
      chargesMs.push(charge)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  const lastedMs = performance.now() - startedMs
  return {
    inFlight,
    perSecond: (tookMs.length / lastedMs) * 1000,
    p50Ms: shareOf(tookMs, 0.5),
    p99Ms: shareOf(tookMs, 0.99),
    chargeP99Ms: shareOf(chargesMs, 0.99),
  }
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
