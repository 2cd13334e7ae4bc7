/** A thread that makes objects which live long, tells the bytes of its heap, lets go of them, and rests. */
import { cachedDataVersionTag, getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { collectWhenIdle } from './idle-garbage-collection.ts'

const flags = cachedDataVersionTag()
collectWhenIdle(100)
const isCodeStillGood = cachedDataVersionTag() === flags
let made: object[] = Array.from({ length: 400_000 }, (_, index) => ({ index, text: [`${index}`, index, {}] }))
parentPort?.postMessage({ isCodeStillGood, before: getHeapStatistics().used_heap_size })
made = made.slice(0, 1)
// Keeps the thread.
parentPort?.on('message', () => made)
