import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CircuitBreakers } from './circuit-breakers.ts'
import { circuitKeysOf, type CircuitChange, type FailureReport } from './call-reports.ts'

function createBreakers(start: number) {
  const clock = { now: start }
  const changes: CircuitChange[] = []
  const breakers = new CircuitBreakers({ now: () => clock.now, random: () => 1 })
  breakers.onChange((news) => changes.push(news))
  return { board: breakers, clock, changes }
}

const circuits = circuitKeysOf('ups', 'crd', 'model')
const failureReport = (fields: Partial<FailureReport> = {}): FailureReport => ({
  circuits,
  scope: 'route',
  retryAfterMs: null,
  startedAt: 0,
  why: 'It broke.',
  ...fields,
})

describe('CircuitBreakers', () => {
  test('onChange – is called for every state change, and only for those', () => {
    const { board: breakers, clock, changes } = createBreakers(1_000_000)
    for (let count = 0; count < 4; count += 1) breakers.recordFailure(failureReport({ startedAt: clock.now }))
    assert.equal(changes.length, 0)
    breakers.recordFailure(failureReport({ startedAt: clock.now }))
    clock.now += 1000
    assert.equal(breakers.acquireProbe([circuits.route]), true)
    breakers.recordSuccess({ circuits, startedAt: clock.now })
    assert.deepEqual(
      changes.map(({ key, circuit }) => [key, circuit.state]),
      [
        [circuits.route, 'open'],
        [circuits.route, 'half-open'],
        [circuits.route, 'closed'],
      ],
    )
    assert.deepEqual(breakers.notClosed(), [])
  })

  test('recordSuccesses – resets the consecutive failures', () => {
    const { board: breakers, clock } = createBreakers(1_000_000)
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 4; count += 1)
        breakers.recordFailure(failureReport({ startedAt: clock.now }))
      breakers.recordSuccesses([{ route: circuits.route, answered: 1, latencyMs: 10 }])
    }
    assert.equal(breakers.get(circuits.route).state, 'closed')
  })

  test('failure rate – half of at least twenty calls in a minute opens a circuit', () => {
    const { board: breakers, clock } = createBreakers(1_000_000)
    for (let count = 0; count < 9; count += 1) {
      breakers.recordFailure(failureReport({ startedAt: clock.now }))
      breakers.recordSuccesses([{ route: circuits.route, answered: 1, latencyMs: 10 }])
    }
    assert.equal(breakers.get(circuits.route).state, 'closed')
    breakers.recordSuccesses([{ route: circuits.route, answered: 1, latencyMs: 10 }])
    breakers.recordFailure(failureReport({ startedAt: clock.now }))
    assert.equal(breakers.get(circuits.route).state, 'open')
  })

  test('scopes – a rejected credential opens for all models, a rate limited one for its model', () => {
    const { board: breakers, clock } = createBreakers(1_000_000)
    breakers.recordFailure(failureReport({ scope: 'credential', startedAt: clock.now }))
    breakers.recordFailure(
      failureReport({ scope: 'credentialForModel', retryAfterMs: 7000, startedAt: clock.now }),
    )
    assert.deepEqual(
      breakers.notClosed().map(({ key, circuit }) => [key, circuit.until - clock.now]),
      [
        ['crd', 1000],
        ['crd model', 7000],
      ],
    )
    assert.equal(breakers.get(circuits.route).state, 'closed', 'the route is not affected')
  })

  test('acquireProbe – grants one probe at a time, for all circuits or none', () => {
    const { board: breakers, clock } = createBreakers(1_000_000)
    for (let count = 0; count < 5; count += 1) breakers.recordFailure(failureReport({ startedAt: clock.now }))
    breakers.recordFailure(
      failureReport({ scope: 'credentialForModel', retryAfterMs: 7000, startedAt: clock.now }),
    )
    const both = [circuits.route, circuits.credentialForModel]
    clock.now += 5000
    assert.equal(breakers.acquireProbe(both), false, 'the credential has a longer cooldown')
    assert.equal(breakers.get(circuits.route).state, 'open')
    clock.now += 2000
    assert.equal(breakers.acquireProbe(both), true)
    assert.equal(breakers.acquireProbe(both), false)
    breakers.recordFailure(failureReport({ scope: null, startedAt: clock.now }))
    assert.equal(breakers.acquireProbe(both), true, 'the first one ended without a result')
  })

  test('merge – takes over newer circuits of another node', () => {
    const there = createBreakers(1_000_000)
    const here = createBreakers(1_000_000)
    for (let count = 0; count < 5; count += 1)
      there.board.recordFailure(failureReport({ startedAt: 1_000_000 }))
    here.board.merge(there.changes)
    assert.deepEqual(here.board.notClosed(), there.board.notClosed())
    here.clock.now = 1_002_000
    here.board.recordSuccess({ circuits, startedAt: 1_001_500 })
    here.board.merge(there.changes)
    assert.equal(here.board.get(circuits.route).state, 'closed')
  })

  test('recordRemoteUse – counts as use, but not as a success', () => {
    const { board: breakers, clock } = createBreakers(1_000_000)
    assert.equal(breakers.lastUsedAt(circuits.route), 0)
    breakers.recordSuccesses([{ route: circuits.route, answered: 1, latencyMs: 10 }])
    clock.now += 90_000
    breakers.sweep()
    assert.equal(breakers.lastUsedAt(circuits.route), 1_000_000, 'also if longer ago than a minute')
    breakers.recordRemoteUse(circuits.route)
    assert.deepEqual(
      [breakers.lastUsedAt(circuits.route), breakers.lastCallAt(circuits.route)],
      [1_090_000, 1_000_000],
    )
    assert.equal(breakers.recentStats(circuits.route).answered, 0)
    clock.now += 2 * 86_400_000
    breakers.sweep()
    assert.equal(breakers.lastUsedAt(circuits.route), 0)
  })
})
