/**
 * The end of a listening port that loses nobody. What the kernel has accepted and we have not yet taken would be reset
 * by a plain close, with its request in it; who balances without asking `/readyz` sends such ones to the last moment.
 */
import type { Server } from 'node:net'

/** Where every turn brings one, somebody has not noticed that we leave. */
const patienceMs = 1000

/** Closes it after the first turn of the loop that brought no connection; resolves when all connections are over. */
export function closeWhenQuiet(listener: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const untilMs = performance.now() + patienceMs
  let isQuiet = false
  listener.on('connection', () => (isQuiet = false))
  const look = (): void => {
    if (isQuiet || performance.now() > untilMs) {
      listener.close(() => resolve())
      return
    }
    isQuiet = true
    setImmediate(look)
  }
  // What follows stands behind a whole look at what has come.
  setImmediate(look)
  return promise
}
