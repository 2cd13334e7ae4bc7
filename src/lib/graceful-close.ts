/**
 * Opens a port, and closes it without losing connections. A plain close would reset connections that the kernel has
 * accepted and Node has not yet taken, together with their requests. A load balancer that does not check `/readyz`
 * sends such connections until the last moment, and must not repeat a request that it has sent.
 */
import type { ListenOptions, Server } from 'node:net'

/** If connections still arrive after this time, a client ignores the shutdown. */
const gracePeriodMs = 1000
/** A turn of the event loop without work takes a few microseconds. What the kernel accepts after its poll is reset. */
const shortTurnMs = 0.2
/** A thread without any short turn for this time is too busy to wait for one. */
const waitForShortTurnMs = 500

/** Resolves when the server listens. */
export function listen(server: Server, options: ListenOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(options, () => {
    server.off('error', reject)
    resolve()
  })
  return promise
}

/** Closes the port after the first short turn without a new connection; resolves when all connections ended. */
export function closeGracefully(listener: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const startMs = performance.now()
  let turnStartMs = startMs
  let isQuiet = false
  listener.on('connection', () => (isQuiet = false))
  const check = (): void => {
    const nowMs = performance.now()
    const elapsedMs = nowMs - startMs
    const isShort = nowMs - turnStartMs < shortTurnMs || elapsedMs > waitForShortTurnMs
    if ((isQuiet && isShort) || elapsedMs > gracePeriodMs) {
      listener.close(() => resolve())
      return
    }
    isQuiet = true
    turnStartMs = nowMs
    setImmediate(check)
  }
  // The check runs after a full poll phase, so pending connections are counted.
  setImmediate(check)
  return promise
}
