import { test } from 'node:test'
import { holdTheLaw } from './rate-limiter-reference.fixture.ts'

test('limits of account, key and model equal a plain model over 100,000 sequences', () => {
  holdTheLaw(100_000)
})
