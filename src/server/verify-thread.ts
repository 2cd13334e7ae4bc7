/**
 * Recomputes the ledger beside everything else, on a thread of its own, over one snapshot of the database: once and
 * all of it, or again and again what is new.
 */
import { parentPort, workerData, Worker, type MessagePort } from 'node:worker_threads'
import { resourceLimits } from '../db/sqlite/ledger-reader.ts'
import { statementOf, type Db, type Query } from '../db/db.ts'
import { cacheKiB, openReader, type Connection } from '../db/sqlite/connection.ts'
import type { LedgerVerdict } from '../http/house.ts'
import { collectWhenIdle } from '../lib/idle-garbage-collection.ts'
import { verifySwiftly } from './swift-verify.ts'
import { verifyLedger } from './verification/verify-ledger.ts'
import { LedgerWatch } from './watch-ledger.ts'

interface Birth {
  readonly path: string
  readonly manner: 'once' | 'watch'
}

/** A Db over the thread's own connection. */
function dbOn(connection: Connection): Db {
  const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
    // STRICT tables and the integer rule of db/sqlite.ts make the query's type true.
    connection.run(statementOf(query)).rows as Result[]
  return {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    write: () => Promise.reject(new Error('A snapshot is not written to.')),
  }
}

/** Reads one moment, whatever is written meanwhile. */
export async function inSnapshot<Result>(
  connection: Connection,
  read: (db: Db) => Promise<Result>,
): Promise<Result> {
  connection.database.exec('begin')
  try {
    return await read(dbOn(connection))
  } finally {
    connection.database.exec('rollback')
  }
}

function start(birth: Birth): Worker {
  return new Worker(new URL(import.meta.url), { workerData: birth, resourceLimits })
}

/** Starts the thread for one recomputation. `path`: the database file. */
export function verifyInThread(path: string): Promise<LedgerVerdict> {
  const { promise, resolve, reject } = Promise.withResolvers<LedgerVerdict>()
  const worker = start({ path, manner: 'once' })
  worker.on('message', resolve)
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The recomputation ended early.')))
  return promise
}

export interface WatchListener {
  verdict(verdict: LedgerVerdict): void
  /** A look failed for another reason than the ledger; the next one begins anew. */
  failed(error: unknown): void
}

/** Looks at the ledger at once and then so often, until what is returned is called. */
export function watchInThread(path: string, everyMs: number, listener: WatchListener): () => Promise<void> {
  let worker = begin()
  let next: NodeJS.Timeout | undefined
  let isOver = false

  function begin(): Worker {
    const begun = start({ path, manner: 'watch' })
    begun.unref()
    begun.on('message', (verdict: LedgerVerdict) => {
      later(() => begun.postMessage('look'))
      listener.verdict(verdict)
    })
    begun.on('error', (error: unknown) => listener.failed(error))
    begun.on('exit', () => later(() => (worker = begin())))
    begun.postMessage('look')
    return begun
  }

  function later(look: () => void): void {
    if (isOver) return
    next = setTimeout(look, everyMs)
    next.unref()
  }

  return async () => {
    isOver = true
    clearTimeout(next)
    await worker.terminate()
  }
}

async function serve({ path, manner }: Birth, port: MessagePort): Promise<void> {
  const connection = openReader(path, cacheKiB.readOnce)
  if (manner === 'once') {
    // Nearly always nothing is wrong; only what is has to be told apart.
    port.postMessage((await verifySwiftly(path)) ?? (await inSnapshot(connection, verifyLedger)))
    connection.close()
    return
  }
  collectWhenIdle()
  const watch = new LedgerWatch((read) => inSnapshot(connection, read))
  port.on('message', () => void watch.look().then((verdict) => port.postMessage(verdict)))
}

/** As it was told by `start`; other threads may have imported this file. */
function isBirth(value: unknown): value is Birth {
  return typeof value === 'object' && value !== null && 'manner' in value && 'path' in value
}

if (parentPort !== null && isBirth(workerData)) await serve(workerData, parentPort)
