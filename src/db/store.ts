/**
 * The durable store as the main thread holds it: it starts the store thread (which migrates) and two reading threads,
 * hands every other thread its ports, and sends the ledger's commits. Closing it waits for what was sent.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { dbOver, type Db, type DbPorts } from './db.ts'
import type { LedgerCommit, StatementResult, StoreRequest, ThreadNotice, ThreadOrder } from './messages.ts'
import { packedCommit } from './sqlite/packed-commit.ts'
import { PortClient } from './sqlite/port-client.ts'
import { readLedger, type LedgerState } from './read-ledger.ts'

export const databaseFileName = 'sluice.db'

export interface StoreOptions {
  readonly dataDir: string
  /** The disk failed or a thread of the store ended by itself: nothing is durable any more, the process has to end. */
  readonly onFailed?: (reason: string) => void
  /** Request rows are deleted when they are older than this; 0, as absent: none is. */
  readonly requestsKeptMs?: number
  /** So many were, since this was last told. */
  readonly onDropped?: (requests: number) => void
}

export interface Store {
  readonly db: Db
  /** Resolves when the commit is durable. Rejects with StoreError; after `full` send the same commit again. */
  commit(commit: LedgerCommit): Promise<void>
  /** Ports for one more thread: transfer all three, then `connectDb(ports)` there. */
  portsForWorker(): DbPorts
  /** What the ledger starts from. Throws when the journal's chain is broken. */
  readLedger(): Promise<LedgerState>
  close(): Promise<void>
}

interface ThreadListener {
  failed(reason: string): void
  dropped(requests: number): void
}

interface Thread {
  readonly worker: Worker
  readonly ended: Promise<void>
}

function order(thread: Thread, message: ThreadOrder): void {
  thread.worker.postMessage(message, message.kind === 'connect' ? [message.port] : [])
}

function portTo(thread: Thread): DbPorts['writer'] {
  const { port1, port2 } = new MessageChannel()
  order(thread, { kind: 'connect', port: port1 })
  return port2
}

/** Starts a thread of this room and waits until it serves; rejects with its reason when it refuses. */
function startThread(file: string, path: string, listener: ThreadListener): Promise<Thread> {
  const worker = new Worker(new URL(file, import.meta.url), { workerData: path })
  const ending = Promise.withResolvers<void>()
  const starting = Promise.withResolvers<Thread>()
  worker.on('message', (notice: ThreadNotice) => {
    if (notice.kind === 'ready') starting.resolve({ worker, ended: ending.promise })
    else if (notice.kind === 'refused') starting.reject(new Error(notice.message))
    else if (notice.kind === 'dropped') listener.dropped(notice.requests)
    else listener.failed(notice.message)
  })
  worker.on('error', (error: Error) => {
    starting.reject(error)
    listener.failed(error.message)
  })
  worker.on('exit', () => {
    starting.reject(new Error('A thread of the store ended before it was ready.'))
    ending.resolve()
    listener.failed('A thread of the store has ended.')
  })
  return starting.promise
}

async function startThreads(path: string, listener: ThreadListener): Promise<[Thread, Thread, Thread]> {
  const writer = await startThread('./store-thread.ts', path, listener)
  const [reader, reporter] = await Promise.all([
    startThread('./sqlite/reader-thread.ts', path, listener),
    startThread('./sqlite/reader-thread.ts', path, listener),
  ])
  return [writer, reader, reporter]
}

/** Opens the store of a data directory, making both when they do not exist. Rejects for a newer schema. */
export async function openStore(options: StoreOptions): Promise<Store> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
  let serving = false
  const threads = await startThreads(join(options.dataDir, databaseFileName), {
    failed(reason) {
      if (!serving) return
      serving = false
      options.onFailed?.(reason)
    },
    dropped: (requests) => options.onDropped?.(requests),
  })
  const [writer, reader, reporter] = threads
  const { requestsKeptMs = 0 } = options
  if (requestsKeptMs > 0) order(writer, { kind: 'keep', requestsMs: requestsKeptMs })
  serving = true
  const portsForWorker = (): DbPorts => ({
    writer: portTo(writer),
    reader: portTo(reader),
    reporter: portTo(reporter),
  })
  const ports = portsForWorker()
  const client = new PortClient<StatementResult[]>(ports.writer)
  const db = dbOver(client, ports)
  return {
    db,
    async commit(commit) {
      const packed = packedCommit(commit)
      await client.ask((id): StoreRequest => ({ id, kind: 'commit', commit: packed }))
    },
    portsForWorker,
    readLedger: () => readLedger(db),
    async close() {
      serving = false
      for (const thread of [reader, reporter, writer]) {
        order(thread, { kind: 'close' })
        await thread.ended
      }
    },
  }
}
