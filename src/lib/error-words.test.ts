import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorWords } from './error-words.ts'

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
