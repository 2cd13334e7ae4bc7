import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backlog } from './streaming/event-buffer.ts'

/** Everything that waits, as text, with its tokens. */
function taken(backlog: Backlog): [string, number][] {
  const events: [string, number][] = []
  for (let { next } = backlog; next !== null; { next } = backlog) {
    events.push([backlog.shift().toString(), next])
  }
  return events
}

test('events leave in the order in which they came, each with its own bytes, whatever was taken in between', () => {
  const backlog = new Backlog()
  const expected: string[] = []
  const seen: string[] = []
  for (let i = 0; i < 2000; i += 1) {
    const text = `${i}:`.padEnd((i * 7919) % 900, 'x')
    expected.push(text)
    backlog.add(Buffer.from(text), i)
    if (i % 3 !== 0) seen.push(backlog.shift().toString())
    if (i % 500 === 0) seen.push(...taken(backlog).map(([bytes]) => bytes))
  }
  seen.push(...taken(backlog).map(([bytes]) => bytes))
  assert.deepEqual(seen, expected)
  assert.deepEqual([backlog.isEmpty, backlog.bytes, backlog.next], [true, 0, null])
})

test('it counts the bytes that wait, and forgets on demand what is beyond some tokens, or everything', () => {
  const backlog = new Backlog()
  for (const [text, upTo] of [
    ['one', 1],
    ['two', 2],
    ['three', 2],
    ['four', 9],
  ] as const) {
    backlog.add(Buffer.from(text), upTo)
  }
  assert.deepEqual([backlog.bytes, backlog.next], [15, 1])
  backlog.dropBeyond(2)
  assert.equal(backlog.bytes, 11)
  assert.equal(backlog.shift().toString(), 'one')
  backlog.add(Buffer.from('five'), 10)
  assert.deepEqual(taken(backlog), [
    ['two', 2],
    ['three', 2],
    ['five', 10],
  ])
  backlog.add(Buffer.from('six'), 11)
  backlog.dropBeyond(-1)
  assert.deepEqual([backlog.isEmpty, backlog.bytes], [true, 0])
  backlog.add(Buffer.from('seven'), 12)
  backlog.clear()
  assert.deepEqual([backlog.isEmpty, backlog.bytes], [true, 0])
})

test('a flood of events that each wait a moment makes no memory of its own', () => {
  const backlog = new Backlog()
  const event = Buffer.alloc(16_384, 'x')
  backlog.add(event, 1)
  const memory = backlog.shift().buffer
  for (let i = 0; i < 100; i += 1) {
    backlog.add(event, i)
    assert.equal(backlog.shift().buffer, memory)
  }
})
