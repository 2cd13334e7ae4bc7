/** Request bodies that JSON parsers could read differently: many more than in the other suites. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { compareReaders } from '../../src/relay/request/forwarded-body.fixture.ts'
import { pythonSkipReason } from '../../src/relay/request/json-readers.fixture.ts'
import { seedRange } from '../support/runner/seeds.ts'

describe('Ambiguous request bodies', () => {
  test(
    '500,000 bodies – every JSON parser finds the model, n, maximum and stream that are billed',
    { skip: pythonSkipReason },
    async (t) => {
      const seeds = seedRange(500_000)
      const accepted = await compareReaders(t, seeds)
      t.diagnostic(`${accepted} accepted`)
      assert.ok(accepted >= Math.floor(seeds.count / 10), `only ${accepted} bodies were accepted`)
    },
  )
})
