/**
 * A reading thread with one read-only connection. There are three, so that heavy statistics never delay control-plane
 * reads, and neither of them what a relayed request looks up.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type {
  ReaderRequest,
  ThreadResponse,
  StoreThreadEvent,
  StoreThreadRequest,
} from './thread-protocol.ts'
import type { Row } from '../statement.ts'
import { openReader, type Connection } from './connection.ts'
import { toStoreFailure } from '../store-error.ts'
import { FairQueue } from '../fair-queue.ts'

class Reader {
  readonly #connection: Connection
  readonly #queue = new FairQueue()
  readonly #pending = new Set<Promise<void>>()

  constructor(path: string) {
    this.#connection = openReader(path)
  }

  handle(port: MessagePort, request: ReaderRequest): void {
    const response = this.#respond(port, request)
    this.#pending.add(response)
    void response.then(() => this.#pending.delete(response))
  }

  async #respond(port: MessagePort, { id, statement, owner }: ReaderRequest): Promise<void> {
    const send = (reply: ThreadResponse<Row[]>): void => port.postMessage([reply])
    try {
      await this.#queue.run(owner, async () => {
        send({ id, result: this.#connection.run(statement).rows })
        // Queues the requests that have arrived meanwhile, before the next turn is given.
        await nextTurn()
      })
    } catch (error) {
      send({ id, failure: toStoreFailure(error) })
    }
  }

  /** Responds to what it has received, and closes. */
  async close(): Promise<void> {
    await Promise.all(this.#pending)
    this.#connection.close()
  }
}

function start(parent: MessagePort, path: string): void {
  const emit = (event: StoreThreadEvent): void => parent.postMessage(event)
  const reader = new Reader(path)
  const ports = new Set<MessagePort>()
  async function close(): Promise<void> {
    await reader.close()
    for (const port of ports) port.close()
    parent.close()
  }
  parent.on('message', (threadRequest: StoreThreadRequest) => {
    if (threadRequest.kind === 'close') return void close()
    if (threadRequest.kind !== 'connect') return
    const { port } = threadRequest
    ports.add(port)
    port.on('message', (request: ReaderRequest) => reader.handle(port, request))
    port.on('close', () => ports.delete(port))
  })
  emit({ kind: 'ready' })
}

if (parentPort !== null) start(parentPort, String(workerData))
