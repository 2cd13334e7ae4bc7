/** Starts worker threads. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** Starts a thread that runs a module, with its imports resolved as those of the main thread. */
export function startThread(module: URL, options: WorkerOptions): Worker {
  return new Worker(new URL('./thread-entry.ts', import.meta.url), { ...options, argv: [module.href] })
}
