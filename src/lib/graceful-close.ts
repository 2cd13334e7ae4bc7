/**
 * Closes a listening port without losing connections. A plain close would reset connections that the kernel has
 * accepted and Node has not yet taken, together with their requests. A load balancer that does not check `/readyz`
 * sends such connections until the last moment.
 */
import type { Server } from 'node:net'

/** If connections still arrive after this time, a client ignores the shutdown. */
const gracePeriodMs = 1000

/** Closes the port after the first turn of the event loop without a new connection; resolves when all connections ended. */
export function closeGracefully(listener: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const deadlineMs = performance.now() + gracePeriodMs
  let isQuiet = false
  listener.on('connection', () => (isQuiet = false))
  const check = (): void => {
    if (isQuiet || performance.now() > deadlineMs) {
      listener.close(() => resolve())
      return
    }
    isQuiet = true
    setImmediate(check)
  }
  // The check runs after a full poll phase, so pending connections are counted.
  setImmediate(check)
  return promise
}
