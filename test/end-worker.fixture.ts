/**
 * Preloaded into a relay by NODE_OPTIONS: at SIGUSR2 the oldest of its workers is terminated, as if it had run into
 * something that ends a thread.
 */
import { isMainThread, type Worker } from 'node:worker_threads'

/** The store's three threads are made before the workers, and the ledger's watch right after them. */
const storeThreads = 3
const workers = Number(process.env['WORKERS'] ?? '1')

if (isMainThread) {
  const living: Worker[] = []
  let made = 0
  process.on('worker', (thread) => {
    const isOther = made < storeThreads || made === storeThreads + workers
    made += 1
    if (!isOther) living.push(thread)
  })
  process.on('SIGUSR2', () => void living.shift()?.terminate())
}
