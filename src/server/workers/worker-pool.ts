/**
 * The worker threads: starts them, sends them changes, replaces one that exits, and drains them at the end. A worker that
 * throws fails only its own requests.
 */
import { MessageChannel, type Worker } from 'node:worker_threads'
import { Counter, Registry } from '@prometheus-io/client'
import { startThread } from '../../lib/thread.ts'
import type { Config } from '../../config.ts'
import type { Changes } from '../../db/change.ts'
import type { Log } from '../../lib/log.ts'
import type { Core } from '../ledger/core.ts'
import type { KeyUsage } from './key-usage.ts'
import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'
import { RejectedFields } from './rejected-fields.ts'
import { ReportSlots } from './report-slots.ts'
import type { RejectionRecorder } from './rejection-recorder.ts'
import type { NodeState, ControlRequest, WorkerInit } from './protocol.ts'
import type { WorkerChannel } from './worker-channel.ts'

export interface WorkerPoolDeps {
  readonly core: Core
  readonly config: Config
  readonly log: Log
  readonly handleControlRequest: (request: ControlRequest) => Promise<unknown>
  readonly keyUsage: KeyUsage
  readonly rejections: RejectionRecorder
}

interface PooledWorker {
  readonly worker: Worker
  readonly channel: WorkerChannel
  readonly isReady: Promise<void>
  readonly isListening: Promise<void>
  readonly isIdle: Promise<void>
}

/**
 * For objects that live as long as one request. By default V8 takes three times as much under load and never returns it;
 * measured, the time that this saves is within the noise.
 */
const youngGenerationMiB = 24
/** A worker that exits within this time after its start is restarted only after a pause of this length. */
const respawnPauseMs = 1000

/** Starts a thread that loads the modules of a worker. It does not keep the process alive before it is used. */
function loadWorker(number: number): Worker {
  const worker = startThread(new URL('./worker.ts', import.meta.url), {
    name: `relay ${number}`,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMiB },
  })
  worker.unref()
  return worker
}

/** Starts the threads of a pool before the core is open, because loading their modules takes as long as opening it. */
export function loadWorkers(count: number): Worker[] {
  return Array.from({ length: count }, (_, index) => loadWorker(index + 1))
}

export class WorkerPool {
  readonly #deps: WorkerPoolDeps
  readonly #workers = new Map<number, PooledWorker>()
  readonly #reportSlots = new ReportSlots()
  /** As any worker has learned. */
  readonly #rejectedFields = new RejectedFields()
  #state: NodeState = { isReady: false, outage: null, isDraining: false }
  #hasOpened = false
  #isClosing = false
  #replaced = 0

  constructor(deps: WorkerPoolDeps) {
    this.#deps = deps
    deps.core.health.breakers.onChange((change) => {
      for (const { channel } of this.#workers.values()) channel.sendCircuitChanges([change])
    })
  }

  /** Resolves when every worker can serve; rejects if one cannot. The port stays closed until `listen`. */
  async start(loaded: readonly Worker[]): Promise<void> {
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
    for (const { channel } of workers) channel.listen()
    await Promise.all(workers.map(({ isListening }) => isListening))
  }

  #use(worker: Worker, number: number): PooledWorker {
    const { core, config, log, handleControlRequest, keyUsage, rejections } = this.#deps
    const { port1, port2 } = new MessageChannel()
    const { db, ports } = core.workerDbAccess()
    const init: WorkerInit = {
      mainPort: port2,
      db,
      config,
      number,
      node: core.nodeId,
      dataKeys: core.sealer.keys,
    }
    worker.ref()
    worker.postMessage(init, [port2, ...ports])
    const ready = Promise.withResolvers<void>()
    const listening = Promise.withResolvers<void>()
    const idle = Promise.withResolvers<void>()
    const channel: WorkerChannel = core.openWorkerChannel(port1, {
      handleControlRequest,
      keyUsage,
      rejections,
      reportSlots: this.#reportSlots,
      health: core.health,
      onReady: () => {
        channel.sendState(this.#state)
        channel.sendCircuitChanges(core.health.breakers.notClosed())
        channel.sendRejectedFields(this.#rejectedFields.all())
        if (this.#hasOpened && !this.#isClosing) channel.listen()
        ready.resolve()
      },
      onListening: listening.resolve,
      onRejectedField: (record) => this.#broadcastRejectedField(record),
      onIdle: idle.resolve,
    })
    const startedAt = performance.now()
    const fail = (error: unknown): void => {
      ready.reject(error)
      listening.reject(error)
    }
    worker.on('error', (error: unknown) => {
      fail(error)
      log.error({ err: error, worker: number }, 'worker failed')
    })
    worker.on('exit', () => {
      fail(new Error('A worker exited before it listened.'))
      channel.close()
      idle.resolve()
      this.#respawn(number, performance.now() - startedAt)
    })
    const [isReady, isListening] = [ready.promise, listening.promise]
    for (const promise of [isReady, isListening]) promise.catch(() => undefined)
    const pooled = { worker, channel, isReady, isListening, isIdle: idle.promise }
    this.#workers.set(number, pooled)
    return pooled
  }

  #broadcastRejectedField(record: RejectedFieldRecord): void {
    this.#rejectedFields.add(record)
    for (const { channel } of this.#workers.values()) channel.sendRejectedFields([record])
  }

  #respawn(number: number, uptimeMs: number): void {
    this.#workers.delete(number)
    if (this.#isClosing || !this.#state.isReady) return
    this.#replaced += 1
    setTimeout(
      () => {
        if (!this.#isClosing) this.#use(loadWorker(number), number)
      },
      uptimeMs < respawnPauseMs ? respawnPauseMs : 0,
    )
  }

  onDurable(commit: number): void {
    for (const { channel } of this.#workers.values()) channel.onDurable(commit)
  }

  /** Fails all calls that wait for a commit. */
  failPending(): void {
    for (const { channel } of this.#workers.values()) channel.failPending()
  }

  updateState(change: Partial<NodeState>): void {
    this.#state = { ...this.#state, ...change }
    for (const { channel } of this.#workers.values()) channel.sendState(this.#state)
  }

  /** Resolves when every worker has applied the changes. */
  async broadcast(changes: Changes): Promise<void> {
    await this.requestAll((callId) => ({ kind: 'changed', callId, changes }))
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
    const replies = await this.requestAll<object>((callId) => ({ kind: 'collect-metrics', callId }))
    return [await registry.getMetricsAsJSON(), ...replies]
  }

  /** The replies of all workers, except those that exit in the meantime. */
  async requestAll<Reply>(makeMessage: Parameters<WorkerChannel['request']>[0]): Promise<Reply[]> {
    const workers = [...this.#workers.values()]
    const replies = await Promise.all(workers.map(({ channel }) => channel.request(makeMessage)))
    return replies.filter((reply) => reply !== undefined) as Reply[]
  }

  reloadCertificate(): void {
    for (const { channel } of this.#workers.values()) channel.reloadCertificate()
  }

  /** Stops listening, lets running requests finish within the grace period, and aborts the rest. */
  async drain(graceMs: number): Promise<void> {
    this.#isClosing = true
    const workers = [...this.#workers.values()]
    for (const { channel } of workers) channel.drain()
    const grace = setTimeout(() => {
      for (const { channel } of workers) channel.abort()
    }, graceMs)
    await Promise.all(workers.map(({ isIdle }) => isIdle))
    clearTimeout(grace)
    await Promise.all(workers.map(({ worker }) => worker.terminate()))
  }
}
