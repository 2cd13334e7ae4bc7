import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newId } from './ids.ts'

describe('ids', () => {
  test('newId – later ids are greater, also within a millisecond', () => {
    const ids = Array.from({ length: 50_000 }, () => newId('req'))
    assert.deepEqual(ids, ids.toSorted())
    assert.equal(new Set(ids).size, ids.length)
  })

  test('newId – has the prefix and 26 characters of base32', () => {
    assert.match(newId('key'), /^key_[0-9a-hjkmnp-tv-z]{26}$/)
  })
})
