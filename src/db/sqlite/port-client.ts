/** Sends requests over a MessagePort and resolves their responses. If the port closes, pending requests fail. */

import type { MessagePort } from 'node:worker_threads'
import type { ThreadResponse } from './thread-protocol.ts'
import { StoreError } from '../store-error.ts'

interface Pending<Result> {
  readonly resolve: (result: Result) => void
  readonly reject: (error: StoreError) => void
}

export class PortClient<Result> {
  readonly #port: MessagePort
  readonly #pending = new Map<number, Pending<Result>>()
  #lastId = 0
  #isClosed = false

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (responses: ThreadResponse<Result>[]) => {
      for (const response of responses) this.#handleResponse(response)
    })
    port.on('close', () => this.#handleClose())
    // Only a pending request keeps the thread alive.
    port.unref()
  }

  /** Sends the request that `createRequest` builds for a new id. Rejects with StoreError. */
  request(createRequest: (id: number) => unknown): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closedError())
    const id = (this.#lastId += 1)
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#pending.set(id, { resolve, reject })
    if (this.#pending.size === 1) this.#port.ref()
    this.#port.postMessage(createRequest(id))
    return promise
  }

  close(): void {
    this.#port.close()
  }

  #handleResponse(response: ThreadResponse<Result>): void {
    const pending = this.#pending.get(response.id)
    if (pending === undefined) return
    this.#pending.delete(response.id)
    if (this.#pending.size === 0) this.#port.unref()
    if ('failure' in response) pending.reject(new StoreError(response.failure))
    else pending.resolve(response.result)
  }

  #handleClose(): void {
    this.#isClosed = true
    for (const pending of this.#pending.values()) pending.reject(closedError())
    this.#pending.clear()
  }
}

function closedError(): StoreError {
  return new StoreError({ class: 'failed', message: 'The store is closed.' })
}
