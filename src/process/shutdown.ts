/** How a relay ends: the drain of the workers, and the order in which its parts are closed. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../lib/log.ts'
import type { WorkerPool } from './workers/worker-pool.ts'

/** After the drain no caller waits for a response. What cannot be closed within this time is left as a crash would leave it. */
const closeTimeoutMs = 15_000

type Close = () => unknown

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

/** What a relay has opened so far. It is closed in the opposite order. */
export class OpenParts {
  readonly #log: Log
  readonly #parts: { readonly name: string; readonly close: Close }[] = []

  constructor(log: Log) {
    this.#log = log
  }

  add(name: string, close: Close): void {
    this.#parts.push({ name, close })
  }

  /** Closes one part after another, and logs those that are left when the time is over: the next start recovers them. */
  async close(): Promise<void> {
    const left = new Set(this.#parts.map(({ name }) => name))
    const closing = async (): Promise<void> => {
      for (const { name, close } of this.#parts.toReversed()) {
        await close()
        left.delete(name)
      }
    }
    const timeout = new AbortController()
    const timedOut = delay(closeTimeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined)
    await Promise.race([closing(), timedOut])
    timeout.abort()
    if (left.size > 0) this.#log.warn({ left: [...left] }, 'shutdown timed out')
  }
}
