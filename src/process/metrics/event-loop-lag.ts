/** How late a thread's event loop runs its timers: what everything on this thread waits for. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from '@prometheus-io/client'

const resolutionMs = 50

/** Registers the 99th percentile since the last scrape, for the thread that calls it. */
export function registerEventLoopLag(registry: Registry, thread: string): void {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs })
  delays.enable()
  const lag = new Gauge({
    name: 'sluice_event_loop_lag_seconds',
    help: 'How late timers of a thread run: the 99th percentile since the last scrape',
    labelNames: ['thread'] as const,
    registers: [registry],
    collect() {
      // Measured between timers, so it includes their distance. Without samples it is not a number.
      const lagMs = delays.count === 0 ? 0 : delays.percentile(99) / 1e6 - resolutionMs
      lag.set({ thread }, Math.max(0, lagMs) / 1000)
      delays.reset()
    },
  })
}
