import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seedRange } from '../../../test/support/runner/seeds.ts'
import { trials } from '../../../test/support/runner/suite.ts'
import { generateBody } from './ambiguous-bodies.fixture.ts'
import { compareReaders } from './forwarded-body.fixture.ts'
import { pythonSkipReason } from './json-readers.fixture.ts'

const seeds = seedRange(trials({ short: 5000, all: 30_000 }))

describe('forwarded body', () => {
  test(
    `${seeds.count} bodies – every JSON parser finds the model, n, maximum and stream that are billed`,
    { skip: pythonSkipReason },
    async (t) => {
      const accepted = await compareReaders(t, seeds)
      t.diagnostic(`${accepted} accepted`)
      assert.ok(accepted >= Math.floor(seeds.count / 10), `only ${accepted} bodies were accepted`)
    },
  )

  test('a seed – always gives the same body', () => {
    assert.deepEqual(generateBody(7), generateBody(7))
    assert.notDeepEqual(generateBody(7), generateBody(8))
  })
})
