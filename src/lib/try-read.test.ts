import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tryRead } from './try-read.ts'

describe('tryRead', () => {
  test('value – is returned', async () => {
    assert.equal(await tryRead(() => Promise.resolve(1), 60_000), 1)
  })

  test('failure – is undefined', async () => {
    assert.equal(await tryRead(() => Promise.reject(new Error('unreadable')), 60_000), undefined)
  })

  test('read that never ends – is undefined after its time', async () => {
    assert.equal(await tryRead(() => Promise.withResolvers<number>().promise, 1), undefined)
  })
})
