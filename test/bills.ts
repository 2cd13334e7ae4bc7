/** Bills as the console shows them, added up by hand. */
import assert from 'node:assert/strict'
import type { Bill } from '../src/http/console/contract/usage.ts'

/** Decimals in units of 10^-24, so that sums are exact. */
export function units(text: string): bigint {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  return BigInt(`${sign}${whole}${fraction.padEnd(24, '0')}`)
}

/** Every line, and the whole bill, to the last digit. */
export function assertAddsUp(bill: Bill): void {
  const amounts = bill.lines.map(({ amount }) => units(amount))
  assert.equal(
    amounts.reduce((sum, amount) => sum + amount, 0n),
    units(bill.sum),
  )
  for (const { kind, count, price, amount } of bill.lines) {
    const thousandth = kind === 'request' || kind === 'search' ? 1n : 1000n
    assert.equal(units(price) * BigInt(count), units(amount) * thousandth, kind)
  }
  assert.equal(units(bill.sum) * units(bill.factor), units(bill.exact) * 10n ** 24n)
  assert.equal(units(bill.exact) + units(bill.rounding), units(bill.total))
  assert.ok(units(bill.rounding) >= 0n && units(bill.rounding) < 10n ** 15n, 'less than a nano')
  assert.equal(units(bill.total) - units(bill.waived), units(bill.charged))
  assert.equal(units(bill.balance_before ?? '') - units(bill.charged), units(bill.balance_after ?? ''))
}
