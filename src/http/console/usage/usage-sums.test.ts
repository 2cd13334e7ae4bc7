import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLedgerCommit, createRequestRow } from '../../../db/store.fixture.ts'
import { openRolledUpStore } from '../../../usage/rollups/rolled-up-store.fixture.ts'
import { readPoints } from './usage-sums.ts'

describe('Points of a chart', () => {
  test('midnight within an hour – the points add up to the total', async (t) => {
    const store = await openRolledUpStore(t)
    const midnight = Date.parse('2026-11-22T18:30:00Z')
    const requests = [-60_000, 60_000, 3_600_000].map((after) =>
      createRequestRow(`req_${after}`, { at: midnight + after, account_id: 'acc_india' }),
    )
    await store.commit(createLedgerCommit(1, { requests }))
    const range = { account: 'acc_india', from: midnight, to: midnight + 7_200_000 }
    for (const bucket of [{ by: 'day', timezone: 'Asia/Kolkata' }, { by: 'hour' }] as const) {
      const { points, total } = await readPoints(store.db, range, bucket)
      assert.equal(total.requests, 2, bucket.by)
      assert.equal(
        points.reduce((sum, point) => sum + point.requests, 0),
        2,
        bucket.by,
      )
    }
  })
})
