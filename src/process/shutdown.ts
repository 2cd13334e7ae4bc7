/** How the process ends: the signals that stop it, the drain of the workers, and the order in which parts are closed. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../lib/log.ts'
import type { WorkerPool } from './workers/worker-pool.ts'

/** A second signal within this time is the same one, sent to the whole process group. */
const signalDebounceMs = 1000
/** After the drain no caller waits for a response. What cannot be closed within this time is left as a crash would leave it. */
const closeTimeoutMs = 15_000

type Close = () => unknown

/**
 * Before the relay serves there is nothing to drain, so a signal ends the process at once. Without a handler the system
 * would ignore the signal if this is the first process of a container. Call the returned function when the relay
 * serves: its promise resolves at the first SIGTERM or SIGINT. A later second signal ends the process at once.
 */
export function handleSignals(): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isServing = false
  let firstAt = 0
  const onSignal = (): void => {
    const now = performance.now()
    if (!isServing) process.exit(0)
    if (firstAt === 0) {
      firstAt = now
      resolve()
    } else if (now - firstAt > signalDebounceMs) process.exit(130)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return () => {
    isServing = true
    return promise
  }
}

export async function drain(
  workerPool: WorkerPool,
  { drainDelayMs, drainGraceMs }: Config,
  log: Log,
): Promise<void> {
  log.info('draining')
  workerPool.updateState({ isReady: false, isDraining: true })
  await delay(drainDelayMs)
  await workerPool.drain(drainGraceMs)
}

/** Closes one part after another, and logs those that are left when the time is over: the next start recovers them. */
export async function closeAll(log: Log, parts: Readonly<Record<string, Close>>): Promise<void> {
  const left = new Set(Object.keys(parts))
  const closing = async (): Promise<void> => {
    for (const [name, close] of Object.entries(parts)) {
      await close()
      left.delete(name)
    }
  }
  await Promise.race([closing(), delay(closeTimeoutMs)])
  if (left.size > 0) log.warn({ left: [...left] }, 'shutdown timed out')
}

/** Nothing in memory is certain to reach the disk any more: the process exits, and its next start reads the disk. */
export function exitOnStoreFailure(log: Log, why: string): void {
  log.fatal({ why }, 'store failed')
  process.exit(1)
}
