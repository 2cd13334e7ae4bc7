/** Verifies the ledger on a thread of its own: the whole of it once, or new commits periodically. */
import { on } from 'node:events'
import { parentPort, workerData, type MessagePort, type Worker } from 'node:worker_threads'
import { SnapshotReader } from '../../db/postgres/snapshot.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { emptyState } from '../../ledger/state.ts'
import { noDroppedBills, type DroppedBills } from '../../ledger/verify.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { collectGarbageWhenIdle } from '../../lib/idle-garbage-collection.ts'
import { startThread } from '../../lib/thread.ts'
import { LedgerMonitor, type MonitoredLedger, type MonitorListener } from './ledger-monitor.ts'
import { postgresSource } from './postgres-source.ts'
import { PageReader, type LedgerEnd, type LedgerPage } from './page-reader.ts'
import { LedgerReplay } from './replay.ts'
import { openSqliteSnapshots, sqliteSource } from './sqlite-source.ts'

export type { MonitorListener }

/** Where a ledger is: a SQLite file, or the database of a cluster. */
export type LedgerLocation = string | { readonly clusterUrl: string }

interface ThreadInit {
  readonly location: LedgerLocation
  /** Verify the whole ledger once, read it for the thread that does, or verify new commits periodically. */
  readonly task: 'verify' | 'read' | { readonly everyMs: number }
}

/** From the thread that reads: the bills that were dropped, then pages, then the end. */
type ReadMessage =
  | { readonly dropped: DroppedBills }
  | { readonly page: LedgerPage }
  | { readonly end: LedgerEnd }
  | { readonly error: string }

type ThreadReply = { readonly report: LedgerReport } | { readonly error: string }

/** What is read is short-lived, so a small young generation suffices; four times as much is no faster and stays allocated. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 }

function startVerification(init: ThreadInit): Worker {
  return startThread(new URL(import.meta.url), { workerData: init, resourceLimits })
}

/** Verifies the whole ledger once. */
export async function verifyInThread(location: LedgerLocation): Promise<LedgerReport> {
  const worker = startVerification({ location, task: 'verify' })
  const { promise, resolve, reject } = Promise.withResolvers<LedgerReport>()
  worker.on('message', (reply: ThreadReply) => {
    if ('report' in reply) resolve(reply.report)
    else reject(new Error(reply.error))
  })
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The verification was aborted.')))
  try {
    return await promise
  } finally {
    await worker.terminate()
  }
}

/** How often a node checks whether it has become the leader. */
const checkLeadershipEveryMs = 1000

/** Verifies at once and then periodically while `isLeader`; starts anew after another node was the leader. */
export function monitorInThread(
  location: LedgerLocation,
  everyMs: number,
  listener: MonitorListener,
  isLeader: () => boolean = () => true,
): () => Promise<void> {
  let worker: Worker | null = null
  let isStopped = false
  let nextAt = 0

  async function stop(): Promise<void> {
    const stopped = worker
    worker = null
    nextAt = 0
    await stopped?.terminate()
  }

  function start(): Worker {
    const started = startVerification({ location, task: { everyMs } })
    started.unref()
    started.on('message', (reply: ThreadReply) => {
      // What it reports while it is stopped, for instance of a store that is closed, concerns nobody.
      if (worker !== started) return
      if ('report' in reply) listener.onReport(reply.report)
      else listener.onError(new Error(reply.error))
    })
    started.on('error', (error: unknown) => listener.onError(error))
    started.on('exit', () => (worker = worker === started ? null : worker))
    return started
  }

  function checkIfDue(): void {
    if (isStopped) return
    if (!isLeader()) return void stop()
    const now = performance.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    worker ??= start()
    worker.postMessage('check')
  }

  const timer = setInterval(checkIfDue, Math.min(everyMs, checkLeadershipEveryMs))
  timer.unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await stop()
  }
}

function openLedger(location: LedgerLocation): MonitoredLedger {
  if (typeof location === 'string')
    return { source: sqliteSource, openSnapshots: () => openSqliteSnapshots(location) }
  const { clusterUrl } = location
  return { source: postgresSource, openSnapshots: (name) => new SnapshotReader(clusterUrl, name) }
}

/** Pages that are read while another one is replayed. */
const maxPagesAhead = 2

/** Reads the whole ledger in one snapshot, and sends its pages as they are asked for. */
async function sendLedger({ source, openSnapshots }: MonitoredLedger, port: MessagePort): Promise<void> {
  const send = (message: ReadMessage): void => port.postMessage(message)
  const requests = on(port, 'message')
  const snapshots = openSnapshots('sluice verify')
  try {
    await snapshots.read(async (db) => {
      const start = await source.readBeginning(db)
      send({ dropped: start.dropped })
      const reader = new PageReader(source, start)
      for (let isLast = false, ahead = 0; !isLast; ahead += 1) {
        if (ahead >= maxPagesAhead) await requests.next()
        const page = await reader.next(db)
        send({ page })
        isLast = page.isLast
      }
      send({ end: await reader.readEnd(db) })
    })
  } catch (error) {
    send({ error: errorMessage(error) })
  }
  await snapshots.close()
}

/** Replays the ledger that another thread reads: reading and hashing take about as long as replaying. */
async function verifyOnce(location: LedgerLocation): Promise<LedgerReport> {
  const reading = startVerification({ location, task: 'read' })
  let replay = new LedgerReplay({ state: emptyState(), dropped: noDroppedBills })
  for await (const [message] of on(reading, 'message') as AsyncIterable<[ReadMessage]>) {
    if ('error' in message) throw new Error(message.error)
    if ('end' in message) return replay.report(message.end)
    if ('dropped' in message) replay = new LedgerReplay({ state: emptyState(), dropped: message.dropped })
    else {
      reading.postMessage('next')
      replay.apply(message.page)
    }
  }
  throw new Error('The ledger was not read to its end.')
}

function run({ location, task }: ThreadInit, port: MessagePort): void {
  const reply = (message: ThreadReply): void => port.postMessage(message)
  const onReport = (report: LedgerReport): void => reply({ report })
  const onError = (error: unknown): void => reply({ error: errorMessage(error) })
  if (task === 'verify') return void verifyOnce(location).then(onReport, onError)
  const ledger = openLedger(location)
  if (task === 'read') return void sendLedger(ledger, port)
  collectGarbageWhenIdle()
  const monitor = new LedgerMonitor(ledger, { onReport, onError })
  let last: Promise<unknown> = Promise.resolve()
  port.on('message', () => {
    last = last.then(() => monitor.check()).then(onReport, onError)
  })
  // A node of a cluster cannot know what others do to the rows; the file of a single relay was changed while nothing ran.
  return void (typeof location === 'string'
    ? monitor.scrubOnce(task.everyMs)
    : monitor.scrubAll(task.everyMs))
}

function isThreadInit(value: unknown): value is ThreadInit {
  return typeof value === 'object' && value !== null && 'location' in value && 'task' in value
}

if (parentPort !== null && isThreadInit(workerData)) run(workerData, parentPort)
