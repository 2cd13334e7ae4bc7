import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openAnyStore } from '../../db/store.fixture.ts'
import { listNotifications } from '../../notifications/notifications.ts'
import { RouteNotifications, type RouteNotificationDeps } from './route-notifications.ts'

const mismatch = { model: 'm', upstream: 'ups_1', asked: 'gpt-4o', served: 'gpt-4o-mini' }
const dayMs = 86_400_000

const finish = { model: 'm', upstream: 'ups_1', asked: 'gpt-4o', reason: 'tired' }

describe('RouteNotifications', () => {
  test('A model mismatch is notified once per route and day, by any number of threads', async (t) => {
    const { db } = await openAnyStore(t)
    let nowMs = Date.UTC(2026, 10, 24, 23, 59)
    const deps: RouteNotificationDeps = {
      db,
      log: { warn: () => assert.fail() },
      upstreamName: (id) => (id === 'ups_1' ? 'one' : undefined),
      canNotify: () => Promise.resolve(true),
      now: () => nowMs,
    }
    const threads = [new RouteNotifications(deps), new RouteNotifications(deps)]
    const report = async (fields: object = {}): Promise<number> => {
      for (const thread of threads) await thread.reportMismatch({ ...mismatch, ...fields })
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

  test('An unknown finish reason is notified once per route and reason, on any day', async (t) => {
    const { db } = await openAnyStore(t)
    let nowMs = Date.UTC(2026, 10, 24)
    const deps: RouteNotificationDeps = {
      db,
      log: { warn: () => assert.fail() },
      upstreamName: () => 'one',
      canNotify: () => Promise.resolve(true),
      now: () => nowMs,
    }
    const threads = [new RouteNotifications(deps), new RouteNotifications(deps)]
    const report = async (fields: object = {}): Promise<number> => {
      for (const thread of threads) await thread.reportUnknownFinish({ ...finish, ...fields })
      return (await listNotifications(db, {}, { limit: 50 })).data.length
    }
    assert.equal(await report(), 1)
    assert.equal(await report({ reason: 'bored' }), 2)
    assert.equal(await report({ upstream: 'ups_2' }), 3)
    nowMs += dayMs
    assert.equal(await report(), 3)
    const { data } = await listNotifications(db, {}, { limit: 50 })
    assert.deepEqual(data.at(-1)?.params, { model: 'm', upstream: 'one', reason: 'tired' })
    // An upstream that makes up its reasons does not fill the database.
    for (let count = 0; count < 30; count++) await report({ model: 'n', reason: `reason ${count}` })
    assert.equal((await listNotifications(db, {}, { limit: 50 })).data.length, 23)
  })

  test('Notifications are withheld from older nodes, and tried again after a failed write', async (t) => {
    const { db } = await openAnyStore(t)
    let canNotify = false
    let warnings = 0
    const deps: RouteNotificationDeps = {
      db: { write: (...queries) => (canNotify ? db.write(...queries) : Promise.reject(new Error('full'))) },
      log: { warn: () => void (warnings += 1) },
      upstreamName: () => undefined,
      canNotify: () => Promise.resolve(canNotify),
      now: Date.now,
    }
    await new RouteNotifications(deps).reportMismatch(mismatch)
    assert.deepEqual([warnings, (await listNotifications(db, {}, { limit: 50 })).data.length], [0, 0])
    const mismatches = new RouteNotifications({ ...deps, canNotify: () => Promise.resolve(true) })
    await mismatches.reportMismatch(mismatch)
    assert.equal(warnings, 1)
    canNotify = true
    await mismatches.reportMismatch(mismatch)
    const { data } = await listNotifications(db, {}, { limit: 50 })
    assert.deepEqual([warnings, data.length, data[0]?.params['upstream']], [1, 1, 'ups_1'])
  })
})
