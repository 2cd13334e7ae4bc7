import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createJumpDetector } from './clock-monitor.ts'
import { wallClock } from '../engine/core.ts'

describe('clocks', () => {
  test('createJumpDetector – reports each jump once, in both directions, and no drift', () => {
    const time = { now: 1_000_000, monotonic: 0 }
    const detectJump = createJumpDetector({ now: () => time.now, monotonicNow: () => time.monotonic })
    const pass = (ms: number, jumpMs = 0): number => {
      time.now += ms + jumpMs
      time.monotonic += ms
      return detectJump()
    }
    assert.equal(pass(1000), 0)
    assert.equal(pass(60_000), 0, 'a busy thread checks late')
    assert.equal(pass(1000, 3_456_000_000), 3_456_000_000)
    assert.equal(pass(1000), 0)
    assert.equal(pass(1000, -3_456_000_000), -3_456_000_000)
    for (let drift = 0; drift < 20; drift += 1) assert.equal(pass(1000, 900), 0)
  })

  test('wallClock – stands still for small steps back, and follows a larger one', () => {
    let system = 10_000_000
    const now = wallClock(() => system)
    assert.equal(now(), 10_000_000)
    system -= 60_000
    assert.equal(now(), 10_000_000)
    system -= 1
    assert.equal(now(), 9_939_999)
  })
})
