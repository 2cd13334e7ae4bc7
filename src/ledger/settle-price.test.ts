import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nanoPrice, TestLedger, usageOf } from './ledger.fixture.ts'

test('an answer of another model is charged at its price where that is lower, and never above the hold’s', () => {
  const books = new TestLedger()
  books.credit(10_000n)
  const half = { ...nanoPrice, version: 7, output: nanoPrice.output / 2n }
  const double = { ...nanoPrice, version: 8, output: nanoPrice.output * 2n }
  books.hold('lower')
  assert.deepEqual(books.settle('lower', usageOf(0, 100), {}, half), { charge: 50n, overrun: 0n })
  books.hold('higher')
  assert.deepEqual(books.settle('higher', usageOf(0, 100), {}, double), { charge: 100n, overrun: 0n })
  assert.equal(books.account().balance, 9850n)
})
