/** Adds up bills as the console shows them. */
import assert from 'node:assert/strict'
import type { Bill } from '../../../src/http/api/request-bill.ts'

/** A decimal in units of 10^-24, so that sums are exact. */
export function toUnits(text: string): bigint {
  const [, sign = '', integer = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  return BigInt(`${sign}${integer}${fraction.padEnd(24, '0')}`)
}

/** Checks every line and the total to the last digit. */
export function assertBillAddsUp(bill: Bill): void {
  const amounts = bill.lines.map(({ amount }) => toUnits(amount))
  assert.equal(
    amounts.reduce((sum, amount) => sum + amount, 0n),
    toUnits(bill.sum),
  )
  for (const { kind, count, price, amount } of bill.lines) {
    const thousandth = kind === 'request' || kind === 'search' ? 1n : 1000n
    assert.equal(toUnits(price) * BigInt(count), toUnits(amount) * thousandth, kind)
  }
  assert.equal(toUnits(bill.sum) * toUnits(bill.factor), toUnits(bill.exact) * 10n ** 24n)
  assert.equal(toUnits(bill.exact) + toUnits(bill.rounding), toUnits(bill.total))
  assert.ok(toUnits(bill.rounding) >= 0n && toUnits(bill.rounding) < 10n ** 15n, 'less than a nano')
  assert.equal(toUnits(bill.total) - toUnits(bill.waived), toUnits(bill.charged))
  assert.equal(toUnits(bill.balance_before ?? '') - toUnits(bill.charged), toUnits(bill.balance_after ?? ''))
}
