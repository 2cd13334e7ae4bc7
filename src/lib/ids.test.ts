import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newId, idTimestamp } from './ids.ts'

describe('ids', () => {
  test('newId – later ids are greater, also within a millisecond', () => {
    const ids = Array.from({ length: 50_000 }, () => newId('req'))
    assert.deepEqual(ids, ids.toSorted())
    assert.equal(new Set(ids).size, ids.length)
  })

  test('idTimestamp – returns the creation time', () => {
    const before = Date.now()
    const createdAt = idTimestamp(newId('acc'))
    assert.ok(createdAt !== undefined && createdAt >= before && createdAt <= Date.now() + 10)
  })

  test('idTimestamp – is undefined for anything else than an id', () => {
    for (const text of ['', 'acc_', 'acc_short', newId('acc').replace(/_./, '_u'), `${newId('acc')}0`]) {
      assert.equal(idTimestamp(text), undefined)
    }
  })

  test('newId – has the prefix and 26 characters of base32', () => {
    assert.match(newId('key'), /^key_[0-9a-hjkmnp-tv-z]{26}$/)
  })
})
