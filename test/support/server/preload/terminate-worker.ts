/** Preloaded into a relay by NODE_OPTIONS: on SIGUSR2 it terminates its oldest worker, as if the thread had crashed. */
import { isMainThread, type Worker } from 'node:worker_threads'

if (isMainThread) {
  const workers: Worker[] = []
  process.on('worker', (thread) => {
    if (thread.threadName?.startsWith('relay ') === true) workers.push(thread)
  })
  process.on('SIGUSR2', () => void workers.shift()?.terminate())
}
