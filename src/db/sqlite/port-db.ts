/** The Db of a thread that sends its queries to the store's threads over message ports. */

import type { MessagePort } from 'node:worker_threads'
import { compileQuery, type Db, type Query } from '../db.ts'
import type { Row, StatementResult } from '../statement.ts'
import { PortClient } from './port-client.ts'
import type { ReaderRequest, StoreRequest } from './thread-protocol.ts'

/** Ports to the store's threads, transferable to the thread that will use them. */
export interface DbPorts {
  readonly writer: MessagePort
  readonly reader: MessagePort
  readonly reporter: MessagePort
}

/** Opens a Db over the ports of `Store.portsForWorker()` in the thread that received them. */
export function connectDb(ports: DbPorts): Db {
  const writer = new PortClient<StatementResult[]>(ports.writer)
  return createDb(writer, ports)
}

/** Like connectDb, for a thread that also sends ledger commits over the same port, which preserves their order. */
export function createDb(
  writer: PortClient<StatementResult[]>,
  ports: Pick<DbPorts, 'reader' | 'reporter'>,
): Db {
  const reader = new PortClient<Row[]>(ports.reader)
  const reporter = new PortClient<Row[]>(ports.reporter)
  async function read<Result>(from: PortClient<Row[]>, query: Query<Result>): Promise<Result[]> {
    const statement = compileQuery(query)
    const rows = await from.request((id): ReaderRequest => ({ id, statement }))
    // STRICT tables and the integer rule of connection.ts guarantee the query's type.
    return rows as Result[]
  }
  return {
    all: (query) => read(reader, query),
    report: (query) => read(reporter, query),
    async first(query) {
      return (await read(reader, query))[0]
    },
    async write(...queries) {
      const statements = queries.map(compileQuery)
      return writer.request((id): StoreRequest => ({ id, kind: 'write', statements }))
    },
  }
}
