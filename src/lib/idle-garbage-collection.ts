/**
 * Gives back what a peak has left behind. V8 collects while it allocates, so a thread that has come to rest would keep
 * its garbage, and the buffers that hang on it, for as long as it rests.
 */
import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** At rest: busy for less than this share of the time since the last look. */
const restingShare = 0.02
/** Less is not worth the pause of some ten milliseconds, and comes and goes with the young generation. */
const worthBytes = 16 * 1024 * 1024

function usedBytes(): number {
  const { used_heap_size: heap, external_memory: outside } = getHeapStatistics()
  return heap + outside
}

/**
 * Node offers the collector to contexts that are made while this flag is set, and to nobody else. It is taken back at
 * once: compiled code that Node has kept on disk is good only under the flags that it was compiled with. Flags are the
 * process's: another thread that begins at the same moment may have taken it back before us, then it is set again.
 */
function collector(): () => void {
  for (;;) {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('globalThis.gc') as (() => void) | undefined
    setFlagsFromString('--no-expose-gc')
    if (collect !== undefined) return collect
  }
}

/** From now on this thread collects everything once, whenever it has come to rest after it had grown. */
export function collectWhenIdle(lookEveryMs = 5000): void {
  const collect = collector()
  let last = performance.eventLoopUtilization()
  let keptBytes = usedBytes()
  const look = (): void => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (utilization > restingShare || usedBytes() - keptBytes < worthBytes) return
    collect()
    keptBytes = usedBytes()
  }
  setInterval(look, lookEveryMs).unref()
}
