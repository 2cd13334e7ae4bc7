import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createThreadCheck } from './thread-checks.ts'

const responds = (): Promise<unknown> => Promise.resolve()
const never = (): Promise<unknown> => new Promise(() => undefined)

describe('thread checks', () => {
  test('A thread that does not respond, or cannot, fails the check', async () => {
    assert.equal(await createThreadCheck([responds, responds])(), true)
    assert.equal(await createThreadCheck([responds, never], 20)(), false)
    assert.equal(await createThreadCheck([responds, () => Promise.reject(new Error('ended'))])(), false)
  })

  test('Checks at the same time ask once', async () => {
    let asked = 0
    const check = createThreadCheck([() => Promise.resolve((asked += 1))])
    await Promise.all([check(), check(), check()])
    assert.equal(asked, 1)
  })
})
