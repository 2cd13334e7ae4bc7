import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatRoundedMoney } from './format.ts'

describe('formatRoundedMoney', () => {
  test('an amount – has two decimals, a small one as many as it needs not to be 0', () => {
    const amounts = [0, 1234.5678, -2, 0.5, 0.12345, 0.004, 0.00004, -0.000000012]
    assert.deepEqual(
      amounts.map((amount) => formatRoundedMoney(amount, 'CNY')),
      ['¥0.00', '¥1,234.57', '−¥2.00', '¥0.50', '¥0.1235', '¥0.004', '¥0.00004', '−¥0.000000012'],
    )
  })
})
