import assert from 'node:assert/strict'
import { test } from 'node:test'
import { briefly } from './briefly.ts'

test('whoever asks within a moment shares one answer, and later ones get another', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let asked = 0
  const ask = briefly(100, () => Promise.resolve((asked += 1)))
  assert.deepEqual(await Promise.all([ask(), ask()]), [1, 1])
  assert.equal(await ask(), 1)
  t.mock.timers.tick(100)
  assert.equal(await ask(), 2)
})

test('a failure is told to those who wait for it, and not remembered', async () => {
  let asked = 0
  const ask = briefly(100, () => {
    asked += 1
    return asked === 1 ? Promise.reject(new Error('away')) : Promise.resolve(asked)
  })
  const first = [ask(), ask()]
  for (const each of first) await assert.rejects(each, /away/)
  assert.equal(await ask(), 2)
})
