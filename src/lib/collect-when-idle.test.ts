import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

const MiB = 1024 * 1024

interface Told {
  readonly isCodeStillGood: boolean
  readonly before: number
}

test('a thread that has come to rest gives its garbage back, unasked, and compiled code on disk stays good', async () => {
  const thread = new Worker(new URL('./collect-when-idle.fixture.ts', import.meta.url))
  const [{ isCodeStillGood, before }] = (await once(thread, 'message')) as [Told]
  assert.ok(isCodeStillGood)
  assert.ok(before > 40 * MiB, `${before} bytes`)
  const usedMiB = async () => (await thread.getHeapStatistics()).used_heap_size / MiB
  for (let left = 600; (await usedMiB()) > 20; left -= 1) {
    assert.ok(left > 0, `${await usedMiB()} MiB`)
    await delay(100)
  }
  await thread.terminate()
})

test('threads that begin at the same moment all get their collector', async () => {
  const beginning = `const { collectWhenIdle } = await import(${JSON.stringify(import.meta.resolve('./idle-garbage-collection.ts'))})
    for (let times = 0; times < 50; times += 1) collectWhenIdle()`
  const threads = Array.from(
    { length: 4 },
    () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(beginning)}`)),
  )
  const ends = await Promise.all(threads.map((thread) => once(thread, 'exit')))
  assert.deepEqual(ends, [[0], [0], [0], [0]])
})
