/**
 * The main thread's end of the line to one worker, whoever decides behind it: questions and answers with their numbers,
 * and words that gather for one turn of the loop.
 */
import type { MessagePort } from 'node:worker_threads'
import { refusalBehind } from '../db/store-error.ts'
import type { CircuitNews } from '../health/observation.ts'
import type { KeptAnswer } from '../relay/ledger-client.ts'
import type { KeyUse } from './workers/key-usage.ts'
import type { NodeHealth } from './upstreams/upstream-health.ts'
import type { Ask, NodeState, Order, RareAsk, Word } from './messages.ts'

export interface LineDuties {
  /** Carries out an order; throws a refusal. */
  readonly carryOut: (order: Order) => Promise<unknown>
  readonly keyUse: KeyUse
  readonly health: NodeHealth
  readonly onReady: () => void
  /** An upstream has refused `stream_options`. */
  readonly onLearned: (upstream: string) => void
  readonly onIdle: () => void
}

export abstract class WorkerLine {
  protected readonly duties: LineDuties
  readonly #port: MessagePort
  /** Answers to keep that have come ahead of their settlements. */
  readonly #kept = new Map<string, KeptAnswer>()
  readonly #calls = new Map<number, (result: unknown) => void>()
  #words: Word[] = []
  #isScheduled = false
  #nextCall = 1

  constructor(port: MessagePort, duties: LineDuties) {
    this.#port = port
    this.duties = duties
    port.on('message', (message: string | RareAsk) => {
      if (typeof message !== 'string') return this.#takeRare(message)
      for (const ask of JSON.parse(message) as Ask[]) this.take(ask)
    })
  }

  /** What a worker asks for its requests. */
  protected abstract take(ask: Ask): void

  /** A commit is on disk. */
  abstract durable(commit: number): void

  /** The store has taken no commits for too long: nobody waits any longer. */
  abstract fail(): void

  /** These circuits have changed. */
  spread(news: readonly CircuitNews[]): void {
    this.#tell({ kind: 'circuits', news })
  }

  /** These upstreams refuse `stream_options`. */
  teach(upstreams: readonly string[]): void {
    this.#tell({ kind: 'learned', upstreams })
  }

  tell(state: NodeState): void {
    this.#tell({ kind: 'state', state })
  }

  drain(): void {
    this.#tell({ kind: 'drain' })
  }

  end(): void {
    this.#tell({ kind: 'end' })
  }

  /** Asks the worker, and waits for its reply. */
  ask(word: (call: number) => Word): Promise<unknown> {
    const call = this.#nextCall++
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#calls.set(call, resolve)
    this.#tell(word(call))
    return promise
  }

  /** The worker is gone: nobody waits for it. */
  close(): void {
    for (const resolve of this.#calls.values()) resolve(undefined)
    this.#calls.clear()
    this.#port.close()
  }

  /** What has come to be kept for a request; once. */
  protected keptFor(id: string): KeptAnswer | null {
    const kept = this.#kept.get(id) ?? null
    if (kept) this.#kept.delete(id)
    return kept
  }

  #takeRare(ask: RareAsk): void {
    switch (ask.kind) {
      case 'order':
        void this.#carryOut(ask.call, ask.order)
        return undefined
      case 'kept':
        this.#kept.set(ask.id, ask.kept)
        return undefined
      case 'reply': {
        const resolve = this.#calls.get(ask.call)
        this.#calls.delete(ask.call)
        return resolve?.(ask.result)
      }
      case 'answers':
      case 'answered':
      case 'fault':
        return this.duties.health.take(ask)
      case 'learned':
        return this.duties.onLearned(ask.upstream)
      case 'ready':
        return this.duties.onReady()
      case 'idle':
        return this.duties.onIdle()
    }
  }

  async #carryOut(call: number, order: Order): Promise<void> {
    try {
      this.#tell({ kind: 'answer', call, result: await this.duties.carryOut(order) })
    } catch (error) {
      const { code, detail } = refusalBehind(error)
      this.#tell({ kind: 'refusal', call, code, detail })
    }
  }

  protected refuse(call: number, code: 'service_unavailable'): void {
    this.say({ kind: 'refusal', call, code, detail: {} })
  }

  /** What is rare, or holds what JSON cannot: at once, and as it is. */
  #tell(word: Word): void {
    this.#port.postMessage(word)
  }

  /** At the end of this turn of the loop, with all that gathers in it, as one text. */
  protected say(word: Word): void {
    this.#words.push(word)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#send())
  }

  /** At once, with all that has gathered. */
  protected sayNow(words: readonly Word[]): void {
    for (const word of words) this.#words.push(word)
    this.#send()
  }

  #send(): void {
    this.#isScheduled = false
    if (this.#words.length === 0) return
    const words = this.#words
    this.#words = []
    this.#port.postMessage(JSON.stringify(words))
  }
}
