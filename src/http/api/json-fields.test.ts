import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { jsonFields } from './json-fields.ts'

describe('jsonFields', () => {
  test('fields – have the names and forms of JSON, in objects inside, too', () => {
    const resource = {
      amountNanos: 1_500_000_000n,
      priceFactorPpm: 900_000,
      createdAt: 0,
      closedAt: null,
      isPublic: true,
      lastFour: '1234',
      models: ['a'],
      caps: { dailyNanos: null, monthlyNanos: 0n },
    }
    assert.deepEqual(jsonFields(resource), {
      amount: '1.5',
      price_factor: '0.9',
      created_at: '1970-01-01T00:00:00.000Z',
      closed_at: null,
      public: true,
      last_four: '1234',
      models: ['a'],
      caps: { daily: null, monthly: '0' },
    })
  })
})
