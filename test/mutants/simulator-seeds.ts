/** The money simulator as a test for mutants: few seeds, in this thread, other ones for each run of the program. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { runRange } from '../../sim/seeds.ts'

const from = Number(process.env['MUTANTS_SEED'] ?? '1')

void test('The money simulator violates no invariant', () => {
  assert.deepEqual(runRange({ from, count: 100, bug: null }).firstFailures, [])
})
