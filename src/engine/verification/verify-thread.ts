/** Verifies the ledger on a thread of its own: the whole of it once, or new commits periodically. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { SnapshotReader } from '../../db/postgres/snapshot.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { collectGarbageWhenIdle } from '../../lib/idle-garbage-collection.ts'
import { Channel, plainErrors } from '../../rpc/channel.ts'
import { openThread, type RemoteThread } from '../../rpc/thread.ts'
import { LedgerMonitor, type MonitoredLedger, type MonitorListener } from './ledger-monitor.ts'
import { postgresSource } from './postgres-source.ts'
import { LedgerReader, type LedgerEnd, type LedgerPage } from './ledger-reader.ts'
import { comparePayments } from './payment-check.ts'
import { LedgerReplay, type LedgerReport } from './replay.ts'
import type { Difference } from './row-sums.ts'
import { openSqliteSnapshots, sqliteSource } from './sqlite-source.ts'

export type { MonitorListener }

/** Where a ledger is: a SQLite file, or the database of a cluster. */
export type LedgerLocation = string | { readonly clusterUrl: string }

/** What the thread offers, for one of its tasks. */
interface VerificationServices {
  readonly ledger: {
    /** Verifies the whole ledger once. */
    verify(location: LedgerLocation): Promise<LedgerReport>
    /** Reads the whole ledger for the thread that verifies it, and compares the payments with it. */
    read(location: LedgerLocation): Promise<ReadLedger>
    /** Verifies new commits now, and scrubs old ones in the background. */
    check(location: LedgerLocation, everyMs: number): void
  }
}

interface ReadLedger {
  readonly end: LedgerEnd
  readonly differences: readonly Difference[]
}

/** What the thread that reads calls of the one that verifies. */
interface ReplayService {
  apply(page: LedgerPage): Promise<void>
}

/** What the monitoring thread calls of the main thread. */
interface MonitorService {
  onReport(report: LedgerReport): void
  onError(reason: string): void
}

/** What is read is short-lived, so a small young generation suffices; four times as much is no faster and stays allocated. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 }

const errors = { ...plainErrors, closed: () => new Error('The verification was aborted.') }
/** Distinguishes the thread from others that import this module. */
const threadName = 'verification'

function startVerification(services: Readonly<Record<string, object>> = {}) {
  const options = { services, errors, workerData: threadName, resourceLimits }
  return openThread<VerificationServices>(new URL(import.meta.url), options)
}

/** Verifies the whole ledger once. */
export async function verifyInThread(location: LedgerLocation): Promise<LedgerReport> {
  const { worker, channel } = startVerification()
  try {
    return await channel.proxy('ledger').verify(location)
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
  let thread: RemoteThread<VerificationServices> | null = null
  let isStopped = false
  let nextAt = 0

  async function stop(): Promise<void> {
    const stopped = thread
    thread = null
    nextAt = 0
    await stopped?.worker.terminate()
  }

  function start(): RemoteThread<VerificationServices> {
    // What it reports while it is stopped, for instance of a store that is closed, concerns nobody.
    const ifRunning = (report: () => void): void => (thread === started ? report() : undefined)
    const monitor: MonitorService = {
      onReport: (report) => ifRunning(() => listener.onReport(report)),
      onError: (reason) => ifRunning(() => listener.onError(new Error(reason))),
    }
    const started = startVerification({ monitor })
    started.worker.unref()
    started.worker.on('error', (error: unknown) => listener.onError(error))
    void started.ended.then(() => (thread = thread === started ? null : thread))
    return started
  }

  function checkIfDue(): void {
    if (isStopped) return
    if (!isLeader()) return void stop()
    const now = performance.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    thread ??= start()
    thread.channel.send('ledger', 'check', location, everyMs)
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

/** Reads the whole ledger in one snapshot, and sends its pages for replay. */
async function sendLedger(
  { source, openSnapshots }: MonitoredLedger,
  replay: ReplayService,
): Promise<ReadLedger> {
  await using snapshots = openSnapshots('sluice verify')
  return await snapshots.read(async (db) => {
    const reader = new LedgerReader(source, null)
    const sent: Promise<void>[] = []
    for (let isLast = false; !isLast;) {
      if (sent.length > maxPagesAhead) await sent.shift()
      const page = await reader.next(db)
      sent.push(replay.apply(page))
      isLast = page.isLast
    }
    const [end] = await Promise.all([reader.readEnd(db), ...sent])
    return { end, differences: await comparePayments(db) }
  })
}

/** Replays the ledger that another thread reads: reading and hashing take about as long as replaying. */
async function verifyOnce(location: LedgerLocation): Promise<LedgerReport> {
  const replay = new LedgerReplay(openLedger(location).source)
  const service: ReplayService = {
    async apply(page) {
      replay.apply(page)
    },
  }
  const { channel } = startVerification({ replay: service })
  const { end, differences } = await channel.proxy('ledger').read(location)
  replay.report(end)
  return replay.reportWith(differences)
}

/** Returns the function that checks new commits. */
function startMonitor(location: LedgerLocation, everyMs: number, listener: MonitorListener): () => void {
  collectGarbageWhenIdle()
  const monitor = new LedgerMonitor(openLedger(location), listener)
  // A node of a cluster cannot know what others do to the rows; the file of a single relay was changed while nothing ran.
  void monitor.scrub(everyMs, typeof location !== 'string')
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    last = last
      .then(() => monitor.check())
      .then(
        (report) => listener.onReport(report),
        (error: unknown) => listener.onError(error),
      )
  }
}

function serve(port: MessagePort): void {
  const channel = new Channel<{ replay: ReplayService; monitor: MonitorService }>(port)
  const listener: MonitorListener = {
    onReport: (report) => channel.send('monitor', 'onReport', report),
    onError: (error) => channel.send('monitor', 'onError', errorMessage(error)),
  }
  let check: (() => void) | undefined
  const ledger = {
    verify: verifyOnce,
    read: (location: LedgerLocation) => sendLedger(openLedger(location), channel.proxy('replay')),
    check(location: LedgerLocation, everyMs: number) {
      check ??= startMonitor(location, everyMs, listener)
      check()
    },
  }
  channel.serve({ services: { ledger } })
}

if (parentPort !== null && workerData === threadName) serve(parentPort)
