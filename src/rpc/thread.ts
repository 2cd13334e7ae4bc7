/** Threads with services: one module runs as a thread, and the thread that starts it calls it over a channel. */
import type { Worker, WorkerOptions } from 'node:worker_threads'
import { errorMessage } from '../lib/error-message.ts'
import { startThread } from '../lib/thread.ts'
import { Channel, type ErrorFormat } from './channel.ts'

export interface RemoteThread<Services extends object> {
  readonly worker: Worker
  readonly channel: Channel<Services>
  /** Resolves when the thread has ended, with the reason. */
  readonly ended: Promise<string>
}

export interface RemoteThreadOptions extends WorkerOptions {
  /** What the thread may call of this one. */
  readonly services?: Readonly<Record<string, object>>
  readonly errors?: ErrorFormat
}

/** Starts a module as a thread. If it ends, its calls reject, with what it has thrown if it has thrown. */
export function openThread<Services extends object>(
  module: URL,
  { services = {}, errors, ...options }: RemoteThreadOptions = {},
): RemoteThread<Services> {
  const worker = startThread(module, options)
  const channel = new Channel<Services>(worker, errors).serve({ services })
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  let reason = 'A thread ended.'
  worker.on('error', (error: Error) => {
    reason = errorMessage(error)
    channel.close(error)
  })
  worker.on('exit', () => {
    channel.close()
    resolve(reason)
  })
  return { worker, channel, ended }
}
