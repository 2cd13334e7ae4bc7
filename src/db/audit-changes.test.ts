import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditChanges, auditFields, patchJson } from './audit-changes.ts'

describe('audit changes', () => {
  test('auditChanges – names changed fields and their units as the API does', () => {
    const before = {
      priceFactorPpm: 1_000_000,
      caps: { dailyNanos: null, monthlyNanos: 2_000_000n },
      limits: { rpm: 5 },
      expiresAt: 0,
      models: ['a'],
      same: { deep: true },
    }
    const after = {
      priceFactorPpm: 900_000,
      caps: { dailyNanos: 5_000_000n, monthlyNanos: 2_000_000n },
      limits: {},
      expiresAt: null,
      models: ['a', 'b'],
      same: { deep: true },
    }
    assert.deepEqual(auditChanges(before, after), {
      price_factor: { before: '1', after: '0.9' },
      'caps.daily': { before: null, after: '0.005' },
      'limits.rpm': { before: 5, after: null },
      expires_at: { before: '1970-01-01T00:00:00.000Z', after: null },
      models: { before: ['a'], after: ['a', 'b'] },
    })
    assert.equal(auditChanges(before, structuredClone(before)), null)
    assert.deepEqual(auditFields({ cacheWrite1h: '0.1', firstTokenMs: 5 }), {
      cache_write_1h: '0.1',
      first_token_ms: 5,
    })
  })

  test('patchJson – merges like json_patch', () => {
    assert.equal(patchJson('{"rpm":5,"tpm":6}', '{"rpm":null,"rpd":7}'), '{"tpm":6,"rpd":7}')
  })
})
