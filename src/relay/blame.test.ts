import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdictOn } from './blame.ts'
import { fault, faultOfStatus } from './routing/upstream-error.ts'

function blameOfStatus(status: number, error: object = { message: 'No.' }) {
  const bytes = Buffer.from(JSON.stringify({ error }))
  const about = { credential: 'sk', now: 0 }
  return verdictOn(faultOfStatus({ status, bytes, retryAfter: null, errorType: null }, about)).blame
}

test('what a caller can bring about speaks against nobody, whatever its words', () => {
  for (const status of [400, 404, 405, 409, 413, 415, 422, 451]) {
    assert.equal(
      blameOfStatus(status, { message: 'Your credit balance is too low.', code: 'x' }),
      null,
      String(status),
    )
  }
  for (const kind of ['unsupported', 'forbidden'] as const)
    assert.equal(verdictOn(fault(kind, '')).blame, null)
})

test('each fault speaks against what it is about', () => {
  for (const status of [408, 500, 502, 503, 504, 529, 302]) assert.equal(blameOfStatus(status), 'place')
  for (const kind of ['timeout', 'connection', 'garbage'] as const) {
    assert.equal(verdictOn(fault(kind, '')).blame, 'place')
  }
  assert.equal(blameOfStatus(401), 'credential')
  assert.equal(blameOfStatus(402), 'credential')
  assert.equal(blameOfStatus(403), 'credentialForModel')
  assert.equal(blameOfStatus(429), 'credentialForModel')
  assert.equal(blameOfStatus(429, { message: 'No.', code: 'insufficient_quota' }), 'credential')
})
