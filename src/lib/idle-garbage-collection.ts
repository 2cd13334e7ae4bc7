/**
 * Returns memory after a peak. V8 collects garbage only while it allocates, so an idle thread would keep its garbage,
 * and the buffers referenced by it, for as long as it is idle.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A thread is idle if its event loop utilization since the last check is at most this. */
const maxIdleUtilization = 0.02
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

/** From now on, runs a full collection whenever this thread is idle after its memory has grown. */
export function collectGarbageWhenIdle(checkEveryMs = 5000): void {
  const collect = exposeGarbageCollector()
  let last = performance.eventLoopUtilization()
  // A start leaves garbage, too: collect it once, however little.
  let bytesAfterCollection = -Infinity
  const check = (): void => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (utilization > maxIdleUtilization || usedBytes() - bytesAfterCollection < minGarbageBytes) return
    collect()
    bytesAfterCollection = usedBytes()
  }
  setInterval(check, checkEveryMs).unref()
}
