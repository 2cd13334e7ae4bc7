/** The database of a thread that sends its queries to the store's threads over message ports. */

import type { MessagePort } from 'node:worker_threads'
import { compileQuery, type Db, type Query, type WorkerDb } from '../db.ts'
import { systemOwner } from '../fair-queue.ts'
import type { Row, StatementResult } from '../statement.ts'
import { PortClient } from './port-client.ts'
import type { ReaderRequest, StoreRequest } from './thread-protocol.ts'

/** Ports to the store's threads, transferable to the thread that will use them. */
export interface DbPorts {
  readonly writer: MessagePort
  readonly reader: MessagePort
  readonly lookups: MessagePort
  readonly reporter: MessagePort
}

async function read<Result>(
  from: PortClient<Row[]>,
  query: Query<Result>,
  owner = systemOwner,
): Promise<Result[]> {
  const statement = compileQuery(query)
  const rows = await from.request((id): ReaderRequest => ({ id, statement, owner }))
  // STRICT tables and the integer rule of connection.ts guarantee the query's type.
  return rows as Result[]
}

/** Opens the database over the ports of `Store.portsForWorker()` in the thread that received them. */
export function connectDb(ports: DbPorts): WorkerDb {
  const writer = new PortClient<StatementResult[]>(ports.writer)
  const lookups = new PortClient<Row[]>(ports.lookups)
  return {
    db: createDb(writer, ports),
    lookups: { first: async (query) => (await read(lookups, query))[0] },
  }
}

/** The Db of a thread that may also send ledger commits over the writer's port, which preserves their order. */
export function createDb(
  writer: PortClient<StatementResult[]>,
  ports: Pick<DbPorts, 'reader' | 'reporter'>,
): Db {
  const reader = new PortClient<Row[]>(ports.reader)
  const reporter = new PortClient<Row[]>(ports.reporter)
  return {
    all: (query) => read(reader, query),
    report: (query, account) => read(reporter, query, account),
    async first(query) {
      return (await read(reader, query))[0]
    },
    async write(...queries) {
      const statements = queries.map(compileQuery)
      return writer.request((id): StoreRequest => ({ id, kind: 'write', statements }))
    },
  }
}
