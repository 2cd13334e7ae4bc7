/** A thread that creates long-lived objects, reports its heap size, releases the objects, and stays idle. */
import { cachedDataVersionTag, getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { collectGarbageWhenIdle } from './idle-garbage-collection.ts'

const flags = cachedDataVersionTag()
collectGarbageWhenIdle(100)
const isCacheValid = cachedDataVersionTag() === flags
let objects: object[] = Array.from({ length: 400_000 }, (_, index) => ({
  index,
  text: [`${index}`, index, {}],
}))
parentPort?.postMessage({ isCacheValid, before: getHeapStatistics().used_heap_size })
objects = objects.slice(0, 1)
// Keeps the thread alive.
parentPort?.on('message', () => objects)
