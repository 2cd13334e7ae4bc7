import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SlotMap } from './slot-map.ts'

describe('SlotMap', () => {
  test('remove – returns each item once', () => {
    const slots = new SlotMap<string>()
    const keys = ['a', 'b', 'c'].map((item) => slots.insert(item))
    assert.equal(new Set(keys).size, 3)
    assert.equal(slots.size, 3)
    assert.equal(slots.remove(keys[1] ?? -1), 'b')
    assert.equal(slots.remove(keys[1] ?? -1), undefined)
    assert.equal(slots.remove(99), undefined)
    assert.deepEqual([...slots], ['a', 'c'])
    assert.equal(slots.size, 2)
  })

  test('keys – are never reused, so an old key finds nothing', () => {
    const slots = new SlotMap<number>()
    const seen = new Set<number>()
    for (let i = 0; i < 1000; i += 1) {
      const first = slots.insert(i)
      const second = slots.insert(-i - 1)
      assert.equal(slots.remove(first), i)
      const third = slots.insert(i + 0.5)
      assert.equal(slots.remove(first), undefined)
      assert.equal(slots.remove(third), i + 0.5)
      assert.equal(slots.remove(second), -i - 1)
      seen.add(first).add(second).add(third)
    }
    assert.equal(seen.size, 3000)
    assert.equal(slots.size, 0)
    assert.deepEqual([...slots], [])
  })

  test('an item that stays – keeps its slot while others come and go, and when the map grows', () => {
    const slots = new SlotMap<string>()
    const staying = slots.insert('staying')
    for (let i = 0; i < 100; i += 1) assert.equal(slots.remove(slots.insert(`short ${i}`)), `short ${i}`)
    const more = Array.from({ length: 100 }, (_, i) => slots.insert(`long ${i}`))
    assert.equal(new Set([staying, ...more]).size, 101)
    for (const [i, key] of more.entries()) assert.equal(slots.remove(key), `long ${i}`)
    assert.deepEqual([...slots], ['staying'])
    assert.equal(slots.remove(staying), 'staying')
  })
})
