import { describe, test } from 'node:test'
import { assertMatchesReference } from './rate-limiter-reference.fixture.ts'

describe('RateLimiter', () => {
  test('limits of account, key and model – equal the reference (100,000 sequences)', () => {
    assertMatchesReference(100_000)
  })
})
