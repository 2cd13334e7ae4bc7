import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLedgerCommit, createRequestRow } from '../db/store.fixture.ts'
import { queryDays, queryMinutes, sumByModelSince, sumCounts } from '../health/availability.ts'
import { RecentOutcomes } from '../health/recent-outcomes.ts'
import { deleteOldMinutes } from '../usage/rollups/availability-rollup.ts'
import { openRolledUpStore } from '../usage/rollups/rolled-up-store.fixture.ts'
import { waitUntil } from '../../test/support/wait.ts'

describe('availability', () => {
  test('RecentOutcomes – counts each request once by model, like the roll-ups', async (t) => {
    const store = await openRolledUpStore(t)
    const { db } = store
    await db.write({
      sql: `insert into models (id, context_tokens, hidden_reasoning, owned_by, listed, created_at, updated_at)
        values ('m', 1000, 0, 'us', 1, 0, 0)`,
      parameters: [],
    })
    const now = Date.now()
    const rows = Array.from({ length: 30 }, (_, index) =>
      createRequestRow(`req_${index}`, {
        at: now - 20_000 + index,
        model: index < 20 ? 'm' : 'unknown',
        ...(index % 4 === 0
          ? { outcome: 'truncated', error_code: 'upstream_unavailable' }
          : { outcome: 'ok' }),
      }),
    )
    // One ended long ago, one started long ago.
    const old = createRequestRow('req_old', {
      at: now - 7_200_000,
      model: 'm',
      outcome: 'failed',
      http_status: 500,
    })
    const rejected = createRequestRow('req_rejected', {
      at: now - 20_000,
      model: 'm',
      outcome: 'refused',
      http_status: 503,
      count: 100,
    })
    const long = createRequestRow('req_long', { at: now - 3_600_000, duration_ms: 3_590_000, model: 'm' })
    await store.commit(createLedgerCommit(1, { requests: [old, ...rows, rejected, long] }))
    const recent = new RecentOutcomes()
    await recent.poll(db, now)
    assert.equal(await recent.poll(db, now), false)
    assert.deepEqual([...recent.models()], ['m'])
    assert.deepEqual(recent.since('m', 0), { answered: 16, failed: 105 })
    assert.deepEqual(recent.since('m', now - 5000), { answered: 0, failed: 0 })
    assert.ok((recent.lastFailure('m') ?? 0) > now - 25_000)

    const span = { model: 'm', from: now - 1_800_000, to: now + 1 }
    await waitUntil(async () => (await queryMinutes(db, span)).length > 0, 'the roll-up')
    const ever = { ...span, from: 0 }
    assert.deepEqual(sumCounts(await queryDays(db, ever)), { answered: 16, failed: 106, apart: 0 })
    assert.deepEqual(sumCounts(await queryMinutes(db, span)), { answered: 16, failed: 105, apart: 0 })
    assert.deepEqual((await sumByModelSince(db, now - 120_000)).get('m'), {
      answered: 16,
      failed: 105,
      apart: 0,
    })
    await deleteOldMinutes(db, now + 41 * 86_400_000)
    assert.deepEqual(await queryMinutes(db, span), [])
  })
})
