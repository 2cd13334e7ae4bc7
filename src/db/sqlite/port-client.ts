/** Questions over a MessagePort and the promises of their answers. A port that closes fails what still waits. */

import type { MessagePort } from 'node:worker_threads'
import type { Reply } from '../messages.ts'
import { StoreError } from '../store-error.ts'

interface Pending<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: StoreError) => void
}

export class PortClient<Result> {
  readonly #port: MessagePort
  readonly #pending = new Map<number, Pending<Result>>()
  #lastId = 0
  #closed = false

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (replies: Reply<Result>[]) => {
      for (const reply of replies) this.#take(reply)
    })
    port.on('close', () => this.#end())
    // Only a question under way keeps its thread alive.
    port.unref()
  }

  /** Sends what `make` builds around a fresh id. Rejects with StoreError. */
  ask(make: (id: number) => unknown): Promise<Result> {
    if (this.#closed) return Promise.reject(closedError())
    const id = (this.#lastId += 1)
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#pending.set(id, { resolve, reject })
    if (this.#pending.size === 1) this.#port.ref()
    this.#port.postMessage(make(id))
    return promise
  }

  close(): void {
    this.#port.close()
  }

  #take(reply: Reply<Result>): void {
    const pending = this.#pending.get(reply.id)
    if (pending === undefined) return
    this.#pending.delete(reply.id)
    if (this.#pending.size === 0) this.#port.unref()
    if ('failure' in reply) pending.reject(new StoreError(reply.failure))
    else pending.resolve(reply.result)
  }

  #end(): void {
    this.#closed = true
    for (const pending of this.#pending.values()) pending.reject(closedError())
    this.#pending.clear()
  }
}

function closedError(): StoreError {
  return new StoreError({ class: 'failed', message: 'The store is closed.' })
}
