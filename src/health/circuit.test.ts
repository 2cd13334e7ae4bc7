import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterEvent, healthy, isDue, restOf, type Circuit, type CircuitEvent } from './circuit.ts'

const fault = (fields: Partial<Extract<CircuitEvent, { kind: 'failed' }>> = {}): CircuitEvent => ({
  kind: 'failed',
  startedAt: 0,
  isCertain: false,
  isMostlyFailing: false,
  restMs: null,
  why: 'It broke.',
  ...fields,
})

/** The circuit after these events at these times, with a draw of 1 always (the longest rest). */
function after(circuit: Circuit, ...events: [now: number, event: CircuitEvent][]): Circuit {
  return events.reduce((now, [at, event]) => afterEvent(now, event, { now: at, chance: 1 }), circuit)
}

const broken = after(healthy, [1_000_000, fault({ startedAt: 1_000_000, isCertain: true })])

test('five faults in a row open a circuit, and an answer between them begins the count anew', () => {
  let circuit = healthy
  for (let count = 0; count < 4; count += 1) circuit = after(circuit, [1000, fault()])
  assert.equal(circuit.state, 'closed')
  circuit = after(circuit, [1000, { kind: 'answered', startedAt: 900 }])
  for (let count = 0; count < 4; count += 1) circuit = after(circuit, [1000, fault()])
  assert.equal(circuit.state, 'closed')
  circuit = after(circuit, [1000, fault({ why: 'The fifth.' })])
  assert.deepEqual([circuit.state, circuit.why, circuit.since], ['open', 'The fifth.', 1000])
})

test('where most of what was asked lately failed, one fault more opens it', () => {
  assert.equal(after(healthy, [1000, fault({ isMostlyFailing: true })]).state, 'open')
})

test('the rest doubles with each failed probe, is drawn from its last fifth, and never longer than twenty seconds', () => {
  const rests = [1, 2, 3, 4, 5, 6, 60].map((openings) => restOf(openings, 1))
  assert.deepEqual(rests, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000])
  assert.equal(restOf(3, 0), 3200)
})

test('after its rest one may probe it and no other, until that one has told or half a minute has passed', () => {
  const { until } = broken
  assert.equal(isDue(broken, until - 1), false)
  assert.equal(isDue(broken, until), true)
  assert.equal(after(broken, [until - 1, { kind: 'probed' }]), broken)
  const probing = after(broken, [until, { kind: 'probed' }])
  assert.equal(probing.state, 'half-open')
  assert.equal(isDue(probing, until + 1), false)
  assert.equal(after(probing, [until + 1, { kind: 'probed' }]), probing)
  assert.equal(isDue(probing, until + 30_000), true)
})

test('a probe that is answered closes it; one that fails makes it rest longer; one that tells nothing lets another go', () => {
  const { until } = broken
  const probing = after(broken, [until, { kind: 'probed' }])
  const closed = after(probing, [until + 5, { kind: 'answered', startedAt: until }])
  assert.deepEqual([closed.state, closed.why, closed.openedAt], ['closed', '', 0])
  const again = after(probing, [until + 5, fault({ startedAt: until })])
  assert.deepEqual([again.state, again.openings, again.until], ['open', 2, until + 5 + 2000])
  assert.equal(again.openedAt, broken.openedAt, 'it has not been closed meanwhile')
  const givenUp = after(probing, [until + 5, { kind: 'given up' }])
  assert.deepEqual([givenUp.state, isDue(givenUp, until + 5)], ['open', true])
})

test('what was asked before it opened says nothing about now', () => {
  const before = broken.since - 1
  const at = broken.since + 10
  assert.equal(after(broken, [at, { kind: 'answered', startedAt: before }]), broken)
  assert.equal(after(broken, [at, fault({ startedAt: before })]), broken)
  const closed = after(broken, [at, { kind: 'answered', startedAt: broken.since }])
  assert.equal(closed.state, 'closed', 'one that was asked as the last resort, and answered')
})

test('of several cooldowns the longest wins, up to an hour', () => {
  const asked = (restMs: number): Circuit =>
    after(broken, [broken.since + 1, fault({ startedAt: broken.since - 1, restMs })])
  assert.equal(asked(60_000).until, broken.since + 1 + 60_000)
  assert.equal(after(asked(60_000), [broken.since + 2, fault({ restMs: 5000 })]).until, broken.since + 60_001)
  assert.equal(asked(86_400_000).until, broken.since + 1 + 3_600_000)
})

test('one that opens again within a minute of closing had not healed, and its rest goes on growing', () => {
  const closedAt = broken.until + 10
  const closed = after(broken, [closedAt, { kind: 'answered', startedAt: broken.until }])
  const strike = (now: number): Circuit => after(closed, [now, fault({ isCertain: true, startedAt: now })])
  assert.equal(strike(closedAt + 59_000).openings, 2)
  assert.equal(strike(closedAt + 61_000).openings, 1)
})
