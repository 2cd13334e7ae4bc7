/**
 * The ledger on its own: holds and settlements per second through a node's authority and store as its workers
 * request them, without HTTP and without upstreams. Runs in a process of its own:
 *
 *   node bench/ledger.ts <data directory> <seconds> <rounds>
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'

import { createAccount } from '../src/accounts/accounts.ts'
import { createKey } from '../src/accounts/keys.ts'
import { createModel } from '../src/catalog/models.ts'
import { referenceModels } from '../src/catalog/reference-models.ts'
import { readConfig } from '../src/config.ts'
import { parseAmount } from '../src/lib/money.ts'
import { createLog } from '../src/lib/log.ts'
import { toApiError } from '../src/db/store-error.ts'
import { apiErrors, Channel } from '../src/rpc/channel.ts'
import { noopCoreListener, type Core } from '../src/engine/core.ts'
import { openEmbeddedCore } from '../src/engine/sqlite/embedded-core.ts'
import { KeyUsage } from '../src/engine/key-usage.ts'
import { RejectionRecorder } from '../src/engine/rejection-recorder.ts'
import type { LedgerCalls, LedgerEvents } from '../src/engine/ledger-calls.ts'
import type { WorkerLedger } from '../src/engine/worker-ledger.ts'
import { median } from './quartiles.ts'
import type { LedgerLoadRequest, LedgerLoad, LedgerSample } from './ledger-load.ts'

const program = fileURLToPath(import.meta.url)
const by = 'bench'
const inFlights = [64, 512]

export interface LedgerFigures extends LedgerSample {
  /** Processor time of all threads for one hold and one settlement. */
  readonly micros: number
}

/** Measures in a child process with its own data directory. */
export async function measureLedger(
  directory: string,
  seconds: number,
  rounds: number,
): Promise<LedgerFigures[]> {
  const child = fork(program, [directory, String(seconds), String(rounds)])
  let figures: LedgerFigures[] | undefined
  child.on('message', (message) => (figures = message as LedgerFigures[]))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (!figures || code !== 0) throw new Error(`the ledger benchmark exited with ${code}`)
  return figures
}

export type LedgerFixture = Omit<LedgerLoad, 'authority'>

/** A model, and an account with a key and more credit than it can spend. */
export async function createLedgerFixture(core: Core): Promise<LedgerFixture> {
  const { db } = core.store
  const [reference] = referenceModels
  if (!reference) throw new Error('There is no reference model.')
  const { priceSource: _, ...model } = reference
  const createdModel = await createModel(db, { ...model, routes: [] }, by)
  const account = await createAccount(db, { email: 'bench@example.com', tier: 'enterprise' }, by)
  const key = await createKey(db, { accountId: account.value.id, name: by }, { by, maxKeys: 10 })
  await core.publishChanges([...createdModel.changes, ...account.changes, ...key.changes])
  await core.credits.enter({
    account: account.value.id,
    amount: parseAmount('1000000'),
    reason: by,
    source: 'credit',
    idempotencyKey: by,
  })
  return { keyId: key.value.id, model: model.id }
}

function figuresOf(samples: readonly (LedgerSample & { readonly micros: number })[]): LedgerFigures[] {
  return inFlights.map((inFlight) => {
    const own = samples.filter((sample) => sample.inFlight === inFlight)
    const middle = (of: (sample: LedgerFigures) => number): number => median(own.map(of))
    return {
      inFlight,
      perSecond: middle((sample) => sample.perSecond),
      p50Ms: middle((sample) => sample.p50Ms),
      p99Ms: middle((sample) => sample.p99Ms),
      chargeP99Ms: middle((sample) => sample.chargeP99Ms),
      micros: middle((sample) => sample.micros),
    }
  })
}

export interface OpenLoad {
  readonly ledger: WorkerLedger
  measure(takeSample: LedgerLoadRequest): Promise<LedgerSample>
  close(): Promise<void>
}

/** A worker thread that runs only the load. */
export function openLoad(core: Core, fixture: LedgerFixture): OpenLoad {
  const log = createLog('silent')
  const keyUsage = new KeyUsage(core.store.db, log)
  const { port1, port2 } = new MessageChannel()
  const channel = new Channel<object, LedgerEvents>(port1, apiErrors(toApiError))
  const rejections = new RejectionRecorder(core, log, Date.now)
  const ledger = core.openWorkerLedger({ channel, keyUsage, rejections, health: core.health })
  channel.serve<LedgerCalls>({ batched: ledger })
  const workerData: LedgerLoad = { authority: port2, ...fixture }
  const worker = new Worker(new URL('./ledger-load.ts', import.meta.url), {
    workerData,
    transferList: [port2],
  })
  return {
    ledger,
    async measure(takeSample) {
      worker.postMessage(takeSample)
      const [sample] = (await once(worker, 'message')) as [LedgerSample]
      return sample
    },
    async close() {
      await worker.terminate()
      await keyUsage.close()
    },
  }
}

async function run(directory: string, seconds: number, rounds: number): Promise<LedgerFigures[]> {
  let ledger: WorkerLedger | null = null
  const core = await openEmbeddedCore(readConfig({ DATA_DIR: directory }), {
    ...noopCoreListener,
    onDurable: (commit) => ledger?.onDurable(commit),
  })
  const load = openLoad(core, await createLedgerFixture(core))
  ledger = load.ledger
  const takeSample = async (request: LedgerLoadRequest): Promise<LedgerSample & { micros: number }> => {
    const used = process.cpuUsage()
    const sample = await load.measure(request)
    const { user, system } = process.cpuUsage(used)
    return { ...sample, micros: (user + system) / (sample.perSecond * request.seconds) }
  }
  await takeSample({ inFlight: 64, seconds: 1 })
  const samples = []
  for (let round = 0; round < rounds; round += 1) {
    for (const inFlight of inFlights) samples.push(await takeSample({ inFlight, seconds }))
  }
  await load.close()
  const { ok, openHolds } = await core.verifyLedger()
  if (!ok || openHolds > 0) throw new Error('the ledger does not verify')
  await core.close()
  return figuresOf(samples)
}

const [, started, directory, seconds, rounds] = process.argv
if (started === program && directory !== undefined) {
  process.send?.(await run(directory, Number(seconds), Number(rounds)))
  process.disconnect?.()
}
