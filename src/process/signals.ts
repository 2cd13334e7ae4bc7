/** The signals that stop the process. */

/** A second signal within this time is the same one, sent to the whole process group. */
const signalDebounceMs = 1000

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
