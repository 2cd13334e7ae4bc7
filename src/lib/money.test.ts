import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../errors.ts'
import { formatAmount, formatFactor, parseFactor, parseAmount, formatPrice, parsePrice } from './money.ts'

function isRejectedFor(param: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.status === 400 && error.detail.param === param
}

describe('money', () => {
  test('amounts – survive formatting and parsing to the nano', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nanos) => {
        assert.equal(parseAmount(formatAmount(nanos)), nanos)
      }),
    )
  })

  test('prices – survive formatting and parsing', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), (nanos) => {
        assert.equal(parsePrice(formatPrice(nanos)), nanos)
      }),
    )
  })

  test('factors – survive formatting and parsing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000_000 }), (ppm) => {
        assert.equal(parseFactor(formatFactor(ppm)), ppm)
      }),
    )
  })

  test('formatting – is as short as possible', () => {
    assert.equal(parseAmount('0.002'), 2_000_000n)
    assert.equal(parseAmount('-1.50'), -1_500_000_000n)
    assert.equal(formatAmount(2_000_000n), '0.002')
    assert.equal(formatAmount(-1n), '-0.000000001')
    assert.equal(formatAmount(5_000_000_000n), '5')
    assert.equal(formatAmount(0n), '0')
    assert.equal(parsePrice('0.002'), 2_000_000_000n)
    assert.equal(parsePrice('0.000000000001'), 1n)
    assert.equal(formatPrice(2_000_000_000n), '0.002')
    assert.equal(parseFactor('1'), 1_000_000)
    assert.equal(formatFactor(850_000), '0.85')
  })

  test('parsing – rejects text that is not exact, naming the parameter', () => {
    const amounts = [
      '',
      '.5',
      '1.',
      '1e3',
      '+1',
      ' 1',
      '1,5',
      '0x10',
      'NaN',
      '0.0000000001',
      '1000000000.000000001',
    ]
    for (const text of amounts)
      assert.throws(() => parseAmount(text, 'amount'), isRejectedFor('amount'), text)
    for (const text of ['-1', '0.0000000000001', '1000001']) {
      assert.throws(() => parsePrice(text, 'prices.input'), isRejectedFor('prices.input'), text)
    }
    for (const text of ['-0.1', '1000.1', '0.0000001']) {
      assert.throws(() => parseFactor(text, 'price_factor'), isRejectedFor('price_factor'), text)
    }
  })

  test('parsing – ignores trailing zeros beyond the precision', () => {
    assert.equal(parseAmount('1.50000000000000000000'), 1_500_000_000n)
  })
})
