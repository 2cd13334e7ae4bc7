/** A worker thread that only holds and settles, over the same channel to the authority as a real worker. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'

import { asApiError } from '../src/errors.ts'
import { newId } from '../src/lib/ids.ts'
import { outcome as ended } from '../src/relay/request-outcome.fixture.ts'
import { apiErrors, Channel } from '../src/rpc/channel.ts'
import { RemoteLedger, type MainChannel } from '../src/process/workers/remote-ledger.ts'

export interface LedgerLoad {
  readonly authority: MessagePort
  readonly keyId: string
  readonly model: string
}

/** A request to this thread, which answers with a `LedgerSample`. */
export interface LedgerLoadRequest {
  readonly inFlight: number
  readonly seconds: number
}

export interface LedgerSample {
  readonly inFlight: number
  readonly perSecond: number
  /** From requesting the hold until the bill is on disk. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** The second half only: from when the cost is known until the bill is on disk. */
  readonly chargeP99Ms: number
}

const usage = { input: 100, cachedInput: 0, cacheWrite: 0, output: 50, reasoning: 0 }

/** Holds and settles one request durably. Returns the duration in ms, in total and of the charge alone. */
async function holdAndSettle(port: RemoteLedger, { keyId, model }: LedgerLoad): Promise<[number, number]> {
  const startedMs = performance.now()
  const id = newId('req')
  const tokens = { inputTokens: 100, results: 1, requestedTokens: 100, searches: 0 }
  const held = await port.hold({ id, keyId, model, ...tokens, stream: false })
  if (!held.granted) throw new Error(`a hold was rejected: ${held.code}`)
  const heldMs = performance.now()
  const outcome = { ...ended, model }
  await port.settle({ id, usage, cause: 'provider', servedModel: null, outcome }, null)
  const chargedMs = performance.now()
  return [chargedMs - startedMs, chargedMs - heldMs]
}

/** The value below which the given share of the values lies. */
function percentile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(share * (values.length - 1))] ?? NaN
}

async function measure(
  port: RemoteLedger,
  load: LedgerLoad,
  request: LedgerLoadRequest,
): Promise<LedgerSample> {
  const { inFlight, seconds } = request
  const tookMs: number[] = []
  const chargesMs: number[] = []
  const startedMs = performance.now()
  const untilMs = startedMs + seconds * 1000
  const caller = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const [total, charge] = await holdAndSettle(port, load)
      tookMs.push(total)
      chargesMs.push(charge)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  const lastedMs = performance.now() - startedMs
  return {
    inFlight,
    perSecond: (tookMs.length / lastedMs) * 1000,
    p50Ms: percentile(tookMs, 0.5),
    p99Ms: percentile(tookMs, 0.99),
    chargeP99Ms: percentile(chargesMs, 0.99),
  }
}

function serve(load: LedgerLoad, parent: MessagePort): void {
  const channel: MainChannel = new Channel(load.authority, apiErrors(asApiError))
  const port = new RemoteLedger(channel)
  channel.serve({ batched: port.events })
  parent.on('message', (request: LedgerLoadRequest) => {
    void measure(port, load, request).then((sample) => parent.postMessage(sample))
  })
}

if (parentPort) serve(workerData as LedgerLoad, parentPort)
