import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HealthBoard } from './board.ts'
import { circuitsOf, type CircuitNews, type FaultReport } from './observation.ts'

function boardAt(start: number) {
  const clock = { now: start }
  const told: CircuitNews[] = []
  const board = new HealthBoard({ now: () => clock.now, chance: () => 1 })
  board.listen((news) => told.push(news))
  return { board, clock, told }
}

const circuits = circuitsOf('ups', 'crd', 'model')
const fault = (fields: Partial<FaultReport> = {}): FaultReport => ({
  circuits,
  blame: 'place',
  restMs: null,
  startedAt: 0,
  why: 'It broke.',
  ...fields,
})

test('only changes of a state are told, and each of them', () => {
  const { board, clock, told } = boardAt(1_000_000)
  for (let count = 0; count < 4; count += 1) board.failed(fault({ startedAt: clock.now }))
  assert.equal(told.length, 0)
  board.failed(fault({ startedAt: clock.now }))
  clock.now += 1000
  assert.equal(board.probe([circuits.place]), true)
  board.answered({ circuits, startedAt: clock.now })
  assert.deepEqual(
    told.map(({ key, circuit }) => [key, circuit.state]),
    [
      [circuits.place, 'open'],
      [circuits.place, 'half-open'],
      [circuits.place, 'closed'],
    ],
  )
  assert.deepEqual(board.states(), [])
})

test('answers counted elsewhere begin the row of faults anew', () => {
  const { board, clock } = boardAt(1_000_000)
  for (let round = 0; round < 3; round += 1) {
    for (let count = 0; count < 4; count += 1) board.failed(fault({ startedAt: clock.now }))
    board.count([{ place: circuits.place, answered: 1, latencyMs: 10 }])
  }
  assert.equal(board.at(circuits.place).state, 'closed')
})

test('half of at least twenty failing within a minute opens it, whatever the order', () => {
  const { board, clock } = boardAt(1_000_000)
  for (let count = 0; count < 9; count += 1) {
    board.failed(fault({ startedAt: clock.now }))
    board.count([{ place: circuits.place, answered: 1, latencyMs: 10 }])
  }
  assert.equal(board.at(circuits.place).state, 'closed')
  board.count([{ place: circuits.place, answered: 1, latencyMs: 10 }])
  board.failed(fault({ startedAt: clock.now }))
  assert.equal(board.at(circuits.place).state, 'open')
})

test('a credential that is refused rests with all its models, one that is asked too often with this model only', () => {
  const { board, clock } = boardAt(1_000_000)
  board.failed(fault({ blame: 'credential', startedAt: clock.now }))
  board.failed(fault({ blame: 'credentialForModel', restMs: 7000, startedAt: clock.now }))
  assert.deepEqual(
    board.states().map(({ key, circuit }) => [key, circuit.until - clock.now]),
    [
      ['crd', 1000],
      ['crd model', 7000],
    ],
  )
  assert.equal(board.at(circuits.place).state, 'closed', 'the upstream itself is well')
})

test('one probe at a time, and all of its circuits or none', () => {
  const { board, clock } = boardAt(1_000_000)
  for (let count = 0; count < 5; count += 1) board.failed(fault({ startedAt: clock.now }))
  board.failed(fault({ blame: 'credentialForModel', restMs: 7000, startedAt: clock.now }))
  const both = [circuits.place, circuits.credentialForModel]
  clock.now += 5000
  assert.equal(board.probe(both), false, 'the credential rests for longer')
  assert.equal(board.at(circuits.place).state, 'open')
  clock.now += 2000
  assert.equal(board.probe(both), true)
  assert.equal(board.probe(both), false)
  board.failed(fault({ blame: null, startedAt: clock.now }))
  assert.equal(board.probe(both), true, 'the first one ended without telling anything')
})

test('what another node has found out is taken over where it is newer', () => {
  const there = boardAt(1_000_000)
  const here = boardAt(1_000_000)
  for (let count = 0; count < 5; count += 1) there.board.failed(fault({ startedAt: 1_000_000 }))
  here.board.adopt(there.told)
  assert.deepEqual(here.board.states(), there.board.states())
  here.clock.now = 1_002_000
  here.board.answered({ circuits, startedAt: 1_001_500 })
  here.board.adopt(there.told)
  assert.equal(here.board.at(circuits.place).state, 'closed')
})

test('what another node has heard of counts as use, and says nothing of how it is', () => {
  const { board, clock } = boardAt(1_000_000)
  assert.equal(board.usedAt(circuits.place), 0)
  board.count([{ place: circuits.place, answered: 1, latencyMs: 10 }])
  clock.now += 90_000
  board.sweep()
  assert.equal(board.usedAt(circuits.place), 1_000_000, 'also of longer ago than a minute')
  board.usedElsewhere(circuits.place)
  assert.deepEqual([board.usedAt(circuits.place), board.heardAt(circuits.place)], [1_090_000, 1_000_000])
  assert.equal(board.lately(circuits.place).answered, 0)
  clock.now += 2 * 86_400_000
  board.sweep()
  assert.equal(board.usedAt(circuits.place), 0)
})
