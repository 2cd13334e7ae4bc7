import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorCode, errorMessage } from './error-message.ts'

describe('error messages', () => {
  test('errorMessage – joins the messages of an AggregateError without its own', () => {
    const addresses = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')]
    assert.equal(
      errorMessage(new AggregateError(addresses)),
      'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
    )
    assert.equal(errorMessage(new AggregateError(addresses, 'all of them')), 'all of them')
    assert.equal(errorMessage(new TypeError('no')), 'no')
    assert.equal(errorMessage('thrown as text'), 'thrown as text')
  })

  test('errorCode – returns the code if there is one', () => {
    assert.equal(errorCode(Object.assign(new Error('no'), { code: 'ENOENT' })), 'ENOENT')
    for (const other of [
      new Error('no'),
      Object.assign(new Error('no'), { code: 7 }),
      { code: 'ENOENT' },
      null,
    ])
      assert.equal(errorCode(other), undefined)
  })
})
