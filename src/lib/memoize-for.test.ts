import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoizeFor } from './memoize-for.ts'

describe('memoizeFor', () => {
  test('result – is shared by calls within the period, and loaded again after it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let loads = 0
    const load = memoizeFor(100, () => Promise.resolve((loads += 1)))
    assert.deepEqual(await Promise.all([load(), load()]), [1, 1])
    assert.equal(await load(), 1)
    t.mock.timers.tick(100)
    assert.equal(await load(), 2)
  })

  test('failure – reaches the waiting callers and is not cached', async () => {
    let loads = 0
    const load = memoizeFor(100, () => {
      loads += 1
      return loads === 1 ? Promise.reject(new Error('away')) : Promise.resolve(loads)
    })
    const first = [load(), load()]
    for (const each of first) await assert.rejects(each, /away/)
    assert.equal(await load(), 2)
  })
})
