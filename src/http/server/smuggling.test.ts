import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seedRange } from '../../../test/support/runner/seeds.ts'
import { trials } from '../../../test/support/runner/suite.ts'
import { generateConnection } from './request-bytes.fixture.ts'
import { assertVariety, compareWithNode } from './smuggling.fixture.ts'

const seeds = seedRange(trials({ short: 1000, all: 10_000 }))

describe('request smuggling', () => {
  test(`${seeds.count} connections – the fast path sees the same requests as node:http`, async (t) => {
    assertVariety(await compareWithNode(t, seeds), t)
  })

  test('a seed – always gives the same connection', () => {
    assert.deepEqual(generateConnection(7), generateConnection(7))
    assert.notDeepEqual(generateConnection(7), generateConnection(8))
  })
})
