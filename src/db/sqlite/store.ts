/**
 * The SQLite store in the main thread: starts the store thread (which migrates the schema) and three reading threads,
 * creates ports for other threads, and sends the ledger's commits. Closing it waits for pending requests.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { startThread } from '../../lib/thread.ts'
import { createDb, type DbPorts } from './port-db.ts'
import type { Db } from '../db.ts'
import type { LedgerCommit } from '../ledger-commit.ts'
import type { StatementResult } from '../statement.ts'
import type {
  StoreRequest,
  StoreThreadData,
  StoreThreadEvent,
  StoreThreadRequest,
} from './thread-protocol.ts'
import { packCommit } from './packed-commit.ts'
import { PortClient } from './port-client.ts'
import { readLedger, type LedgerState } from '../read-ledger.ts'

export const databaseFileName = 'sluice.db'

export interface StoreOptions {
  readonly dataDir: string
  /** The URL of a module whose `maintenanceSteps` the store thread runs once a second, such as the roll-ups. */
  readonly maintenanceModule?: URL | undefined
  /** The disk failed or a store thread ended unexpectedly: nothing is durable any more, and the process must exit. */
  readonly onFailed?: (reason: string) => void
  /** Request rows older than this are deleted; 0 or absent: none. */
  readonly requestRetentionMs?: number
  /** Reports how many were deleted since the last report. */
  readonly onRequestsDeleted?: (requests: number) => void
}

export interface Store {
  readonly db: Db
  /** Resolves when the commit is durable. Rejects with StoreError; on `full`, send the same commit again. */
  commit(commit: LedgerCommit): Promise<void>
  /** Creates ports for another thread: transfer them all, then call `connectDb(ports)` there. */
  portsForWorker(): DbPorts
  /** Reads the state from which the ledger starts. Throws if the journal's hash chain is broken. */
  readLedger(): Promise<LedgerState>
  close(): Promise<void>
}

interface ThreadListener {
  failed(reason: string): void
  requestsDeleted(requests: number): void
}

interface Thread {
  readonly worker: Worker
  readonly ended: Promise<void>
}

function sendRequest(thread: Thread, message: StoreThreadRequest): void {
  thread.worker.postMessage(message, message.kind === 'connect' ? [message.port] : [])
}

function openPort(thread: Thread): DbPorts['writer'] {
  const { port1, port2 } = new MessageChannel()
  sendRequest(thread, { kind: 'connect', port: port1 })
  return port2
}

/** Starts a thread of the store and waits until it is ready; rejects with its reason if it fails to start. */
function startStoreThread(
  file: string,
  workerData: string | StoreThreadData,
  listener: ThreadListener,
): Promise<Thread> {
  const worker = startThread(new URL(file, import.meta.url), { workerData })
  const ended = Promise.withResolvers<void>()
  const started = Promise.withResolvers<Thread>()
  worker.on('message', (event: StoreThreadEvent) => {
    if (event.kind === 'ready') started.resolve({ worker, ended: ended.promise })
    else if (event.kind === 'startFailed') started.reject(new Error(event.message))
    else if (event.kind === 'requestsDeleted') listener.requestsDeleted(event.requests)
    else listener.failed(event.message)
  })
  worker.on('error', (error: Error) => {
    started.reject(error)
    listener.failed(error.message)
  })
  worker.on('exit', () => {
    started.reject(new Error('A store thread ended before it was ready.'))
    ended.resolve()
    listener.failed('A store thread ended.')
  })
  return started.promise
}

async function startThreads(
  data: StoreThreadData,
  listener: ThreadListener,
): Promise<Record<keyof DbPorts, Thread>> {
  const { path } = data
  const writer = await startStoreThread('./store-thread.ts', data, listener)
  const startReader = (): Promise<Thread> => startStoreThread('./reader-thread.ts', path, listener)
  const [reader, lookups, reporter] = await Promise.all([startReader(), startReader(), startReader()])
  return { writer, reader, lookups, reporter }
}

/** Opens the store of a data directory; creates both if they do not exist. Rejects a newer schema. */
export async function openStore(options: StoreOptions): Promise<Store> {
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 })
  let isServing = false
  const path = join(options.dataDir, databaseFileName)
  const data = { path, maintenanceModule: options.maintenanceModule?.href ?? null }
  const threads = await startThreads(data, {
    failed(reason) {
      if (!isServing) return
      isServing = false
      options.onFailed?.(reason)
    },
    requestsDeleted: (requests) => options.onRequestsDeleted?.(requests),
  })
  const { writer, reader, lookups, reporter } = threads
  const { requestRetentionMs = 0 } = options
  if (requestRetentionMs > 0) sendRequest(writer, { kind: 'retain', requestsMs: requestRetentionMs })
  isServing = true
  const portsForWorker = (): DbPorts => ({
    writer: openPort(writer),
    reader: openPort(reader),
    lookups: openPort(lookups),
    reporter: openPort(reporter),
  })
  const ports = portsForWorker()
  const client = new PortClient<StatementResult[]>(ports.writer)
  const db = createDb(client, ports)
  return {
    db,
    async commit(commit) {
      const packed = packCommit(commit)
      await client.request((id): StoreRequest => ({ id, kind: 'commit', commit: packed }))
    },
    portsForWorker,
    readLedger: () => readLedger(db),
    async close() {
      isServing = false
      for (const thread of [reader, lookups, reporter, writer]) {
        sendRequest(thread, { kind: 'close' })
        await thread.ended
      }
    },
  }
}
