/**
 * The SQLite store in the main thread: starts the store thread (which migrates the schema) and three reading threads,
 * creates ports for other threads, and sends the ledger's commits. Closing it waits for pending requests.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { openThread, type RemoteThread } from '../../rpc/thread.ts'
import type { Db } from '../db.ts'
import type { LedgerCommit } from '../ledger-commit.ts'
import { packCommit } from './packed-commit.ts'
import { connectDb, type DbPorts } from './port-db.ts'
import type { StoreThreadServices } from './serve-store-thread.ts'
import type { StoreEvents, StoreThreadOptions } from './store-thread.ts'
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

type StoreThread = RemoteThread<StoreThreadServices<unknown>>

/** Starts a thread of the store and opens it; rejects if it fails to start. */
async function startStoreThread<OpenOptions>(
  module: string,
  name: string,
  options: OpenOptions,
  listener: StoreEvents['events'],
): Promise<StoreThread> {
  const thread = openThread<StoreThreadServices<OpenOptions>>(new URL(module, import.meta.url), {
    name,
    services: { events: listener },
  })
  void thread.ended.then((reason) => listener.failed(reason))
  await thread.channel.proxy('thread').open(options)
  return thread
}

function openPort({ channel }: StoreThread): MessagePort {
  const { port1, port2 } = new MessageChannel()
  channel.send('thread', 'connect', port1)
  return port2
}

/** Opens the store of a data directory; creates both if they do not exist. Rejects a newer schema. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dataDir, maintenanceModule, requestRetentionMs = 0 } = options
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  let isServing = false
  const path = join(dataDir, databaseFileName)
  const listener: StoreEvents['events'] = {
    failed(reason) {
      if (!isServing) return
      isServing = false
      options.onFailed?.(reason)
    },
    requestsDeleted: (requests) => options.onRequestsDeleted?.(requests),
  }
  const writer = await startStoreThread<StoreThreadOptions>(
    './store-thread.ts',
    'store',
    { path, maintenanceModule: maintenanceModule?.href ?? null, requestRetentionMs },
    listener,
  )
  const startReader = (name: string): Promise<StoreThread> =>
    startStoreThread('./reader-thread.ts', name, path, listener)
  const [reader, lookups, reporter] = await Promise.all([
    startReader('reader'),
    startReader('lookups'),
    startReader('reporter'),
  ])
  isServing = true
  const portsForWorker = (): DbPorts => ({
    writer: openPort(writer),
    reader: openPort(reader),
    lookups: openPort(lookups),
    reporter: openPort(reporter),
  })
  const connected = connectDb(portsForWorker())
  const { db } = connected
  return {
    db,
    async commit(commit) {
      await connected.writer.commit(packCommit(commit))
    },
    portsForWorker,
    readLedger: () => readLedger(db),
    async close() {
      isServing = false
      for (const { channel, ended } of [reader, lookups, reporter, writer]) {
        channel.send('thread', 'close')
        await ended
      }
    },
  }
}
