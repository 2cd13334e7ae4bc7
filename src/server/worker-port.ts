/**
 * A worker's end of the line to the authority. What one turn of the loop has to ask goes as one message.
 */
import type { MessagePort } from 'node:worker_threads'
import { refuse } from '../errors.ts'
import type { Changes } from '../db/change.ts'
import { Slots } from '../lib/slots.ts'
import type { CircuitNews } from '../health/observation.ts'
import type {
  Bookkeeper,
  HoldAnswer,
  HoldAsk,
  KeptAnswer,
  RequestOutcome,
  SettleAsk,
} from '../relay/ledger-client.ts'
import type { RateStatus } from '../limits/rate-limiter.ts'
import type { Ask, NodeState, Order, RareAsk, Word } from './messages.ts'

export interface WorkerDuties {
  changed(changes: Changes): Promise<void>
  count(): Promise<unknown>
  state(state: NodeState): void
  circuits(news: readonly CircuitNews[]): void
  learned(upstreams: readonly string[]): void
  drain(): void
  end(): void
}

interface Call {
  resolve(result: unknown): void
  reject(error: unknown): void
}

interface CommitWaiter {
  readonly commit: number
  readonly promise: Promise<void>
  readonly resolve: () => void
}

export class WorkerPort implements Bookkeeper {
  readonly #port: MessagePort
  readonly #calls = new Slots<Call>()
  #commits: CommitWaiter[] = []
  #asks: Ask[] = []
  #isScheduled = false
  #durable = 0

  constructor(port: MessagePort) {
    this.#port = port
  }

  /** Begins to listen. */
  serve(duties: WorkerDuties): void {
    this.#port.on('message', (message: string | Word) => {
      if (typeof message !== 'string') return this.#take(message, duties)
      for (const word of JSON.parse(message) as Word[]) this.#take(word, duties)
    })
  }

  async hold(ask: HoldAsk): Promise<HoldAnswer> {
    return (await this.#ask((call) => ({ kind: 'hold', call, ask }))) as HoldAnswer
  }

  async takeRate(id: string, keyId: string): Promise<RateStatus> {
    return (await this.order({ do: 'rate', id, key: keyId })) as RateStatus
  }

  async extend(id: string, remaining: number): Promise<number> {
    return (await this.#ask((call) => ({ kind: 'extend', call, id, remaining }))) as number
  }

  async mark(id: string, input: number, output: number): Promise<void> {
    await this.#ask((call) => ({ kind: 'mark', call, id, input, output }))
  }

  async settle(ask: SettleAsk, kept: KeptAnswer | null): Promise<bigint> {
    // At once, and so ahead of the settlement, which goes at the end of the turn.
    if (kept) this.tell({ kind: 'kept', id: ask.id, kept })
    return BigInt((await this.#ask((call) => ({ kind: 'settle', call, ask }))) as string)
  }

  refused(id: string, keyId: string, outcome: RequestOutcome): void {
    this.#say({ kind: 'refused', id, keyId, outcome })
  }

  get newestDurable(): number {
    return this.#durable
  }

  isDurable(commit: number): boolean {
    return commit <= this.#durable
  }

  durable(commit: number): Promise<void> {
    if (commit <= this.#durable) return Promise.resolve()
    this.#say({ kind: 'need', commit })
    const known = this.#commits.find((waiter) => waiter.commit === commit)
    if (known) return known.promise
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#commits.push({ commit, promise, resolve })
    return promise
  }

  /** Has an order carried out by the authority. Rejects with its refusal. */
  order(order: Order): Promise<unknown> {
    const [call, answer] = this.#expect()
    this.tell({ kind: 'order', call, order })
    return answer
  }

  /** What is rare, or holds what JSON cannot: at once, and as it is. */
  tell(ask: RareAsk): void {
    this.#port.postMessage(ask)
  }

  /** At the end of this turn of the loop, with all that gathers in it, as one text. */
  #say(ask: Ask): void {
    this.#asks.push(ask)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const asks = this.#asks
      this.#asks = []
      this.#port.postMessage(JSON.stringify(asks))
    })
  }

  #expect(): [call: number, answer: Promise<unknown>] {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    return [this.#calls.add({ resolve, reject }), promise]
  }

  #ask(make: (call: number) => Ask): Promise<unknown> {
    const [call, answer] = this.#expect()
    this.#say(make(call))
    return answer
  }

  #take(word: Word, duties: WorkerDuties): void {
    switch (word.kind) {
      case 'answer':
        this.#calls.take(word.call)?.resolve(word.result)
        return
      case 'refusal':
        this.#calls.take(word.call)?.reject(refuse(word.code, word.detail))
        return
      case 'durable':
        this.#onDurable(word.commit)
        return
      case 'changed':
        void this.#reply(word.call, duties.changed(word.changes))
        return
      case 'count':
        void this.#reply(word.call, duties.count())
        return
      case 'state':
        duties.state(word.state)
        return
      case 'circuits':
        duties.circuits(word.news)
        return
      case 'learned':
        duties.learned(word.upstreams)
        return
      case 'drain':
        duties.drain()
        return
      case 'end':
        duties.end()
    }
  }

  async #reply(call: number, doing: Promise<unknown>): Promise<void> {
    this.tell({ kind: 'reply', call, result: await doing })
  }

  #onDurable(commit: number): void {
    this.#durable = commit
    if (this.#commits.length === 0) return
    const still: CommitWaiter[] = []
    for (const waiter of this.#commits) {
      if (waiter.commit > commit) still.push(waiter)
      else waiter.resolve()
    }
    this.#commits = still
  }
}
