/**
 * Returns memory after a peak. V8 collects garbage only while it allocates, so an idle thread would keep its garbage,
 * and the buffers referenced by it, for as long as it is idle.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A thread is idle if its event loop utilization since the last check is at most this. */
const maxIdleUtilization = 0.02
/**
 * After how many idle checks: a collection also drops compiled code, since nothing uses the objects of requests at that
 * moment, and the next requests pay for it (docs/decisions/0057-later-idle-collections.md).
 */
const idleChecks = 12
/** Less is not worth a pause of about ten milliseconds, and varies with the young generation. */
const minGarbageBytes = 16 * 1024 * 1024

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: outside } = getHeapStatistics()
  return heap + outside
}

/**
 * Node exposes the collector only to contexts that are created while this flag is set. The flag is reset at once,
 * because cached compiled code is valid only under the flags it was compiled with. Flags belong to the process: if
 * another thread resets the flag in between, the loop sets it again.
 */
function exposeGarbageCollector(): () => void {
  for (;;) {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('globalThis.gc') as (() => void) | undefined
    setFlagsFromString('--no-expose-gc')
    if (collect !== undefined) return collect
  }
}

/** When to collect; asked at each check. */
export class CollectionSchedule {
  // A start leaves garbage, too: it is collected once, however little, at the first idle check.
  #remaining = 1
  #isFirst = true
  #bytesAfterLast = 0

  /** `utilization`: of the event loop since the last check, 0 to 1. `bytes`: what the thread uses. */
  isDue(utilization: number, bytes: number): boolean {
    if (utilization <= maxIdleUtilization) this.#remaining -= 1
    else if (!this.#isFirst) this.#remaining = idleChecks
    return this.#remaining <= 0 && (this.#isFirst || bytes - this.#bytesAfterLast >= minGarbageBytes)
  }

  collected(bytes: number): void {
    this.#isFirst = false
    this.#remaining = idleChecks
    this.#bytesAfterLast = bytes
  }
}

/**
 * From now on, runs a full collection whenever this thread has been idle for a minute (twelve checks) after its memory
 * has grown.
 */
export function collectGarbageWhenIdle(checkEveryMs = 5000): void {
  const collect = exposeGarbageCollector()
  const schedule = new CollectionSchedule()
  let last = performance.eventLoopUtilization()
  const check = (): void => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (!schedule.isDue(utilization, usedBytes())) return
    collect()
    schedule.collected(usedBytes())
  }
  setInterval(check, checkEveryMs).unref()
}
