// @backend sqlite – writes its history straight into a SQLite file
// @suite all – writes and reads a large history
/** Page latency over a large history; test/long/large-history.long.ts has ten million rows. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { measurePages, startWithHistory } from '../../long/page-latency.ts'

describe('Large history', () => {
  test('Pages of usage and requests – stay fast with five users over 200,000 rows', async (t) => {
    const p95 = await measurePages(t, await startWithHistory(t, 200_000), 2)
    t.diagnostic(`p95 ${p95.toFixed(0)} ms`)
    // The bound for ten million rows, with a margin for a busy machine.
    assert.ok(p95 < 1500, `${p95} ms`)
  })
})
