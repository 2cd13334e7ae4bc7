/**
 * What a node of a cluster keeps on its own disk: who it is, how far its running streams have come, and the
 * settlements that the database could not take yet. Small, and written by a thread of its own: what gathers while one
 * write is under way goes with the next, in one transaction with one sync.
 */

import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { StoreError } from '../store-error.ts'
import type { LocalContent, LocalLine, LocalOrder, LocalReply } from './local-journal-protocol.ts'

export const localJournalFileName = 'node.db'

export interface LocalJournal {
  readonly content: LocalContent
  /** Resolves when the line is on disk. Rejects with StoreError. */
  write(line: LocalLine): Promise<void>
  /** Written with whatever is written next; nobody waits. */
  note(line: LocalLine): void
  close(): Promise<void>
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: StoreError) => void
}

class Writer {
  readonly #worker: Worker
  #lines: LocalLine[] = []
  #waiting: Waiting[] = []
  #under: Waiting[] | null = null
  #isScheduled = false

  constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (reply: LocalReply) => this.#take(reply))
    worker.on('exit', () =>
      this.#take({ kind: 'failed', failure: { class: 'failed', message: 'It has ended.' } }),
    )
  }

  write(line: LocalLine): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#lines.push(line)
    this.#waiting.push({ resolve, reject })
    this.#schedule()
    return promise
  }

  note(line: LocalLine): void {
    this.#lines.push(line)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#under !== null) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  #send(): void {
    if (this.#under !== null || this.#lines.length === 0) return
    this.#under = this.#waiting
    this.#waiting = []
    const lines = this.#lines
    this.#lines = []
    this.#worker.postMessage({ kind: 'write', lines } satisfies LocalOrder)
  }

  #take(reply: LocalReply): void {
    if (reply.kind !== 'written' && reply.kind !== 'failed') return
    const under = this.#under ?? []
    this.#under = null
    for (const { resolve, reject } of under) {
      if (reply.kind === 'written') resolve()
      else reject(new StoreError(reply.failure))
    }
    this.#send()
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    while (this.#under !== null || this.#lines.length > 0) {
      this.#send()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#worker.postMessage({ kind: 'close' } satisfies LocalOrder)
    await ended
  }
}

/** Opens, or makes, the journal of a data directory whose lock the caller holds. */
export async function openLocalJournal(dataDir: string): Promise<LocalJournal> {
  const worker = new Worker(new URL('./local-journal-thread.ts', import.meta.url), {
    workerData: join(dataDir, localJournalFileName),
  })
  const { promise, resolve, reject } = Promise.withResolvers<LocalContent>()
  worker.once('message', (reply: LocalReply) => {
    if (reply.kind === 'content') resolve(reply.content)
    else reject(new Error(reply.kind === 'refused' ? reply.message : 'The local journal did not open.'))
  })
  worker.once('error', reject)
  const content = await promise
  const writer = new Writer(worker)
  return {
    content,
    write: (line) => writer.write(line),
    note: (line) => writer.note(line),
    close: () => writer.close(),
  }
}
