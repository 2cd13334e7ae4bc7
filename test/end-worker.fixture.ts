/**
 * Preloaded into a relay by NODE_OPTIONS: at SIGUSR2 the oldest of its workers is terminated, as if it had run into
 * something that ends a thread.
 */
import { isMainThread, type Worker } from 'node:worker_threads'

if (isMainThread) {
  const living: Worker[] = []
  process.on('worker', (thread) => {
    if (thread.threadName?.startsWith('relay ') === true) living.push(thread)
  })
  process.on('SIGUSR2', () => void living.shift()?.terminate())
}
