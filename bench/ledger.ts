/**
 * The ledger alone: holds and settlements a second through the authority and the store of a node, as its workers ask for
 * them, without HTTP and without an upstream. In a process of its own:
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
import { nanosOf } from '../src/lib/money.ts'
import { openLog } from '../src/lib/log.ts'
import { nobody, openEmbeddedCore, type Core } from '../src/server/core.ts'
import { KeyUse } from '../src/server/workers/key-usage.ts'
import type { WorkerLine } from '../src/server/worker-line.ts'
import { median } from './figures.ts'
import type { LedgerAsk, LedgerLoad, LedgerSample } from './ledger-load.ts'

const program = fileURLToPath(import.meta.url)
const by = 'bench'
const inFlights = [64, 512]

export interface LedgerFigures extends LedgerSample {
  /** Processor time of all threads for one hold and one settlement. */
  readonly micros: number
}

/** Measures in a process of its own, over data in a directory of its own. */
export async function measureLedger(
  directory: string,
  seconds: number,
  rounds: number,
): Promise<LedgerFigures[]> {
  const child = fork(program, [directory, String(seconds), String(rounds)])
  let figures: LedgerFigures[] | undefined
  child.on('message', (message) => (figures = message as LedgerFigures[]))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (!figures || code !== 0) throw new Error(`the ledger's load ended with ${code}`)
  return figures
}

export type Furnished = Omit<LedgerLoad, 'authority'>

/** A model, and an account with a key and more credit than it can spend. */
export async function furnish(core: Core): Promise<Furnished> {
  const { db } = core.store
  const [reference] = referenceModels
  if (!reference) throw new Error('There is no model to begin with.')
  const { priceSource: _, ...model } = reference
  const offered = await createModel(db, { ...model, routes: [] }, by)
  const account = await createAccount(db, { email: 'bench@example.com', tier: 'enterprise' }, by)
  const key = await createKey(db, { accountId: account.value.id, name: by }, { by, keysMax: 10 })
  await core.refresh([...offered.changes, ...account.changes, ...key.changes])
  await core.credits.enter({
    account: account.value.id,
    amount: nanosOf('1000000'),
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
  readonly line: WorkerLine
  measure(ask: LedgerAsk): Promise<LedgerSample>
  close(): Promise<void>
}

/** A worker's thread with nothing but the load on it. */
export function openLoad(core: Core, furnished: Furnished): OpenLoad {
  const keyUse = new KeyUse(core.store.db, openLog('silent'))
  const { port1, port2 } = new MessageChannel()
  const nothing = (): void => undefined
  const carryOut = (): Promise<unknown> => Promise.reject(new Error('There is nobody to give orders.'))
  const line = core.lineTo(port1, {
    carryOut,
    keyUse,
    health: core.health,
    onReady: nothing,
    onLearned: nothing,
    onIdle: nothing,
  })
  const workerData: LedgerLoad = { authority: port2, ...furnished }
  const worker = new Worker(new URL('ledger-load.ts', import.meta.url), { workerData, transferList: [port2] })
  return {
    line,
    async measure(ask) {
      worker.postMessage(ask)
      const [sample] = (await once(worker, 'message')) as [LedgerSample]
      return sample
    },
    async close() {
      await worker.terminate()
      await keyUse.close()
    },
  }
}

async function run(directory: string, seconds: number, rounds: number): Promise<LedgerFigures[]> {
  let line: WorkerLine | null = null
  const core = await openEmbeddedCore(readConfig({ DATA_DIR: directory }), {
    ...nobody,
    durable: (commit) => line?.durable(commit),
  })
  const load = openLoad(core, await furnish(core))
  line = load.line
  const ask = async (asked: LedgerAsk): Promise<LedgerSample & { micros: number }> => {
    const used = process.cpuUsage()
    const sample = await load.measure(asked)
    const { user, system } = process.cpuUsage(used)
    return { ...sample, micros: (user + system) / (sample.perSecond * asked.seconds) }
  }
  await ask({ inFlight: 64, seconds: 1 })
  const samples = []
  for (let round = 0; round < rounds; round += 1) {
    for (const inFlight of inFlights) samples.push(await ask({ inFlight, seconds }))
  }
  await load.close()
  const { ok, openHolds } = await core.verify()
  if (!ok || openHolds > 0) throw new Error('the ledger does not add up')
  await core.close()
  return figuresOf(samples)
}

const [, started, directory, seconds, rounds] = process.argv
if (started === program && directory !== undefined) {
  process.send?.(await run(directory, Number(seconds), Number(rounds)))
  process.disconnect?.()
}
