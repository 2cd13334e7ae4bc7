/**
 * The worker threads: starts them, sends them changes, replaces one that exits, and drains them at the end. A worker that
 * throws fails only its own requests.
 */
import { Counter, Registry } from '@prometheus-io/client'
import { hasOlderNodes } from '../../db/postgres/nodes.ts'
import { toApiError } from '../../db/store-error.ts'
import { release } from '../../lib/version.ts'
import { apiErrors, Channel, ChannelClosedError, type Args } from '../../rpc/channel.ts'
import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'
import type { ConfigDelta } from '../../engine/config-cache.ts'
import type { Core } from '../../engine/core.ts'
import type { LedgerCalls } from '../../engine/ledger-calls.ts'
import type { KeyUsage } from '../../engine/key-usage.ts'
import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'
import { ObservedMaximums } from './observed-maximums.ts'
import { RejectedFields } from './rejected-fields.ts'
import { ReportSlots } from './report-slots.ts'
import type { RejectionRecorder } from '../../engine/rejection-recorder.ts'
import type { ControlHandler } from './control-handler.ts'
import type { MainServices, NodeState, WorkerChannel, WorkerService } from './protocol.ts'
import type { WorkerLedger } from '../../engine/worker-ledger.ts'
import { loadWorkerThread, type LoadedWorker } from './worker-host.ts'

export interface WorkerPoolDeps {
  readonly core: Core
  readonly config: Config
  readonly log: Log
  readonly control: ControlHandler
  readonly keyUsage: KeyUsage
  readonly rejections: RejectionRecorder
}

interface PooledWorker {
  readonly worker: LoadedWorker
  readonly channel: WorkerChannel
  readonly ledger: WorkerLedger
  readonly remote: WorkerService
  readonly isReady: Promise<void>
  /** Rejects when the worker fails or exits. */
  readonly failure: Promise<never>
}

/** A worker that exits within this time after its start is restarted only after a pause of this length. */
const respawnPauseMs = 1000

function ignoreExit(error: unknown): void {
  if (!(error instanceof ChannelClosedError)) throw error
}

/** Why the worker cannot listen; null if it does. Rejects if it exits. */
function openPort({ remote, failure }: PooledWorker): Promise<string | null> {
  return Promise.race([remote.listen(), failure])
}

export class WorkerPool {
  readonly #deps: WorkerPoolDeps
  readonly #workers = new Map<number, PooledWorker>()
  readonly #reportSlots = new ReportSlots()
  /** As any worker has learned. */
  readonly #rejectedFields = new RejectedFields()
  readonly #maximums: ObservedMaximums
  #state: NodeState = { isReady: false, outage: null, isDraining: false }
  #hasOpened = false
  #isClosing = false
  #replaced = 0

  constructor(deps: WorkerPoolDeps) {
    this.#deps = deps
    const { core, config, log } = deps
    const { db } = core.store
    this.#maximums = new ObservedMaximums({
      db,
      catalog: core.catalog,
      log,
      publishChanges: (changes) => core.publishChanges(changes),
      canNotify: async () => config.databaseUrl === null || !(await hasOlderNodes(db, release)),
    })
    deps.core.health.breakers.onChange((change) => this.#sendAll('applyCircuitChanges', [change]))
  }

  /** Resolves when every worker can serve; rejects if one cannot. The port stays closed until `listen`. */
  async start(loaded: readonly LoadedWorker[]): Promise<void> {
    await Promise.all(loaded.map((worker, index) => this.#use(worker, index + 1).isReady))
  }

  /**
   * Opens the port; resolves when every worker listens, and rejects if one cannot. A load balancer that does not check
   * `/readyz` sends requests as soon as the port is open, so call it when the relay admits them.
   */
  async listen(): Promise<void> {
    const workers = [...this.#workers.values()]
    if (workers.length < this.#deps.config.workers) throw new Error('A worker exited before it listened.')
    this.#hasOpened = true
    for (const problem of await Promise.all(workers.map(openPort)))
      if (problem !== null) throw new Error(problem)
  }

  #use(worker: LoadedWorker, number: number): PooledWorker {
    const { core, config, log, keyUsage, rejections } = this.#deps
    const { db, ports } = core.workerDbAccess()
    const init = {
      db,
      config,
      number,
      node: core.nodeId,
      currency: core.currency,
      dataKeys: core.sealer.keys,
      controlMethods: Object.keys(this.#deps.control.services),
    }
    const ready = Promise.withResolvers<void>()
    const failure = Promise.withResolvers<never>()
    const startedAt = performance.now()
    const port = worker.start(init, ports, {
      onError(error) {
        failure.reject(error)
        log.error({ err: error, worker: number }, 'worker failed')
      },
      onExit: () => {
        failure.reject(new Error('A worker exited before it listened.'))
        ledger.close()
        this.#reportSlots.releaseAll(ledger)
        channel.close()
        this.#respawn(number, performance.now() - startedAt)
      },
    })
    const channel: WorkerChannel = new Channel(port, apiErrors(toApiError))
    const ledger = core.openWorkerLedger({ channel, keyUsage, rejections, health: core.health })
    const remote = channel.proxy('worker')
    failure.promise.catch(() => undefined)
    const isReady = Promise.race([ready.promise, failure.promise])
    isReady.catch(() => undefined)
    const pooled = { worker, channel, ledger, remote, isReady, failure: failure.promise }
    this.#workers.set(number, pooled)
    const onReady = (): void => {
      this.#onReady(pooled)
      ready.resolve()
    }
    channel.serve<LedgerCalls>({ services: this.#servicesFor(ledger, onReady), batched: ledger })
    return pooled
  }

  #servicesFor(ledger: WorkerLedger, onReady: () => void): MainServices & Record<string, object> {
    const { core, control } = this.#deps
    const { authority } = core
    return {
      control: control.services,
      backups: control.backups,
      payments: control.payments,
      automaticRecharges: control.automaticRecharges,
      authThrottle: control.authThrottle,
      health: core.health.service,
      reportSlots: this.#reportSlots.forHolder(ledger),
      relay: {
        takeTokenCount: async (id, key) => authority.takeTokenCount(id, key),
        takeReplay: async (id, key) => void (await authority.takeReplay(id, key)),
        storeResponse: (id, response) => ledger.storeResponse(id, response),
        addRejectedField: (record) => this.#broadcastRejectedField(record),
        observeMaximum: (seen) => void this.#maximums.observe(seen),
        onReady,
      },
    }
  }

  #onReady(pooled: PooledWorker): void {
    const { channel, worker } = pooled
    const { breakers } = this.#deps.core.health
    channel.send('worker', 'setState', this.#state)
    channel.send('worker', 'applyCircuitChanges', breakers.notClosed())
    channel.send('worker', 'addRejectedFields', this.#rejectedFields.all())
    if (!this.#hasOpened || this.#isClosing) return
    const onProblem = (problem: string | null): void => {
      if (problem === null) return
      this.#deps.log.error({ why: problem }, 'worker failed')
      void worker.terminate()
    }
    openPort(pooled).then(onProblem, () => undefined)
  }

  #broadcastRejectedField(record: RejectedFieldRecord): void {
    this.#rejectedFields.add(record)
    this.#sendAll('addRejectedFields', [record])
  }

  #respawn(number: number, uptimeMs: number): void {
    this.#workers.delete(number)
    if (this.#isClosing || !this.#state.isReady) return
    this.#replaced += 1
    setTimeout(
      () => {
        if (!this.#isClosing) this.#use(loadWorkerThread(number), number)
      },
      uptimeMs < respawnPauseMs ? respawnPauseMs : 0,
    )
  }

  onDurable(commit: number): void {
    for (const { ledger } of this.#workers.values()) ledger.onDurable(commit)
  }

  /** Fails all calls that wait for a commit. */
  failPending(): void {
    for (const { ledger } of this.#workers.values()) ledger.failPending()
  }

  updateState(change: Partial<NodeState>): void {
    this.#state = { ...this.#state, ...change }
    this.#sendAll('setState', this.#state)
  }

  /** Resolves when every worker has applied the delta. */
  async broadcast(delta: ConfigDelta): Promise<void> {
    await this.#callAll((worker) => worker.applyConfigDelta(delta))
  }

  /** The metrics of all workers, in the format that `Registry.aggregate` takes. */
  async collectMetrics(): Promise<object[]> {
    const registry = new Registry()
    const registers = [registry]
    const help = 'Workers that exited unexpectedly and were replaced'
    new Counter({ name: 'sluice_workers_replaced_total', help, registers }).inc(this.#replaced)
    const summedHelp = 'Rejected requests that share a row and a log line with others'
    new Counter({ name: 'sluice_refusals_summed_total', help: summedHelp, registers }).inc(
      this.#deps.rejections.summed,
    )
    const exceededHelp = 'Routes that were first seen to exceed the maximum of output tokens'
    const labelNames = ['upstream', 'model']
    const name = 'sluice_maximums_exceeded_total'
    const exceeded = new Counter({ name, help: exceededHelp, registers, labelNames })
    for (const { upstream, model } of this.#maximums.exceeded) exceeded.inc({ upstream, model })
    const replies = await this.#callAll((worker) => worker.collectMetrics())
    return [await registry.getMetricsAsJSON(), ...replies]
  }

  #sendAll<Method extends keyof WorkerService>(method: Method, ...args: Args<WorkerService[Method]>): void {
    for (const { channel } of this.#workers.values()) channel.send('worker', method, ...args)
  }

  /** The results of all workers, except those that exit in the meantime. */
  async #callAll<Result>(call: (worker: WorkerService) => Promise<Result>): Promise<Result[]> {
    const results: Result[] = []
    const workers = Array.from(this.#workers.values(), async ({ remote }) => {
      results.push(await call(remote))
    })
    await Promise.all(workers.map((each) => each.catch(ignoreExit)))
    return results
  }

  reloadCertificate(): void {
    this.#sendAll('reloadCertificate')
  }

  /** Stops listening, lets running requests finish within the grace period, and aborts the rest. */
  async drain(graceMs: number): Promise<void> {
    this.#isClosing = true
    const workers = [...this.#workers.values()]
    const grace = setTimeout(() => {
      for (const { channel } of workers) channel.send('worker', 'abort')
    }, graceMs)
    await Promise.all(workers.map(({ remote }) => remote.drain().catch(ignoreExit)))
    clearTimeout(grace)
    await Promise.all(workers.map(({ worker }) => worker.terminate()))
  }
}
