import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  applyEvent,
  closedCircuit,
  isProbeDue,
  cooldownMs,
  type Circuit,
  type CircuitEvent,
} from './circuit.ts'

const failure = (fields: Partial<Extract<CircuitEvent, { kind: 'failed' }>> = {}): CircuitEvent => ({
  kind: 'failed',
  startedAt: 0,
  isConclusive: false,
  isFailureRateHigh: false,
  retryAfterMs: null,
  why: 'It broke.',
  ...fields,
})

/** The circuit after these events at these times, always with a random number of 1 (the longest cooldown). */
function after(circuit: Circuit, ...events: [now: number, event: CircuitEvent][]): Circuit {
  return events.reduce((now, [at, event]) => applyEvent(now, event, { now: at, random: 1 }), circuit)
}

const broken = after(closedCircuit, [1_000_000, failure({ startedAt: 1_000_000, isConclusive: true })])

describe('circuit', () => {
  test('opens – after five consecutive failures; a success resets the count', () => {
    let circuit = closedCircuit
    for (let count = 0; count < 4; count += 1) circuit = after(circuit, [1000, failure()])
    assert.equal(circuit.state, 'closed')
    circuit = after(circuit, [1000, { kind: 'succeeded', startedAt: 900 }])
    for (let count = 0; count < 4; count += 1) circuit = after(circuit, [1000, failure()])
    assert.equal(circuit.state, 'closed')
    circuit = after(circuit, [1000, failure({ why: 'The fifth.' })])
    assert.deepEqual([circuit.state, circuit.why, circuit.since], ['open', 'The fifth.', 1000])
  })

  test('opens – at one more failure if the failure rate is high', () => {
    assert.equal(after(closedCircuit, [1000, failure({ isFailureRateHigh: true })]).state, 'open')
  })

  test('cooldownMs – doubles with each opening, has jitter, and is at most twenty seconds', () => {
    const cooldowns = [1, 2, 3, 4, 5, 6, 60].map((openings) => cooldownMs(openings, 1))
    assert.deepEqual(cooldowns, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000])
    assert.equal(cooldownMs(3, 0), 3200)
  })

  test('half-open – allows one probe until it ends or times out', () => {
    const { until } = broken
    assert.equal(isProbeDue(broken, until - 1), false)
    assert.equal(isProbeDue(broken, until), true)
    assert.equal(after(broken, [until - 1, { kind: 'probe-started' }]), broken)
    const probing = after(broken, [until, { kind: 'probe-started' }])
    assert.equal(probing.state, 'half-open')
    assert.equal(isProbeDue(probing, until + 1), false)
    assert.equal(after(probing, [until + 1, { kind: 'probe-started' }]), probing)
    assert.equal(isProbeDue(probing, until + 30_000), true)
  })

  test('probe – success closes, failure extends the cooldown, abandonment allows another', () => {
    const { until } = broken
    const probing = after(broken, [until, { kind: 'probe-started' }])
    const closed = after(probing, [until + 5, { kind: 'succeeded', startedAt: until }])
    assert.deepEqual([closed.state, closed.why, closed.openedAt], ['closed', '', 0])
    const again = after(probing, [until + 5, failure({ startedAt: until })])
    assert.deepEqual([again.state, again.openings, again.until], ['open', 2, until + 5 + 2000])
    assert.equal(again.openedAt, broken.openedAt, 'it has not been closed meanwhile')
    const abandoned = after(probing, [until + 5, { kind: 'probe-abandoned' }])
    assert.deepEqual([abandoned.state, isProbeDue(abandoned, until + 5)], ['open', true])
  })

  test('calls started before the opening – do not change the state', () => {
    const before = broken.since - 1
    const at = broken.since + 10
    assert.equal(after(broken, [at, { kind: 'succeeded', startedAt: before }]), broken)
    assert.equal(after(broken, [at, failure({ startedAt: before })]), broken)
    const closed = after(broken, [at, { kind: 'succeeded', startedAt: broken.since }])
    assert.equal(closed.state, 'closed', 'a call that was sent as the last resort, and succeeded')
  })

  test('Retry-After – the longest one counts, up to an hour', () => {
    const withRetryAfter = (retryAfterMs: number): Circuit =>
      after(broken, [broken.since + 1, failure({ startedAt: broken.since - 1, retryAfterMs })])
    assert.equal(withRetryAfter(60_000).until, broken.since + 1 + 60_000)
    assert.equal(
      after(withRetryAfter(60_000), [broken.since + 2, failure({ retryAfterMs: 5000 })]).until,
      broken.since + 60_001,
    )
    assert.equal(withRetryAfter(86_400_000).until, broken.since + 1 + 3_600_000)
  })

  test('relapse – within a minute of closing keeps growing the cooldown', () => {
    const closedAt = broken.until + 10
    const closed = after(broken, [closedAt, { kind: 'succeeded', startedAt: broken.until }])
    const strike = (now: number): Circuit =>
      after(closed, [now, failure({ isConclusive: true, startedAt: now })])
    assert.equal(strike(closedAt + 59_000).openings, 2)
    assert.equal(strike(closedAt + 61_000).openings, 1)
  })
})
