/**
 * The local journal of a cluster node on its own disk: its identity, the progress of its running streams, and the
 * settlements that the database has not accepted yet. It is small and written by its own thread: records that arrive
 * during one write are committed together by the next, in one transaction with one sync.
 */

import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { startThread } from '../../lib/thread.ts'
import { StoreError } from '../store-error.ts'
import type {
  LocalJournalContents,
  LocalJournalRecord,
  LocalJournalRequest,
  LocalJournalResponse,
} from './local-journal-protocol.ts'

export const localJournalFileName = 'node.db'

export interface LocalJournal {
  readonly contents: LocalJournalContents
  /** Resolves when the record is on disk. Rejects with StoreError. */
  write(record: LocalJournalRecord): Promise<void>
  /** Writes the record without waiting. */
  append(record: LocalJournalRecord): void
  close(): Promise<void>
}

interface PendingWrite {
  readonly resolve: () => void
  readonly reject: (error: StoreError) => void
}

class LocalJournalWriter {
  readonly #worker: Worker
  #records: LocalJournalRecord[] = []
  #pending: PendingWrite[] = []
  #inFlight: PendingWrite[] | null = null
  #isScheduled = false

  constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (reply: LocalJournalResponse) => this.#handleResponse(reply))
    worker.on('exit', () =>
      this.#handleResponse({
        kind: 'failed',
        failure: { class: 'failed', message: 'The thread of the local journal ended.' },
      }),
    )
  }

  write(record: LocalJournalRecord): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#records.push(record)
    this.#pending.push({ resolve, reject })
    this.#schedule()
    return promise
  }

  append(record: LocalJournalRecord): void {
    this.#records.push(record)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight !== null) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#send()
    })
  }

  #send(): void {
    if (this.#inFlight !== null || this.#records.length === 0) return
    this.#inFlight = this.#pending
    this.#pending = []
    const lines = this.#records
    this.#records = []
    this.#worker.postMessage({ kind: 'write', lines } satisfies LocalJournalRequest)
  }

  #handleResponse(reply: LocalJournalResponse): void {
    if (reply.kind !== 'written' && reply.kind !== 'failed') return
    const inFlight = this.#inFlight ?? []
    this.#inFlight = null
    for (const { resolve, reject } of inFlight) {
      if (reply.kind === 'written') resolve()
      else reject(new StoreError(reply.failure))
    }
    this.#send()
  }

  /** Resolves when all records are written. */
  async close(): Promise<void> {
    while (this.#inFlight !== null || this.#records.length > 0) {
      this.#send()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve))
    this.#worker.postMessage({ kind: 'close' } satisfies LocalJournalRequest)
    await ended
  }
}

/** Opens or creates the journal of a data directory; the caller must hold its lock. */
export async function openLocalJournal(dataDir: string): Promise<LocalJournal> {
  const worker = startThread(new URL('./local-journal-thread.ts', import.meta.url), {
    workerData: join(dataDir, localJournalFileName),
  })
  const { promise, resolve, reject } = Promise.withResolvers<LocalJournalContents>()
  worker.once('message', (reply: LocalJournalResponse) => {
    if (reply.kind === 'opened') resolve(reply.content)
    else reject(new Error(reply.kind === 'openFailed' ? reply.message : 'The local journal did not open.'))
  })
  worker.once('error', reject)
  const content = await promise
  const writer = new LocalJournalWriter(worker)
  return {
    contents: content,
    write: (line) => writer.write(line),
    append: (line) => writer.append(line),
    close: () => writer.close(),
  }
}
