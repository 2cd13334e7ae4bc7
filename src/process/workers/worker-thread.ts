/** The module of a worker thread. It is loaded while the main thread opens the core, whose first message it waits for. */
import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import { collectGarbageWhenIdle } from '../../lib/idle-garbage-collection.ts'
import type { WorkerInit } from './protocol.ts'
import { startWorker } from './worker.ts'

if (parentPort === null) throw new Error('A worker thread needs a parent.')
const [init] = (await once(parentPort, 'message')) as [WorkerInit]
await startWorker(init)
collectGarbageWhenIdle()
