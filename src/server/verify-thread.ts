/** Recomputes the ledger beside everything else: on a thread of its own, over one snapshot of the database. */
import { parentPort, workerData, Worker } from 'node:worker_threads'
import { statementOf, type Db, type Query } from '../db/db.ts'
import { openReader } from '../db/sqlite.ts'
import type { LedgerVerdict } from '../http/house.ts'
import { verifyLedger } from './verify-ledger.ts'

/** A Db that reads one moment, whatever is written meanwhile. */
async function verifySnapshot(path: string): Promise<LedgerVerdict> {
  const connection = openReader(path)
  connection.database.exec('begin')
  const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
    // STRICT tables and the integer rule of db/sqlite.ts make the query's type true.
    connection.run(statementOf(query)).rows as Result[]
  const db: Db = {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    write: () => Promise.reject(new Error('A snapshot is not written to.')),
  }
  try {
    return await verifyLedger(db)
  } finally {
    connection.close()
  }
}

/** Starts the thread for one recomputation. `path`: the database file. */
export function verifyInThread(path: string): Promise<LedgerVerdict> {
  const { promise, resolve, reject } = Promise.withResolvers<LedgerVerdict>()
  const worker = new Worker(new URL(import.meta.url), { workerData: path })
  worker.on('message', resolve)
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The recomputation ended early.')))
  return promise
}

if (parentPort !== null && typeof workerData === 'string') {
  parentPort.postMessage(await verifySnapshot(workerData))
}
