/**
 * Verifies the ledger on a thread of its own, over a snapshot of the database: the whole ledger once, or new commits
 * periodically.
 */
import { parentPort, workerData, type MessagePort, type Worker } from 'node:worker_threads'
import { startThread } from '../../lib/thread.ts'
import { resourceLimits } from '../../db/sqlite/ledger-reader.ts'
import { compileQuery, type Db, type Query } from '../../db/db.ts'
import { cacheKiB, openReader, type Connection } from '../../db/sqlite/connection.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { collectGarbageWhenIdle } from '../../lib/idle-garbage-collection.ts'
import { verifyFast } from './fast-verify.ts'
import { verifyLedger } from './verify-ledger.ts'
import { LedgerMonitor } from './ledger-monitor.ts'

interface ThreadInit {
  readonly path: string
  readonly mode: 'once' | 'monitor'
}

/** A Db over the thread's own connection. */
function dbOn(connection: Connection): Db {
  const rowsOf = async <Result>(query: Query<Result>): Promise<Result[]> =>
    // STRICT tables and the integer rule of db/sqlite/connection.ts make the query's type true.
    connection.run(compileQuery(query)).rows as Result[]
  return {
    all: rowsOf,
    report: rowsOf,
    first: async (query) => (await rowsOf(query))[0],
    write: () => Promise.reject(new Error('A snapshot is read-only.')),
  }
}

/** Reads one snapshot, independently of concurrent writes. */
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

function startVerification(init: ThreadInit): Worker {
  return startThread(new URL(import.meta.url), { workerData: init, resourceLimits })
}

/** Verifies the whole ledger once. `path`: the database file. */
export function verifyInThread(path: string): Promise<LedgerReport> {
  const { promise, resolve, reject } = Promise.withResolvers<LedgerReport>()
  const worker = startVerification({ path, mode: 'once' })
  worker.on('message', resolve)
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The verification was aborted.')))
  return promise
}

export interface MonitorListener {
  onReport(report: LedgerReport): void
  /** A check failed for another reason than the ledger; the next one starts again. */
  onError(error: unknown): void
}

/** Verifies new commits at once and then periodically. The returned function stops it. */
export function monitorInThread(
  path: string,
  everyMs: number,
  listener: MonitorListener,
): () => Promise<void> {
  let worker = startWorker()
  let next: NodeJS.Timeout | undefined
  let isStopped = false

  function startWorker(): Worker {
    const started = startVerification({ path, mode: 'monitor' })
    started.unref()
    started.on('message', (report: LedgerReport) => {
      schedule(() => started.postMessage('check'))
      listener.onReport(report)
    })
    started.on('error', (error: unknown) => listener.onError(error))
    started.on('exit', () => schedule(() => (worker = startWorker())))
    started.postMessage('check')
    return started
  }

  function schedule(action: () => void): void {
    if (isStopped) return
    next = setTimeout(action, everyMs)
    next.unref()
  }

  return async () => {
    isStopped = true
    clearTimeout(next)
    await worker.terminate()
  }
}

async function run({ path, mode }: ThreadInit, port: MessagePort): Promise<void> {
  const connection = openReader(path, cacheKiB.readOnce)
  if (mode === 'once') {
    // The ledger is almost always consistent; only otherwise is it necessary to find what differs.
    port.postMessage((await verifyFast(path)) ?? (await inSnapshot(connection, verifyLedger)))
    connection.close()
    return
  }
  collectGarbageWhenIdle()
  const monitor = new LedgerMonitor((read) => inSnapshot(connection, read))
  port.on('message', () => void monitor.check().then((report) => port.postMessage(report)))
}

/** Whether `startVerification` started this thread; other threads may import this file. */
function isThreadInit(value: unknown): value is ThreadInit {
  return typeof value === 'object' && value !== null && 'mode' in value && 'path' in value
}

if (parentPort !== null && isThreadInit(workerData)) await run(workerData, parentPort)
