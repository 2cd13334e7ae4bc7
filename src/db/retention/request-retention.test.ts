import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RequestRetention } from './request-retention.ts'

describe('request retention', () => {
  test('RequestRetention – runs until no old row is left, then pauses and reports the total', () => {
    const reported: number[] = []
    const retention = new RequestRetention(1000, (requests) => reported.push(requests))
    assert.ok(Math.abs(Date.now() - 1000 - (retention.cutoff ?? 0)) < 500)
    for (const rows of [200, 100]) retention.recordDeleted(rows)
    assert.notEqual(retention.cutoff, null)
    retention.recordDeleted(0)
    assert.equal(retention.cutoff, null)
    assert.deepEqual(reported, [300])
    retention.recordDeleted(100_000)
    retention.recordDeleted(0)
    assert.deepEqual(reported, [300, 100_000])
    assert.equal(new RequestRetention(0, () => {}).cutoff, null)
  })
})
