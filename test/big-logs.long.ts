/** Acceptance 27: ten million rows, five people who reload, every page within 300 ms (p95). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measurePages } from './big-log-pages.ts'

test('five people reload usage and requests over ten million rows: p95 within 300 ms', async (t) => {
  const p95 = await measurePages(t, 10_000_000, 5)
  t.diagnostic(`p95 ${p95.toFixed(0)} ms`)
  assert.ok(p95 < 300, `${p95} ms`)
})
