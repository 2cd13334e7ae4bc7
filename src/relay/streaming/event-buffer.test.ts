import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EventBuffer } from './event-buffer.ts'

/** All buffered events as text, with their tokens. */
function takeAll(buffer: EventBuffer): [string, number][] {
  const events: [string, number][] = []
  for (let next = buffer.nextTokens; next !== null; next = buffer.nextTokens) {
    events.push([buffer.shift().toString(), next])
  }
  return events
}

describe('EventBuffer', () => {
  test('shift – returns events in order, each with its own bytes', () => {
    const buffer = new EventBuffer()
    const expected: string[] = []
    const seen: string[] = []
    for (let i = 0; i < 2000; i += 1) {
      const text = `${i}:`.padEnd((i * 7919) % 900, 'x')
      expected.push(text)
      buffer.add(Buffer.from(text), i)
      if (i % 3 !== 0) seen.push(buffer.shift().toString())
      if (i % 500 === 0) seen.push(...takeAll(buffer).map(([bytes]) => bytes))
    }
    seen.push(...takeAll(buffer).map(([bytes]) => bytes))
    assert.deepEqual(seen, expected)
    assert.deepEqual([buffer.isEmpty, buffer.bytes, buffer.nextTokens], [true, 0, null])
  })

  test('bytes, dropAfter and clear – count and drop buffered events', () => {
    const buffer = new EventBuffer()
    for (const [text, totalTokens] of [
      ['one', 1],
      ['two', 2],
      ['three', 2],
      ['four', 9],
    ] as const) {
      buffer.add(Buffer.from(text), totalTokens)
    }
    assert.deepEqual([buffer.bytes, buffer.nextTokens], [15, 1])
    buffer.dropAfter(2)
    assert.equal(buffer.bytes, 11)
    assert.equal(buffer.shift().toString(), 'one')
    buffer.add(Buffer.from('five'), 10)
    assert.deepEqual(takeAll(buffer), [
      ['two', 2],
      ['three', 2],
      ['five', 10],
    ])
    buffer.add(Buffer.from('six'), 11)
    buffer.dropAfter(-1)
    assert.deepEqual([buffer.isEmpty, buffer.bytes], [true, 0])
    buffer.add(Buffer.from('seven'), 12)
    buffer.clear()
    assert.deepEqual([buffer.isEmpty, buffer.bytes], [true, 0])
  })

  test('memory – is reused under a flood of events', () => {
    const buffer = new EventBuffer()
    const event = Buffer.alloc(16_384, 'x')
    buffer.add(event, 1)
    const memory = buffer.shift().buffer
    for (let i = 0; i < 100; i += 1) {
      buffer.add(event, i)
      assert.equal(buffer.shift().buffer, memory)
    }
  })
})
