import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { classifyFailure } from './failure-scope.ts'
import { upstreamError, upstreamErrorFromResponse } from './upstream-error.ts'

function scopeOfStatus(status: number, error: object = { message: 'No.' }) {
  const bytes = Buffer.from(JSON.stringify({ error }))
  const about = { credential: 'sk', now: 0 }
  return classifyFailure(
    upstreamErrorFromResponse({ status, bytes, retryAfter: null, errorType: null }, about),
  ).scope
}

describe('classifyFailure', () => {
  test('errors that a caller can cause – count against no circuit', () => {
    for (const status of [400, 404, 405, 409, 413, 415, 422, 451]) {
      assert.equal(
        scopeOfStatus(status, { message: 'Your credit balance is too low.', code: 'x' }),
        null,
        String(status),
      )
    }
    for (const kind of ['unsupported', 'forbidden'] as const)
      assert.equal(classifyFailure(upstreamError(kind, '')).scope, null)
  })

  test('upstream failures – count against the route or the credential', () => {
    for (const status of [408, 500, 502, 503, 504, 529, 302]) assert.equal(scopeOfStatus(status), 'route')
    for (const kind of ['timeout', 'connection', 'garbage'] as const) {
      assert.equal(classifyFailure(upstreamError(kind, '')).scope, 'route')
    }
    assert.equal(scopeOfStatus(401), 'credential')
    assert.equal(scopeOfStatus(402), 'credential')
    assert.equal(scopeOfStatus(403), 'credentialForModel')
    assert.equal(scopeOfStatus(429), 'credentialForModel')
    assert.equal(scopeOfStatus(429, { message: 'No.', code: 'insufficient_quota' }), 'credential')
  })
})
