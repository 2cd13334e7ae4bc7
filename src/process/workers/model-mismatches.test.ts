import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../../db/store.fixture.ts'
import { listNotifications } from '../../notifications/notifications.ts'
import { ModelMismatches, type ModelMismatchDeps } from './model-mismatches.ts'

const mismatch = { model: 'm', upstream: 'ups_1', asked: 'gpt-4o', served: 'gpt-4o-mini' }
const dayMs = 86_400_000

describe('model mismatches', () => {
  test('notifications – are raised once per route and day, by any number of threads', async (t) => {
    const { db } = await openAnyStore(t)
    let nowMs = Date.UTC(2026, 10, 24, 23, 59)
    const deps: ModelMismatchDeps = {
      db,
      log: { warn: () => assert.fail() },
      upstreamName: (id) => (id === 'ups_1' ? 'one' : undefined),
      canNotify: () => Promise.resolve(true),
      now: () => nowMs,
    }
    const threads = [new ModelMismatches(deps), new ModelMismatches(deps)]
    const report = async (fields: object = {}): Promise<number> => {
      for (const thread of threads) await thread.report({ ...mismatch, ...fields })
      return (await listNotifications(db, {}, { limit: 50 })).data.length
    }
    assert.equal(await report(), 1)
    assert.equal(await report({ served: 'gpt-3.5-turbo' }), 1)
    assert.equal(await report({ asked: 'gpt-5' }), 2)
    assert.equal(await report({ upstream: 'ups_2' }), 3)
    nowMs += dayMs
    assert.equal(await report(), 4)
    const { data } = await listNotifications(db, {}, { limit: 50 })
    assert.deepEqual(data.at(-1)?.params, { ...mismatch, upstream: 'one' })
  })

  test('notifications – are withheld from older nodes, and tried again after a failed write', async (t) => {
    const { db } = await openAnyStore(t)
    let canNotify = false
    let warnings = 0
    const deps: ModelMismatchDeps = {
      db: { write: (...queries) => (canNotify ? db.write(...queries) : Promise.reject(new Error('full'))) },
      log: { warn: () => void (warnings += 1) },
      upstreamName: () => undefined,
      canNotify: () => Promise.resolve(canNotify),
      now: Date.now,
    }
    await new ModelMismatches(deps).report(mismatch)
    assert.deepEqual([warnings, (await listNotifications(db, {}, { limit: 50 })).data.length], [0, 0])
    const mismatches = new ModelMismatches({ ...deps, canNotify: () => Promise.resolve(true) })
    await mismatches.report(mismatch)
    assert.equal(warnings, 1)
    canNotify = true
    await mismatches.report(mismatch)
    const { data } = await listNotifications(db, {}, { limit: 50 })
    assert.deepEqual([warnings, data.length, data[0]?.params['upstream']], [1, 1, 'ups_1'])
  })
})
