/**
 * The authority's end of the line to one worker: what arrives is decided at once; answers that have to be durable wait
 * here for their commit, and all that a commit sets free travels as one message.
 */
import type { MessagePort } from 'node:worker_threads'
import { refusalOf } from '../errors.ts'
import type { CircuitNews } from '../health/observation.ts'
import type { Authority } from './authority.ts'
import type { CommitQueue } from './commit-queue.ts'
import type { KeyUse } from './key-use.ts'
import type { NodeHealth } from './node-health.ts'
import type { KeptAnswer, SettleAsk } from '../relay/bookkeeper.ts'
import type { Ask, Committed, NodeState, Order, RareAsk, Word } from './messages.ts'

export interface PortParts {
  readonly authority: Authority
  readonly commits: CommitQueue
  /** Carries out an order; throws a refusal. */
  readonly carryOut: (order: Order) => Promise<unknown>
  readonly keyUse: KeyUse
  readonly health: NodeHealth
  readonly onReady: () => void
  readonly onIdle: () => void
}

interface Waiting {
  readonly call: number
  readonly commit: number
  readonly result: unknown
}

export class AuthorityPort {
  readonly #port: MessagePort
  readonly #parts: PortParts
  /** Requests whose hold this worker has: when it is gone, they are ended for it. */
  readonly #open = new Set<string>()
  /** Answers to keep that have come ahead of their settlements. */
  readonly #kept = new Map<string, KeptAnswer>()
  readonly #calls = new Map<number, (result: unknown) => void>()
  #waiting: Waiting[] = []
  #words: Word[] = []
  #isScheduled = false
  #nextCall = 1
  /** A hold was answered whose commit is not yet on disk. */
  #awaited = 0

  constructor(port: MessagePort, parts: PortParts) {
    this.#port = port
    this.#parts = parts
    port.on('message', (message: string | RareAsk) => {
      if (typeof message !== 'string') return this.#takeRare(message)
      for (const ask of JSON.parse(message) as Ask[]) this.#take(ask)
    })
  }

  /** A commit is on disk. */
  durable(commit: number): void {
    const still: Waiting[] = []
    for (const waiting of this.#waiting) {
      if (waiting.commit > commit) still.push(waiting)
      else this.#words.push({ kind: 'answer', call: waiting.call, result: waiting.result })
    }
    this.#waiting = still
    if (this.#awaited > 0) this.#words.push({ kind: 'durable', commit })
    if (this.#awaited <= commit) this.#awaited = 0
    if (this.#words.length > 0) this.#send()
  }

  /** The store has taken no commits for too long: nobody waits any longer. */
  fail(): void {
    for (const { call } of this.#waiting) this.#refuse(call, 'service_unavailable')
    this.#waiting = []
  }

  /** These circuits have changed. */
  spread(news: readonly CircuitNews[]): void {
    this.#tell({ kind: 'circuits', news })
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

  /** The worker is gone: its requests end at their last marks, and nobody waits for it. */
  close(): void {
    for (const id of this.#open) this.#parts.authority.expire(id)
    for (const resolve of this.#calls.values()) resolve(undefined)
    this.#open.clear()
    this.#calls.clear()
    this.#port.close()
  }

  #take(ask: Ask): void {
    const { authority, commits } = this.#parts
    switch (ask.kind) {
      case 'hold': {
        const answer = authority.hold(ask.ask)
        if (answer.granted) {
          this.#open.add(ask.ask.id)
          this.#parts.keyUse.note(ask.ask.keyId)
          this.#parts.health.admitted()
          this.#awaited = Math.max(this.#awaited, answer.commit)
        } else if (answer.lookAgain !== undefined) {
          return this.#answer(ask.call, { commit: answer.lookAgain, result: answer })
        }
        return this.#say({ kind: 'answer', call: ask.call, result: answer })
      }
      case 'extend':
        return this.#answer(ask.call, authority.extend(ask.id, ask.remaining))
      case 'mark':
        return this.#answer(ask.call, authority.mark(ask.id, ask.input, ask.output))
      case 'settle':
        return this.#settle(ask.call, ask.ask)
      case 'refused':
        return authority.refused(ask.id, ask.keyId, ask.outcome)
      case 'need':
        return commits.need(ask.commit)
    }
  }

  #settle(call: number, ask: SettleAsk): void {
    this.#open.delete(ask.id)
    const kept = this.#kept.get(ask.id) ?? null
    if (kept) this.#kept.delete(ask.id)
    const { commit, result } = this.#parts.authority.settle(ask, kept)
    this.#answer(call, { commit, result: result.toString() })
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
        return this.#parts.health.take(ask)
      case 'ready':
        return this.#parts.onReady()
      case 'idle':
        return this.#parts.onIdle()
    }
  }

  async #carryOut(call: number, order: Order): Promise<void> {
    try {
      this.#tell({ kind: 'answer', call, result: await this.#parts.carryOut(order) })
    } catch (error) {
      const { code, detail } = refusalOf(error)
      this.#tell({ kind: 'refusal', call, code, detail })
    }
  }

  /** Answers when the commit is on disk. */
  #answer(call: number, { commit, result }: Committed<unknown>): void {
    const { commits } = this.#parts
    if (commit <= commits.durable) this.#say({ kind: 'answer', call, result })
    else {
      this.#waiting.push({ call, commit, result })
      commits.need(commit)
    }
  }

  #refuse(call: number, code: 'service_unavailable'): void {
    this.#say({ kind: 'refusal', call, code, detail: {} })
  }

  /** What is rare, or holds what JSON cannot: at once, and as it is. */
  #tell(word: Word): void {
    this.#port.postMessage(word)
  }

  /** At the end of this turn of the loop, with all that gathers in it, as one text. */
  #say(word: Word): void {
    this.#words.push(word)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#send())
  }

  #send(): void {
    this.#isScheduled = false
    if (this.#words.length === 0) return
    const words = this.#words
    this.#words = []
    this.#port.postMessage(JSON.stringify(words))
  }
}
