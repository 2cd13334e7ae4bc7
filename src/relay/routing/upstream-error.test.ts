import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRetryAfter, upstreamErrorFromResponse } from './upstream-error.ts'

describe('parseRetryAfter', () => {
  test('Retry-After – is parsed as seconds or a date, at most a day, else null', () => {
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
      assert.equal(parseRetryAfter(header, now), ms, String(header))
    }
  })
})

describe('upstreamErrorFromResponse', () => {
  test('deeply nested body – is not read', () => {
    const bytes = Buffer.from(`{"message":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)
    const headers = { retryAfter: null, errorType: null }
    const error = upstreamErrorFromResponse({ status: 500, bytes, ...headers }, { credential: '', now: 0 })
    assert.deepEqual([error.kind, error.message], ['unavailable', 'The provider rejected the request.'])
  })
})
