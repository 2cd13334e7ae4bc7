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

test('a number is never used again: who comes with an old one takes nothing that is another’s', () => {
  const slots = new Slots<number>()
  const seen = new Set<number>()
  for (let i = 0; i < 1000; i += 1) {
    const first = slots.add(i)
    const second = slots.add(-i - 1)
    assert.equal(slots.take(first), i)
    const third = slots.add(i + 0.5)
    assert.equal(slots.take(first), undefined)
    assert.equal(slots.take(third), i + 0.5)
    assert.equal(slots.take(second), -i - 1)
    seen.add(first).add(second).add(third)
  }
  assert.equal(seen.size, 3000)
  assert.equal(slots.size, 0)
  assert.deepEqual([...slots], [])
})
