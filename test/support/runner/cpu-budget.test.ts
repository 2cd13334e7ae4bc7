import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findOverrun, measureReference, readBudgets } from './cpu-budget.ts'

const usage = (file: string, cpuMs: number) => ({ file, cpuMs, relays: 0, others: 0 })

describe('CPU budget', () => {
  test('A run within its budget is not reported', () => {
    assert.equal(findOverrun([usage('a', 4000), usage('b', 6000)], 1000, 10, { files: {} }), undefined)
  })

  test('A run over its budget names the files that grew, the one that grew most first', () => {
    const files = { old: 5, grown: 1 }
    const overrun = findOverrun([usage('old', 6000), usage('grown', 4000), usage('new', 5000)], 1000, 10, {
      files,
    })
    assert.deepEqual(overrun, [
      'new: 5.0 units more than when the budget was set',
      'grown: 3.0 units more than when the budget was set',
    ])
  })

  test('The fixed program measures its CPU time, and the short suite has a budget', () => {
    assert.ok(measureReference() > 0)
    assert.ok((readBudgets().suites.short ?? 0) > 0)
  })
})
