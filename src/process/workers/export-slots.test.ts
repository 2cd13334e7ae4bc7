import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ExportSlots } from './export-slots.ts'

describe('export slots', () => {
  test('An account has one export at a time, and others are not affected', () => {
    const slots = new ExportSlots()
    assert.equal(slots.take('a', 'one'), true)
    assert.equal(slots.take('a', 'one'), true)
    assert.equal(slots.take('a', 'two'), false)
    assert.equal(slots.take('b', 'three'), true)
    slots.end('a', 'two')
    assert.equal(slots.take('a', 'two'), false)
    slots.end('a', 'one')
    assert.equal(slots.take('a', 'two'), true)
  })

  test('An export that nobody continues ends by itself', () => {
    let now = 0
    const slots = new ExportSlots(() => now)
    slots.take('a', 'one')
    now = 100_000
    assert.equal(slots.take('a', 'one'), true)
    now = 200_000
    assert.equal(slots.take('a', 'two'), false)
    now = 220_001
    assert.equal(slots.take('a', 'two'), true)
    assert.equal(slots.take('a', 'one'), false)
  })
})
