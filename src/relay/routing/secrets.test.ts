import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { redactSecrets, secretsOf } from './secrets.ts'

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

  test('added headers – values of 8 or more characters are secrets, others are not', () => {
    const added = {
      headers: [
        ['cf-access', 'Basic c2VjcmV0LW9mLXRoZS1nYXRld2F5'],
        ['x-debug', 'true'],
      ],
      body: {},
    } as const
    const secrets = secretsOf({ credential: 'sk-bad', added })
    const message = 'It is true: Basic c2VjcmV0LW9mLXRoZS1nYXRld2F5 and c2VjcmV0LW9mLXRoZS1nYXRld2F5, sk-bad'
    assert.equal(redactSecrets(message, secrets), 'It is true: [removed] and [removed], [removed]')
  })

  test('token – is removed like the credential that it was exchanged for', () => {
    const secrets = secretsOf({ credential: 'short', token: 'brief' })
    assert.equal(redactSecrets('short, brief', secrets), '[removed], [removed]')
  })
})
