import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FailedWebhooks } from './failed-webhooks.ts'

function fail(failed: FailedWebhooks, address: string, times: number, now: number): void {
  for (let count = 0; count < times; count += 1) failed.count(address, now)
}

describe('failed webhooks', () => {
  test('A network is blocked for the rest of a minute after 60, and no other one is', () => {
    const failed = new FailedWebhooks()
    fail(failed, '192.0.2.1', 59, 1000)
    assert.equal(failed.isBlocked('192.0.2.1', 1000), false)
    failed.count('192.0.2.1', 1000)
    assert.equal(failed.isBlocked('192.0.2.1', 60_999), true)
    assert.equal(failed.isBlocked('198.51.100.1', 60_999), false)
    assert.equal(failed.isBlocked('192.0.2.1', 61_000), false)
  })

  test('All addresses of an IPv6 /64 are one network', () => {
    const failed = new FailedWebhooks()
    for (let count = 0; count < 60; count += 1) failed.count(`2001:db8::${count.toString(16)}`, 0)
    assert.equal(failed.isBlocked('2001:db8::ffff', 1), true)
  })
})
