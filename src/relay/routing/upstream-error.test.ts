import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseRetryAfter, redactSecrets, upstreamErrorFromResponse } from './upstream-error.ts'

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

describe('redactSecrets', () => {
  test('plain words after "key" and "Bearer" – stay, only the secret is removed', () => {
    for (const [message, redacted] of [
      ['Incorrect API key provided: sk-bad.', 'Incorrect API key provided: [removed].'],
      ['Incorrect API key provided: sk-live-0123456789.', 'Incorrect API key provided: [removed].'],
      ['Your API key is rate-limited, your key disabled.', null],
      ['Expected Bearer authentication.', null],
      ['The monkey-patched task-manager', null],
    ] as const)
      assert.equal(redactSecrets(message, 'sk-bad'), redacted ?? message)
  })

  test('secrets of others – are removed with every prefix', () => {
    for (const secret of [
      'sk-abcdefgh',
      'sk_live_abcdefgh',
      'gsk_ABCDEFGH1234',
      'xai-abc12345',
      'key-abcdefgh',
      'key abcdefgh1',
      'key ABCDEFGH',
      'key sk-pr***********1234',
      'Bearer eyJhbGciOi.eyJzdWIi.c2ln',
      'Bearer abcdefghijklmnopqr',
      'Bearer abcdefgh-1',
      'AIzaSyA1234567890',
    ])
      assert.equal(redactSecrets(`Wrong: ${secret}, see docs.`, ''), 'Wrong: [removed], see docs.')
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
