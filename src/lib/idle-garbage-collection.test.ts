import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { CollectionSchedule } from './idle-garbage-collection.ts'
import { waitUntil } from '../../test/support/wait.ts'

const MiB = 1024 * 1024

interface WorkerReport {
  readonly isCacheValid: boolean
  readonly before: number
}

describe('CollectionSchedule', () => {
  test('start – its garbage is collected at the first idle check', () => {
    const schedule = new CollectionSchedule()
    assert.deepEqual([schedule.isDue(0.5, MiB), schedule.isDue(0.01, MiB)], [false, true])
  })

  test('pause between requests – is shorter than twelve idle checks in a row', () => {
    const schedule = new CollectionSchedule()
    schedule.collected(20 * MiB)
    const check = (utilization: number): boolean => schedule.isDue(utilization, 40 * MiB)
    const pause = Array.from({ length: 11 }, () => check(0))
    assert.deepEqual([...pause, check(0.5), ...pause.map(() => check(0))].includes(true), false)
    assert.equal(check(0), true)
  })

  test('less than 16 MiB of garbage – is not worth a collection', () => {
    const schedule = new CollectionSchedule()
    schedule.collected(20 * MiB)
    const checks = Array.from({ length: 100 }, () => schedule.isDue(0, 35 * MiB))
    assert.equal(checks.includes(true), false)
    assert.equal(schedule.isDue(0, 36 * MiB), true)
  })
})

describe('collectGarbageWhenIdle', () => {
  test('idle thread – frees its garbage, and cached code stays valid', async () => {
    const thread = new Worker(new URL('./idle-garbage-collection.fixture.ts', import.meta.url))
    const [{ isCacheValid, before }] = (await once(thread, 'message')) as [WorkerReport]
    assert.ok(isCacheValid)
    assert.ok(before > 40 * MiB, `${before} bytes`)
    const usedMiB = async () => (await thread.getHeapStatistics()).used_heap_size / MiB
    await waitUntil(async () => (await usedMiB()) <= 20, 'a collection')
    await thread.terminate()
  })

  test('concurrent threads – all get the collector', async () => {
    const script = `const { collectGarbageWhenIdle } = await import(${JSON.stringify(import.meta.resolve('./idle-garbage-collection.ts'))})
    for (let times = 0; times < 50; times += 1) collectGarbageWhenIdle()`
    const threads = Array.from(
      { length: 4 },
      () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`)),
    )
    const ends = await Promise.all(threads.map((thread) => once(thread, 'exit')))
    assert.deepEqual(ends, [[0], [0], [0], [0]])
  })
})
