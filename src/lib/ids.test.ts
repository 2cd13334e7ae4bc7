import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, timeOfId } from './ids.ts'

test('a later id is a greater string, also within one millisecond', () => {
  const ids = Array.from({ length: 50_000 }, () => newId('req'))
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('an id tells when it was made', () => {
  const before = Date.now()
  const made = timeOfId(newId('acc'))
  assert.ok(made !== undefined && made >= before && made <= Date.now() + 10)
})

test('what is no id has no time', () => {
  for (const text of ['', 'acc_', 'acc_short', newId('acc').replace(/_./, '_u'), `${newId('acc')}0`]) {
    assert.equal(timeOfId(text), undefined)
  }
})

test('an id has the prefix and 26 characters of base32', () => {
  assert.match(newId('key'), /^key_[0-9a-hjkmnp-tv-z]{26}$/)
})
