import { test } from 'node:test'
import { holdTheLaw } from './rates-law.fixture.ts'

test('limits of account, key and model equal a plain model over 100,000 sequences', () => {
  holdTheLaw(100_000)
})
