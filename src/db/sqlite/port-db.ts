/** The database of a thread that sends its queries to the store's threads over channels. */

import type { MessagePort } from 'node:worker_threads'
import { Channel, type Endpoint, type ErrorFormat } from '../../rpc/channel.ts'
import { compileQuery, type Query, type WorkerDb } from '../db.ts'
import { systemOwner } from '../../lib/fair-queue.ts'
import type { Row, Statement, StatementResult } from '../statement.ts'
import { StoreError, toStoreFailure, type StoreFailure } from '../store-error.ts'
import type { PackedCommit } from './packed-commit.ts'

/** Ports to the store's threads, transferable to the thread that will use them. */
export interface DbPorts {
  readonly writer: MessagePort
  readonly reader: MessagePort
  readonly lookups: MessagePort
  readonly reporter: MessagePort
}

/** What the store thread offers to other threads. */
export interface WriterService {
  write(statements: readonly Statement[]): Promise<StatementResult[]>
  /** Resolves when the commit is durable. */
  commit(commit: PackedCommit): Promise<unknown>
}

/** What a reading thread offers to other threads. */
export interface ReaderService {
  /** `owner`: whose query it is, for the order of queries (lib/fair-queue.ts). */
  read(statement: Statement, owner: string): Promise<Row[]>
}

/** All methods reject with StoreError. */
export const storeErrors: ErrorFormat = {
  encode: (error) => toStoreFailure(error),
  decode: (failure: StoreFailure) => new StoreError(failure),
  closed: () => new StoreError({ class: 'failed', message: 'The store is closed.' }),
}

function connect<Service>(port: Endpoint): Service {
  const channel = new Channel<{ readonly store: Service }>(port, storeErrors)
  return channel.serve({ keepsAlive: false }).proxy('store')
}

function connectReader(port: Endpoint) {
  const reader = connect<ReaderService>(port)
  // STRICT tables and the integer rule of connection.ts guarantee the query's type.
  return async <Result>(query: Query<Result>, owner = systemOwner) =>
    (await reader.read(compileQuery(query), owner)) as Result[]
}

/** Opens the database over the ports of `Store.portsForWorker()` in the thread that received them. */
export function connectDb(
  ports: Readonly<Record<keyof DbPorts, Endpoint>>,
): WorkerDb & { readonly writer: WriterService } {
  const writer = connect<WriterService>(ports.writer)
  const all = connectReader(ports.reader)
  const report = connectReader(ports.reporter)
  const lookUp = connectReader(ports.lookups)
  return {
    writer,
    db: {
      all,
      report,
      first: async (query) => (await all(query))[0],
      write: async (...queries) => writer.write(queries.map(compileQuery)),
    },
    lookups: { first: async (query) => (await lookUp(query))[0] },
  }
}
