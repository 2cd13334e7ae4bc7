import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryAfterOf } from './routing/upstream-error.ts'

test('what a provider says of when to come back is read as seconds or a date, within a day, and else is nothing', () => {
  const now = Date.UTC(2026, 10, 21, 12)
  const day = 86_400_000
  for (const [header, ms] of [
    ['0', 0],
    ['1.5', 1500],
    ['9'.repeat(400), day],
    ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', day],
    ['soon', null],
    ['', null],
    [null, null],
  ] as const) {
    assert.equal(retryAfterOf(header, now), ms, String(header))
  }
})
