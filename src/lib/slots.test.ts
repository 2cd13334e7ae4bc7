import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Slots } from './slots.ts'

test('what is put in is found under its number until it is taken out, once', () => {
  const slots = new Slots<string>()
  const places = ['a', 'b', 'c'].map((item) => slots.add(item))
  assert.equal(new Set(places).size, 3)
  assert.equal(slots.size, 3)
  assert.equal(slots.take(places[1] ?? -1), 'b')
  assert.equal(slots.take(places[1] ?? -1), undefined)
  assert.equal(slots.take(99), undefined)
  assert.deepEqual([...slots], ['a', 'c'])
  assert.equal(slots.size, 2)
})

test('places are used again, so that it grows no further than what is in it at once', () => {
  const slots = new Slots<number>()
  const seen = new Set<number>()
  for (let i = 0; i < 1000; i += 1) {
    const first = slots.add(i)
    const second = slots.add(-i - 1)
    seen.add(first).add(second)
    assert.equal(slots.take(first), i)
    assert.equal(slots.take(second), -i - 1)
  }
  assert.deepEqual(seen, new Set([0, 1]))
  assert.equal(slots.size, 0)
  assert.deepEqual([...slots], [])
})
