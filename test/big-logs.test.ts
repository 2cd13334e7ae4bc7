/** Pages stay quick over a long past; with ten million rows in big-logs.long.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measurePages, openPast } from './big-log-pages.ts'

test('five people reload usage and requests over 200,000 rows, and no page is slow', async (t) => {
  const p95 = await measurePages(t, await openPast(t, 200_000), 2)
  t.diagnostic(`p95 ${p95.toFixed(0)} ms`)
  // The bound is that of ten million rows; the margin is for what else the machine does.
  assert.ok(p95 < 1500, `${p95} ms`)
})
