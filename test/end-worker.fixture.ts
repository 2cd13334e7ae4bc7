/**
 * Preloaded into a relay by NODE_OPTIONS: at SIGUSR2 the oldest of its workers is terminated, as if it had run into
 * something that ends a thread. The store's three threads are made before the workers.
 */
import { isMainThread, type Worker } from 'node:worker_threads'

const storeThreads = 3

if (isMainThread) {
  const threads: Worker[] = []
  process.on('worker', (thread) => threads.push(thread))
  process.on('SIGUSR2', () => void threads.splice(storeThreads, 1)[0]?.terminate())
}
