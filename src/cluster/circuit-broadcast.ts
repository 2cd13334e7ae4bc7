/**
 * Shares circuit states between nodes: each change at once, and all known states with a node that has just connected.
 * Messages may be lost: a node that misses that an upstream has recovered finds out by its own probe.
 */
import type { BroadcastMessage } from './broadcasts.ts'
import { maxBroadcastBytes } from '../db/postgres/change-feed.ts'
import type { CircuitBreakers } from '../health/circuit-breakers.ts'
import type { CircuitChange } from '../health/call-reports.ts'

/** Changes within this time are sent in one message. */
const batchDelayMs = 20
/** The upstream's error text is truncated to this length, because messages have a maximum size. */
const maxWhyLength = 500

function truncateWhy({ key, circuit }: CircuitChange): CircuitChange {
  return { key, circuit: { ...circuit, why: circuit.why.slice(0, maxWhyLength) } }
}

/** The changes in as few messages as possible. */
function* encodeMessages(isNew: boolean, all: readonly CircuitChange[]): Generator<string> {
  const encode = (news: readonly CircuitChange[]): string =>
    JSON.stringify({ isNew, news } satisfies BroadcastMessage)
  let news: CircuitChange[] = []
  for (const each of all.map(truncateWhy)) {
    if (news.length > 0 && Buffer.byteLength(encode([...news, each])) > maxBroadcastBytes) {
      yield encode(news)
      news = []
    }
    news.push(each)
  }
  if (news.length > 0 || isNew) yield encode(news)
}

export class CircuitBroadcast {
  readonly #breakers: CircuitBreakers
  readonly #send: (text: string) => void
  #pending = new Map<string, CircuitChange>()
  #isApplyingRemote = false

  constructor(breakers: CircuitBreakers, send: (text: string) => void) {
    this.#breakers = breakers
    this.#send = send
    breakers.onChange((news) => {
      if (!this.#isApplyingRemote) this.#enqueue(news)
    })
    this.sendAll()
  }

  /** Sends all states that are known here, and asks the other nodes for theirs. */
  sendAll(): void {
    this.#broadcast(true, this.#breakers.all())
  }

  /** Merges the states that another node has sent. */
  onMessage({ isNew, news }: BroadcastMessage): void {
    if (!Array.isArray(news)) return
    this.#isApplyingRemote = true
    try {
      this.#breakers.merge(news as readonly CircuitChange[])
    } finally {
      this.#isApplyingRemote = false
    }
    if (isNew === true) this.#broadcast(false, this.#breakers.all())
  }

  #enqueue(news: CircuitChange): void {
    if (this.#pending.size === 0) {
      setTimeout(() => {
        const pending = [...this.#pending.values()]
        this.#pending = new Map()
        this.#broadcast(false, pending)
      }, batchDelayMs)
    }
    this.#pending.set(news.key, news)
  }

  #broadcast(isNew: boolean, news: readonly CircuitChange[]): void {
    for (const text of encodeMessages(isNew, news)) this.#send(text)
  }
}
