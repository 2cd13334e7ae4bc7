/** Recomputes the ledger of a cluster on a thread of its own: once and all of it, or again and again what is new. */
import { parentPort, workerData, Worker, type MessagePort } from 'node:worker_threads'
import { openSnapshots } from '../../db/postgres/snapshot.ts'
import type { LedgerVerdict } from '../../http/house.ts'
import { collectWhenIdle } from '../../lib/idle-garbage-collection.ts'
import { errorWords } from '../../lib/error-message.ts'
import type { WatchListener } from '../verify-thread.ts'
import { verifyCluster } from '../verification/verify-cluster.ts'
import { ClusterWatch } from './watch-cluster.ts'

interface Birth {
  readonly clusterUrl: string
  /** How often is looked; null: once, at everything. */
  readonly everyMs: number | null
}

type Reply = { readonly verdict: LedgerVerdict } | { readonly error: string }

function start(birth: Birth): Worker {
  return new Worker(new URL(import.meta.url), { workerData: birth })
}

/** One recomputation of everything. */
export async function verifyClusterInThread(url: string): Promise<LedgerVerdict> {
  const worker = start({ clusterUrl: url, everyMs: null })
  const { promise, resolve, reject } = Promise.withResolvers<LedgerVerdict>()
  worker.on('message', (reply: Reply) => {
    if ('verdict' in reply) resolve(reply.verdict)
    else reject(new Error(reply.error))
  })
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The recomputation ended early.')))
  worker.postMessage('look')
  try {
    return await promise
  } finally {
    await worker.terminate()
  }
}

/** Whether it has become ours to look is looked at so often. */
const oursEveryMs = 1000

/** Looks at once and then so often while `isOurs`, beginning anew when another node has done so meanwhile. */
export function watchClusterInThread(
  url: string,
  everyMs: number,
  isOurs: () => boolean,
  listener: WatchListener,
): () => Promise<void> {
  let worker: Worker | null = null
  let isOver = false
  let nextAt = 0

  async function stop(): Promise<void> {
    const stopped = worker
    worker = null
    nextAt = 0
    await stopped?.terminate()
  }

  function look(): void {
    if (isOver) return
    if (!isOurs()) return void stop()
    const now = performance.now()
    if (now < nextAt) return
    nextAt = now + everyMs
    if (worker === null) {
      const begun = start({ clusterUrl: url, everyMs })
      begun.unref()
      begun.on('message', (reply: Reply) => {
        if ('verdict' in reply) listener.verdict(reply.verdict)
        else listener.failed(new Error(reply.error))
      })
      begun.on('error', (error: unknown) => listener.failed(error))
      begun.on('exit', () => (worker = worker === begun ? null : worker))
      worker = begun
    }
    worker.postMessage('look')
  }

  const timer = setInterval(look, Math.min(everyMs, oursEveryMs))
  timer.unref()
  return async () => {
    isOver = true
    clearInterval(timer)
    await stop()
  }
}

async function replyOf(look: () => Promise<LedgerVerdict>): Promise<Reply> {
  try {
    return { verdict: await look() }
  } catch (error) {
    return { error: errorWords(error) }
  }
}

function serve({ clusterUrl, everyMs }: Birth, port: MessagePort): void {
  if (everyMs === null) {
    const all = (): Promise<LedgerVerdict> => openSnapshots(clusterUrl).look(verifyCluster)
    port.once('message', () => void replyOf(all).then((reply) => port.postMessage(reply)))
    return
  }
  collectWhenIdle()
  const reply = (said: Reply): void => port.postMessage(said)
  const watch = new ClusterWatch(clusterUrl, {
    verdict: (verdict) => reply({ verdict }),
    failed: (error) => reply({ error: errorWords(error) }),
  })
  let last: Promise<unknown> = Promise.resolve()
  port.on('message', () => {
    last = last.then(async () => reply(await replyOf(() => watch.look())))
  })
  void watch.goThroughAll(everyMs)
}

function isBirth(value: unknown): value is Birth {
  return typeof value === 'object' && value !== null && 'clusterUrl' in value
}

if (parentPort !== null && isBirth(workerData)) serve(workerData, parentPort)
