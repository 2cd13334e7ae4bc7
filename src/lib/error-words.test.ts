import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCode, errorWords } from './error-message.ts'

test('an error of several addresses has the words of each, everything else its own', () => {
  const addresses = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')]
  assert.equal(
    errorWords(new AggregateError(addresses)),
    'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
  )
  assert.equal(errorWords(new AggregateError(addresses, 'all of them')), 'all of them')
  assert.equal(errorWords(new TypeError('no')), 'no')
  assert.equal(errorWords('thrown as text'), 'thrown as text')
})

test('a code is told where there is one', () => {
  assert.equal(errorCode(Object.assign(new Error('no'), { code: 'ENOENT' })), 'ENOENT')
  for (const other of [
    new Error('no'),
    Object.assign(new Error('no'), { code: 7 }),
    { code: 'ENOENT' },
    null,
  ])
    assert.equal(errorCode(other), undefined)
})
