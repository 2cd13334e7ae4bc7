import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  currencySymbol,
  formatDateTime,
  formatMoney,
  formatMonth,
  formatPeriod,
  formatRoundedMoney,
} from './format.ts'

describe('formatRoundedMoney', () => {
  test('an amount – has two decimals, a small one as many as it needs not to be 0', () => {
    const amounts = [0, 1234.5678, -2, 0.5, 0.12345, 0.004, 0.00004, -0.000000012]
    assert.deepEqual(
      amounts.map((amount) => formatRoundedMoney(amount, 'CNY')),
      ['¥0.00', '¥1,234.57', '−¥2.00', '¥0.50', '¥0.1235', '¥0.004', '¥0.00004', '−¥0.000000012'],
    )
  })
})

describe('formatMoney', () => {
  test('an amount – has the symbol of its currency, or the code of one without a symbol', () => {
    const currencies = ['CNY', 'USD', 'EUR', 'GBP', 'JPY', 'CHF']
    assert.deepEqual(
      currencies.map((currency) => formatMoney('-1234.5', currency)),
      ['−¥1,234.50', '−$1,234.50', '−€1,234.50', '−£1,234.50', '−JP¥1,234.50', '−CHF 1,234.50'],
    )
    assert.deepEqual(['CNY', 'USD', 'HKD', 'CHF'].map(currencySymbol), ['¥', '$', 'HK$', 'CHF'])
  })
})

describe('formatDateTime', () => {
  test('an English time – has 24 hours, and no zone where the page names it', () => {
    const at = Date.UTC(2026, 10, 23, 16, 30)
    assert.equal(formatDateTime(at, 'en', 'Asia/Shanghai'), 'Nov 24, 2026, 00:30:00')
    assert.match(formatDateTime(at, 'en'), /^Nov 2[34], 2026, \d\d:\d\d:00 \S+$/)
  })
})

describe('formatMonth', () => {
  test('a month – is named, and what is no month stays', () => {
    assert.equal(formatMonth('2026-11', 'en'), 'November 2026')
    assert.equal(formatMonth('2026-11', 'zh-CN'), '2026年11月')
    assert.equal(formatMonth('2026-13', 'en'), '2026-13')
  })
})

describe('formatPeriod', () => {
  test('a month – ends on its last day in its time zone', () => {
    const [from, to] = [Date.UTC(2026, 9, 31, 16), Date.UTC(2026, 10, 30, 16)]
    assert.equal(formatPeriod(from, to, 'en', 'Asia/Shanghai'), 'Nov 1 – Nov 30, 2026')
    assert.equal(formatPeriod(from, to, 'zh-CN', 'Asia/Shanghai'), '2026-11-01 至 2026-11-30')
  })
})
