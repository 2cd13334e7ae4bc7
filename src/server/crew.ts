/**
 * The workers: started, told of changes, replaced when one is gone, and at the end drained. A worker that throws
 * takes only its own requests with it.
 */
import { MessageChannel, Worker } from 'node:worker_threads'
import type { Config } from '../config.ts'
import type { Changes } from '../db/change.ts'
import type { Log } from '../lib/log.ts'
import type { Core } from './core.ts'
import type { KeyUse } from './workers/key-usage.ts'
import type { NodeState, Order, WorkerBirth } from './messages.ts'
import type { WorkerLine } from './worker-line.ts'

export interface CrewParts {
  readonly core: Core
  readonly config: Config
  readonly log: Log
  readonly carryOut: (order: Order) => Promise<unknown>
  readonly keyUse: KeyUse
}

interface Member {
  readonly worker: Worker
  readonly port: WorkerLine
  readonly isReady: Promise<void>
  readonly isIdle: Promise<void>
}

/**
 * For what lives as long as one request. V8 would take three times as much under load, and never give it back; measured,
 * the time it saves is within the noise.
 */
const youngGenerationMiB = 24
/** A worker that ends this soon after its start is started again only after a pause. */
const respawnPauseMs = 1000

export class Crew {
  readonly #parts: CrewParts
  readonly #members = new Map<number, Member>()
  /** Upstreams that refuse `stream_options`, as any worker has learned. */
  readonly #withoutStreamOptions = new Set<string>()
  #state: NodeState = { isReady: false, isAdmitting: true, isDraining: false }
  #isClosing = false

  constructor(parts: CrewParts) {
    this.#parts = parts
    parts.core.health.board.listen((news) => {
      for (const { port } of this.#members.values()) port.spread([news])
    })
  }

  /** Resolves when every worker listens; rejects when one cannot. */
  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, index) => this.#hire(index + 1).isReady))
  }

  #hire(number: number): Member {
    const { core, config, log, carryOut, keyUse } = this.#parts
    const { port1, port2 } = new MessageChannel()
    const { db, ports } = core.accessForWorker()
    const birth: WorkerBirth = { authority: port2, db, config, number, dataKey: core.dataKey }
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      name: `relay ${number}`,
      workerData: birth,
      resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMiB },
      transferList: [port2, ...ports],
    })
    const ready = Promise.withResolvers<void>()
    const idle = Promise.withResolvers<void>()
    const port: WorkerLine = core.lineTo(port1, {
      carryOut,
      keyUse,
      health: core.health,
      onReady: () => {
        port.tell(this.#state)
        port.spread(core.health.board.states())
        port.teach([...this.#withoutStreamOptions])
        ready.resolve()
      },
      onLearned: (upstream) => this.#teach(upstream),
      onIdle: idle.resolve,
    })
    const bornAt = performance.now()
    worker.on('error', (error: unknown) => {
      ready.reject(error)
      log.error({ err: error, worker: number }, 'worker failed')
    })
    worker.on('exit', () => {
      ready.reject(new Error('A worker ended before it listened.'))
      port.close()
      idle.resolve()
      this.#replace(number, performance.now() - bornAt)
    })
    const member = { worker, port, isReady: ready.promise, isIdle: idle.promise }
    member.isReady.catch(() => undefined)
    this.#members.set(number, member)
    return member
  }

  #teach(upstream: string): void {
    this.#withoutStreamOptions.add(upstream)
    for (const { port } of this.#members.values()) port.teach([upstream])
  }

  #replace(number: number, livedMs: number): void {
    this.#members.delete(number)
    if (this.#isClosing || !this.#state.isReady) return
    setTimeout(
      () => {
        if (!this.#isClosing) this.#hire(number)
      },
      livedMs < respawnPauseMs ? respawnPauseMs : 0,
    )
  }

  durable(commit: number): void {
    for (const { port } of this.#members.values()) port.durable(commit)
  }

  /** The store takes no commits: nobody waits for one. */
  fail(): void {
    for (const { port } of this.#members.values()) port.fail()
  }

  tell(change: Partial<NodeState>): void {
    this.#state = { ...this.#state, ...change }
    for (const { port } of this.#members.values()) port.tell(this.#state)
  }

  /** Resolves when every worker works with what has changed. */
  async broadcast(changes: Changes): Promise<void> {
    await this.ask((call) => ({ kind: 'changed', call, changes }))
  }

  /** Asks every worker; those that end meanwhile do not count. */
  async ask<Reply>(word: Parameters<WorkerLine['ask']>[0]): Promise<Reply[]> {
    const members = [...this.#members.values()]
    const replies = await Promise.all(members.map(({ port }) => port.ask(word)))
    return replies.filter((reply) => reply !== undefined) as Reply[]
  }

  /** Stops listening, lets running requests finish within the grace, ends the rest. */
  async drain(graceMs: number): Promise<void> {
    this.#isClosing = true
    const members = [...this.#members.values()]
    for (const { port } of members) port.drain()
    const grace = setTimeout(() => {
      for (const { port } of members) port.end()
    }, graceMs)
    await Promise.all(members.map(({ isIdle }) => isIdle))
    clearTimeout(grace)
    await Promise.all(members.map(({ worker }) => worker.terminate()))
  }
}
