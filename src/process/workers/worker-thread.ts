/** The module of a worker thread. It is loaded while the main thread opens the core, whose first message it waits for. */
import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import { collectGarbageOfThread } from '../../lib/idle-garbage-collection.ts'
import { openStandardOutput } from '../../lib/log.ts'
import type { WorkerInit } from './protocol.ts'
import { logBindings, startWorker } from './worker.ts'

if (parentPort === null) throw new Error('A worker thread needs a parent.')
const [init] = (await once(parentPort, 'message')) as [WorkerInit]
await startWorker(init, init.writesLog ? openStandardOutput(logBindings(init)) : null)
collectGarbageOfThread()
