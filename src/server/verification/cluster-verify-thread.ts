/** Verifies the ledger of a cluster on a thread of its own: the whole of it once, or new commits periodically. */
import { parentPort, workerData, type MessagePort, type Worker } from 'node:worker_threads'
import { startThread } from '../../lib/thread.ts'
import { openSnapshots } from '../../db/postgres/snapshot.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import { collectGarbageWhenIdle } from '../../lib/idle-garbage-collection.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { MonitorListener } from './verify-thread.ts'
import { verifyClusterLedger } from './verify-cluster.ts'
import { ClusterLedgerMonitor } from './cluster-ledger-monitor.ts'

interface ClusterThreadInit {
  readonly clusterUrl: string
  /** How often new commits are verified; null: the whole ledger, once. */
  readonly everyMs: number | null
}

type ThreadReply = { readonly report: LedgerReport } | { readonly error: string }

function startVerification(init: ClusterThreadInit): Worker {
  return startThread(new URL(import.meta.url), { workerData: init })
}

/** Verifies the whole ledger once. */
export async function verifyClusterInThread(url: string): Promise<LedgerReport> {
  const worker = startVerification({ clusterUrl: url, everyMs: null })
  const { promise, resolve, reject } = Promise.withResolvers<LedgerReport>()
  worker.on('message', (reply: ThreadReply) => {
    if ('report' in reply) resolve(reply.report)
    else reject(new Error(reply.error))
  })
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The verification was aborted.')))
  worker.postMessage('check')
  try {
    return await promise
  } finally {
    await worker.terminate()
  }
}

/** How often a node checks whether it has become the leader. */
const checkLeadershipEveryMs = 1000

/** Verifies at once and then periodically while `isLeader`; starts anew after another node was the leader. */
export function monitorClusterInThread(
  url: string,
  everyMs: number,
  isLeader: () => boolean,
  listener: MonitorListener,
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

  function checkIfDue(): void {
    if (isStopped) return
    if (!isLeader()) return void stop()
    const now = performance.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    if (worker === null) {
      const started = startVerification({ clusterUrl: url, everyMs })
      started.unref()
      started.on('message', (reply: ThreadReply) => {
        if ('report' in reply) listener.onReport(reply.report)
        else listener.onError(new Error(reply.error))
      })
      started.on('error', (error: unknown) => listener.onError(error))
      started.on('exit', () => (worker = worker === started ? null : worker))
      worker = started
    }
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

async function toReply(verify: () => Promise<LedgerReport>): Promise<ThreadReply> {
  try {
    return { report: await verify() }
  } catch (error) {
    return { error: errorMessage(error) }
  }
}

function run({ clusterUrl, everyMs }: ClusterThreadInit, port: MessagePort): void {
  if (everyMs === null) {
    const all = (): Promise<LedgerReport> => openSnapshots(clusterUrl).read(verifyClusterLedger)
    port.once('message', () => void toReply(all).then((reply) => port.postMessage(reply)))
    return
  }
  collectGarbageWhenIdle()
  const reply = (message: ThreadReply): void => port.postMessage(message)
  const monitor = new ClusterLedgerMonitor(clusterUrl, {
    onReport: (report) => reply({ report }),
    onError: (error) => reply({ error: errorMessage(error) }),
  })
  let last: Promise<unknown> = Promise.resolve()
  port.on('message', () => {
    last = last.then(async () => reply(await toReply(() => monitor.check())))
  })
  void monitor.scanAll(everyMs)
}

function isClusterThreadInit(value: unknown): value is ClusterThreadInit {
  return typeof value === 'object' && value !== null && 'clusterUrl' in value
}

if (parentPort !== null && isClusterThreadInit(workerData)) run(workerData, parentPort)
